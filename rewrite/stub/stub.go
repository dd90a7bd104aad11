package stub

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"gnvcc/rewrite/manner"
)

// A Choice is one second entry and the launches that it is for.
type Choice struct {
	Entry  string // mangled name of the kernel as nvcc registers it
	Second string // name of the second entry in the cubin
	Args   []Arg
	Align  []Align
	Block  [3]int // 0: any
	Grid   [3]int // 0: any

	Dynamic *int `json:",omitempty"` // dynamic shared memory of the launch, bytes; nil: any

	// Clusters: its code looks at its cluster, or works with others of it.
	Clusters bool `json:",omitempty"`

	// Manner is how it is launched. One with a block of its own is for launches of which all of Block
	// is known.
	Manner manner.Manner
}

// An Arg is a condition on an argument: the bytes at an offset of the Index-th parameter. Bytes,
// not values: a NaN equals itself, and zeros of either sign differ.
type Arg struct {
	Index, Offset int
	Bytes         []byte
}

// An Align is a condition on a pointer argument: a multiple of Bytes, which is a power of two.
type Align struct {
	Index, Bytes int
}

// prelude is what every patched stub has once. The second entry is left alone where it could be
// seen: in a stream that is being captured (a graph's node may get other arguments later), on a
// device whose code has no such entry, and where the plain kernel has not been allowed the dynamic
// shared memory that the launch wants (the user shall see his own error).
//
// An error of the user's own may be pending, from an earlier call whose result was not checked:
// launches succeed all the same, and he may ask for it long after. Calls that succeed leave it as
// it is, save cudaFuncSetAttribute; should one of ours fail, the runtime has forgotten his error
// for ours. So whatever is done here, his is made again at the end by a call that gives just that
// one and does nothing else (__gnvcc_keep). Where an error of another kind is pending, for which
// there is no such call, the second entry is left alone (__gnvcc_device).
//
// A program whose default stream is one for each thread has functions that end in _ptsz, and for
// cudaStreamIsCapturing those only. Which one there is, is left to overloading: the functions in
// the namespace match anything and are worse than what is declared for streams. Where the header's
// macros are still there, they are right.
//
// A launch pays for it: it asks once whether an error is pending and which device is current, and
// once more, where an entry is for it, whether its stream is being captured. On an H200's host
// these take 40, 45 and 65 ns (bench/results/2026-11-22-shape).
//
// With lazy loading the first use of an entry loads it, and may wait until the device is idle: for
// ever, beside a kernel that waits for this launch. In a file with such a kernel driver has second
// entries loaded with the first kernel of the file (driver/compile/eager.go). For all others they
// are loaded where the plain kernel is first launched, which is loaded there itself, mostly,
// whatever the arguments are.
//
// What the user set on the kernel with cudaFuncSetAttribute is repeated on the second entry before
// its first launch. One that is throttled (__binary is not 0) is allowed its reserve too, and has a
// carveout of its own, unless the user has chosen one. Where he has asked for clusters, the second
// entry is left alone; 11.8 has none in its attributes, and no macro has the version here. He may
// set either later: so launches with dynamic shared memory, and all of kernels that could notice
// clusters (__clusters), look at the kernel's attributes each time.
//
// One that is launched in another grid gets it by the steps of package manner, one a dimension.
// __gnvcc_blocks gives that dimension's grid, or 0 where there is none: what is divided leaves a
// rest, it is too much to be counted (2^31), or one of the two grids is larger than a grid may be
// (the user's own launch must fail as ever).
//
// All names are reserved ones, as in nvcc's own stubs: the host compiler may have been given macros
// (-Xcompiler -Dstate=1), and its errors here would be a build that fails and would not with nvcc.
//
// Threads may launch at the same time: what they find out, and keep, is the same for all of them, and
// is read and written by atomics, which cost what plain loads and stores do.
//
// Should the launch of a second entry be refused all the same, the kernel is launched in its place:
// whatever is wrong then is the user's, and he sees it.
//
// No compiler says anything about our text, at any level: it counts as a system's header (ours; nvcc's line
// markers end that), and what is said all the same is left out up to the stub's end (ending). Functions with
// large frames are not inlined: they are measured, too, and the user's with them. Until 12.9 the toolkit's
// headers make __noinline__ a macro.
const prelude = ours + `#pragma GCC diagnostic push
#ifdef __clang__
#pragma clang diagnostic ignored "-Weverything"
#else
#pragma GCC diagnostic ignored "-Wstack-usage="
#pragma GCC diagnostic ignored "-Wframe-larger-than="
#endif
#ifdef __noinline__
#define __gnvcc_apart __noinline__
#else
#define __gnvcc_apart __attribute__((__noinline__))
#endif
struct __gnvcc_second { signed char __state[32]; int __reserve, __carveout, __binary; bool __clusters, __loaded[32]; int __width, __most[32], __carved[32]; };
namespace __gnvcc {
template <class __t> static __t __get(const __t &__at) { return __atomic_load_n(&__at, __ATOMIC_ACQUIRE); }
template <class __t> static __t __put(__t &__at, int __now) { __atomic_store_n(&__at, (__t)__now, __ATOMIC_RELEASE); return (__t)__now; }
template <int> struct __size;
template <class __t> static int __cluster(const __t *__own, __size<sizeof(((__t *)0)->requiredClusterWidth)> *) { return __own->requiredClusterWidth; }
template <class __t> static int __cluster(const __t *, ...) { return 0; }
#ifdef cudaStreamIsCapturing
static cudaError_t __capturing(cudaStream_t __stream, cudaStreamCaptureStatus *__status) { return cudaStreamIsCapturing(__stream, __status); }
#else
struct __absent { };
static __absent cudaStreamIsCapturing(const void *, ...) { return __absent(); }
static __absent cudaStreamIsCapturing_ptsz(const void *, ...) { return __absent(); }
static cudaError_t __one(cudaError_t __e, __absent) { return __e; }
static cudaError_t __one(__absent, cudaError_t __e) { return __e; }
static cudaError_t __one(__absent, __absent) { return cudaErrorInvalidValue; }
static cudaError_t __one(cudaError_t, cudaError_t) { return cudaErrorInvalidValue; }
static cudaError_t __capturing(cudaStream_t __stream, cudaStreamCaptureStatus *__status) {
  return __one(cudaStreamIsCapturing(__stream, __status), cudaStreamIsCapturing_ptsz(__stream, __status)); }
#endif
}
static void __gnvcc_keep(cudaError_t __pending) {
  if (__pending == cudaErrorInvalidValue && cudaPeekAtLastError() != __pending) (void)cudaGetDevice((int *)0);
}
static int __gnvcc_device(cudaError_t __pending) {
  int __device = 0;
  if (__pending != cudaSuccess && __pending != cudaErrorInvalidValue) return -1;
  if (cudaGetDevice(&__device) != cudaSuccess) { cudaGetLastError(); __gnvcc_keep(__pending); return -1; }
  return __device < 32 ? __device : -1;
}
static __gnvcc_apart void __gnvcc_load(struct __gnvcc_second *__second, int __device, cudaError_t __pending) {
  struct cudaFuncAttributes __own;
  if (__device < 0 || __gnvcc::__get(__second->__loaded[__device])) return;
  __gnvcc::__put(__second->__loaded[__device], true);
  if (cudaFuncGetAttributes(&__own, (const void *)__second) != cudaSuccess) { cudaGetLastError(); __gnvcc::__put(__second->__state[__device], -1); }
  __gnvcc_keep(__pending);
}
static __gnvcc_apart bool __gnvcc_prepared(struct __gnvcc_second *__second, int __device, const void *__plain, unsigned long long __dynamic) {
  struct cudaFuncAttributes __own, __theirs;
  if (cudaFuncGetAttributes(&__theirs, __plain) != cudaSuccess || (__gnvcc::__get(__second->__state[__device]) == 0 && (cudaFuncGetAttributes(&__own, (const void *)__second) != cudaSuccess ||
      __own.binaryVersion != __theirs.binaryVersion || (__second->__binary != 0 && __own.binaryVersion != __second->__binary)))) {
    cudaGetLastError(); __gnvcc::__put(__second->__state[__device], -1); return false; }
  if (__gnvcc::__get(__second->__state[__device]) == 0) {
    __gnvcc::__put(__second->__width, __gnvcc::__cluster(&__own, 0)); __gnvcc::__put(__second->__most[__device], __own.maxDynamicSharedSizeBytes);
    __gnvcc::__put(__second->__carved[__device], __own.preferredShmemCarveout); __gnvcc::__put(__second->__state[__device], 1);
  }
  if (__gnvcc::__cluster(&__theirs, 0) != __gnvcc::__get(__second->__width) || __dynamic > (unsigned long long)__theirs.maxDynamicSharedSizeBytes) return false;
  int __most = __theirs.maxDynamicSharedSizeBytes, __carveout = __theirs.preferredShmemCarveout;
  if (__second->__binary != 0) {
    if (__carveout != -1) return false;
    if (__most < (int)__dynamic + __second->__reserve) __most = (int)__dynamic + __second->__reserve;
    __carveout = __second->__carveout;
  }
  if ((__most > __gnvcc::__get(__second->__most[__device]) && cudaFuncSetAttribute((const void *)__second, cudaFuncAttributeMaxDynamicSharedMemorySize, __gnvcc::__put(__second->__most[__device], __most)) != cudaSuccess) ||
      (__carveout != __gnvcc::__get(__second->__carved[__device]) && cudaFuncSetAttribute((const void *)__second, cudaFuncAttributePreferredSharedMemoryCarveout, __gnvcc::__put(__second->__carved[__device], __carveout)) != cudaSuccess)) {
    cudaGetLastError(); __gnvcc::__put(__second->__state[__device], -1); return false; }
  __gnvcc::__put(__second->__state[__device], 2);
  return true;
}
static __gnvcc_apart bool __gnvcc_usable(struct __gnvcc_second *__second, int __device, cudaError_t __pending, const void *__plain, unsigned long long __dynamic, cudaStream_t __stream) {
  cudaStreamCaptureStatus __capture = cudaStreamCaptureStatusNone;
  if (__device < 0 || __gnvcc::__get(__second->__state[__device]) < 0) return false;
  if (__gnvcc::__capturing(__stream, &__capture) != cudaSuccess) { cudaGetLastError(); __gnvcc_keep(__pending); return false; }
  if (__capture != cudaStreamCaptureStatusNone) return false;
  if (__gnvcc::__get(__second->__state[__device]) == 2 && __dynamic == 0 && !__second->__clusters) return true;
  bool __usable = __gnvcc_prepared(__second, __device, __plain, __dynamic);
  __gnvcc_keep(__pending);
  return __usable;
}
static unsigned __gnvcc_blocks(unsigned __grid, unsigned __of, unsigned __now, unsigned __most) {
  unsigned long long __all = (unsigned long long)__grid * __of, __blocks = __all / __now;
  return __grid <= __most && __all < 2147483648ULL && __blocks * __now == __all && __blocks <= __most ? (unsigned)__blocks : 0; }
`

// ours is in front of each piece of ours.
const ours = "\n# 1 \"gnvcc\" 3\n"

const ending = "\n#pragma GCC diagnostic pop\n"

// Patch returns the stub with all choices that could be put in. A choice whose kernel does not
// stand in the text as expected (another toolkit's shape, a tile kernel, a kernel without a host
// stub) is left out, with the reason; the text is then as if it had not been asked for. With
// nothing to do the text is returned as it is.
func Patch(text []byte, choices []Choice) (out []byte, refused map[string]error) {
	refused = map[string]error{}
	src := string(text)
	var declarations strings.Builder
	var loads, edits []edit    // all entries of a kernel are loaded before the first is looked at
	asked := map[string]bool{} // kernels with a choice already
	for i, c := range choices {
		e, err := c.edits(src, i)
		if err != nil {
			refused[c.Second] = err
			continue
		}
		start := ""
		if r := c.Manner.Reserve; r.On || c.Clusters {
			start = fmt.Sprintf(" = { { 0 }, %d, %d, %d, %t, { false }, 0, { 0 }, { 0 } }", r.Dynamic, r.Carveout, r.Binary,
				c.Clusters)
		}
		fmt.Fprintf(&declarations, "static struct __gnvcc_second __gnvcc_second%d%s;\n", i, start)
		if !asked[c.Entry] {
			asked[c.Entry] = true
			e[0].text = ours + "cudaError_t __gnvcc_was = cudaPeekAtLastError(); " +
				"int __gnvcc_on = __gnvcc_device(__gnvcc_was); " + strings.TrimPrefix(e[0].text, ours)
		}
		loads, edits = append(loads, e[0]), append(edits, e[1:]...)
	}
	if len(edits) == 0 {
		return text, refused
	}
	// Behind the two includes: types and the fat binary are known there, and no line of the user's has
	// begun.
	at, err := preludeOffset(src)
	if err != nil {
		for _, c := range choices {
			refused[c.Second] = err
		}
		return text, refused
	}
	edits = append(edits, edit{at, prelude + declarations.String()})
	return apply(src, append(append(loads, edits...), edit{len(src), ending})), refused
}

// edits gives the three insertions of a choice: that it be loaded, the look at the arguments in
// front of the launch, and the registration.
func (c Choice) edits(src string, number int) ([]edit, error) {
	if !identifier(c.Entry) || !identifier(c.Second) {
		return nil, fmt.Errorf("entry %q: not a name of a kernel", c.Entry)
	}
	// __cudaRegisterEntry(__T0, EXPRESSION, ENTRY, LIMIT);
	tail := ", " + c.Entry + ", "
	end := strings.Index(src, tail)
	if end < 0 || strings.Contains(src[end+1:], tail) {
		return nil, fmt.Errorf("the host stub does not register %s exactly once", c.Entry)
	}
	const register = "__cudaRegisterEntry("
	start := strings.LastIndex(src[:end], register)
	if start < 0 {
		return nil, fmt.Errorf("the host stub registers %s in another way than expected", c.Entry)
	}
	handle, function, ok := strings.Cut(src[start+len(register):end], ", ")
	if !ok || !identifier(handle) || !balanced(function) {
		return nil, fmt.Errorf("the host stub registers %s in another way than expected", c.Entry)
	}
	stop := strings.Index(src[end:], ";")
	if stop < 0 {
		return nil, fmt.Errorf("the host stub ends within the registration of %s", c.Entry)
	}
	registered := end + stop + 1

	launch := "__cudaLaunch(((char *)" + function + ")"
	call := strings.Index(src, launch)
	if call < 0 || strings.Contains(src[call+1:], launch) {
		return nil, fmt.Errorf("the host stub does not launch %s exactly once", c.Entry)
	}
	switch rest := src[call+len(launch):]; {
	case strings.HasPrefix(rest, ", 0U);"), strings.HasPrefix(rest, ");"):
		// the flag, 13.0 .. 13.4: no tile kernel
	default:
		return nil, fmt.Errorf("the host stub launches %s in another way than expected", c.Entry)
	}
	prologue := strings.LastIndex(src[:call], "__cudaLaunchPrologue(")
	if prologue < 0 {
		return nil, fmt.Errorf("the host stub of %s has no prologue", c.Entry)
	}
	arguments := strings.Count(src[prologue:call], "__cudaSetupArg")
	condition, err := c.condition(arguments)
	if err != nil {
		return nil, err
	}
	shape, grid, block := "", "__g", "__b"
	if !c.Manner.Own() {
		if shape, err = c.otherwise(); err != nil {
			return nil, err
		}
		grid, block = "__h", "__c"
		condition += " && __h.x != 0u && __h.y != 0u && __h.z != 0u"
	}
	look := fmt.Sprintf(ours+
		"{ dim3 __g, __b; size_t __s; cudaStream_t __q; if (__cudaPopCallConfiguration(&__g, &__b, &__s, &__q) != cudaSuccess) return; %s"+
		"if (%s && __gnvcc_usable(&__gnvcc_second%d, __gnvcc_on, __gnvcc_was, (const void *)%s, __s, __q)) { "+
		"if (cudaLaunchKernel((const void *)&__gnvcc_second%d, %s, %s, &__args_arr[0], __s + (size_t)__gnvcc_second%d.__reserve, __q) == cudaSuccess) { __gnvcc_keep(__gnvcc_was); return; } (void)cudaGetLastError(); __gnvcc_keep(__gnvcc_was); } "+
		"(void)__cudaPushCallConfiguration(__g, __b, __s, __q); } ", shape, condition, number, function,
		number, grid, block, number)
	load := fmt.Sprintf(ours+"__gnvcc_load(&__gnvcc_second%d, __gnvcc_on, __gnvcc_was); ",
		number)
	again := fmt.Sprintf(ours+"__cudaRegisterEntry(%s, &__gnvcc_second%d, %s, (-1));", handle, number,
		c.Second)
	return []edit{{call, load}, {call, look}, {registered, again}}, nil
}

// otherwise declares the grid and the block that the second entry is launched with. Where it is for
// launches of one grid alone, theirs is known here.
func (c Choice) otherwise() (string, error) {
	steps, ok := c.Manner.Steps(c.Block)
	block, grid := c.Manner.In(c.Block), [3]int{}
	if ok && c.Manner.Only != [3]int{} {
		grid, _, ok = c.Manner.Launch(c.Grid, c.Block)
	}
	if !ok {
		return "", fmt.Errorf("%s: %v blocks of %v can't be launched so: %+v", c.Entry, c.Grid, c.Block,
			c.Manner)
	}
	text := "dim3 __h = __g, __c = __b; "
	for i, axis := range "xyz" {
		if c.Manner.Only != [3]int{} {
			text += fmt.Sprintf("__h.%c = %du; __c.%c = %du; ", axis, grid[i], axis, block[i])
			continue
		}
		if c.Manner.Block[i] > 0 || block[i] != c.Block[i] {
			text += fmt.Sprintf("__c.%c = %du; ", axis, block[i])
		}
		text += fmt.Sprintf("__h.%c = __gnvcc_blocks(__g.%c, %du, %du, %du); ", axis, axis, steps[i].Of,
			steps[i].Now, steps[i].Most)
	}
	return text, nil
}

// condition is the C++ expression that holds for the launches that the second entry is for.
func (c Choice) condition(arguments int) (string, error) {
	var all []string
	for _, a := range c.Args {
		if a.Index < 0 || a.Index >= arguments || a.Offset < 0 || len(a.Bytes) == 0 {
			return "", fmt.Errorf("%s has %d parameters: no condition on parameter %d", c.Entry, arguments,
				a.Index)
		}
		var text strings.Builder
		for _, b := range a.Bytes {
			// three octal digits: a digit that follows can't be taken for one more
			fmt.Fprintf(&text, "\\%03o", b)
		}
		all = append(all, fmt.Sprintf(
			`__builtin_memcmp((const char *)__args_arr[%d] + %d, "%s", %d) == 0`, a.Index, a.Offset,
			text.String(), len(a.Bytes)))
	}
	for _, a := range c.Align {
		if a.Index < 0 || a.Index >= arguments || a.Bytes <= 0 || a.Bytes&(a.Bytes-1) != 0 {
			return "", fmt.Errorf("%s: alignment of parameter %d to %d bytes makes no sense", c.Entry,
				a.Index, a.Bytes)
		}
		all = append(all, fmt.Sprintf("(*(const unsigned long long *)__args_arr[%d] & %dULL) == 0",
			a.Index, a.Bytes-1))
	}
	for i, axis := range "xyz" {
		if c.Block[i] > 0 {
			all = append(all, fmt.Sprintf("__b.%c == %du", axis, c.Block[i]))
		}
		if c.Grid[i] > 0 {
			all = append(all, fmt.Sprintf("__g.%c == %du", axis, c.Grid[i]))
		}
	}
	if c.Dynamic != nil {
		all = append(all, fmt.Sprintf("__s == %dULL", *c.Dynamic))
	}
	if len(all) == 0 {
		return "", fmt.Errorf("%s: a second entry for every launch is no choice", c.Entry)
	}
	if r := c.Manner.Reserve; r.On && (c.Dynamic == nil || r.Dynamic < 0 || r.Carveout < 0 ||
		r.Carveout > 100 || r.Binary <= 0) {
		return "", fmt.Errorf("%s: %+v is no reserve, or lies on top of a size that is not known",
			c.Entry, r)
	}
	return strings.Join(all, " && "), nil
}

type edit struct {
	at   int
	text string
}

func apply(src string, edits []edit) []byte {
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].at < edits[j].at })
	var out bytes.Buffer
	from := 0
	for _, e := range edits {
		out.WriteString(src[from:e.at])
		out.WriteString(e.text)
		from = e.at
	}
	out.WriteString(src[from:])
	return out.Bytes()
}

// preludeOffset is behind the line that includes the fat binary's text.
func preludeOffset(src string) (int, error) {
	line := strings.Index(src, ".fatbin.c\"")
	if line < 0 || !strings.HasPrefix(src[strings.LastIndexByte(src[:line], '\n')+1:], "#include ") ||
		!strings.Contains(src[:line], "crt/host_runtime.h") {
		return 0, fmt.Errorf("the host stub does not begin as expected")
	}
	end := strings.IndexByte(src[line:], '\n')
	if end < 0 {
		return 0, fmt.Errorf("the host stub does not begin as expected")
	}
	return line + end + 1, nil
}

// identifier reports whether the text is a plain C name: names go into C++ text, so nothing else may.
func identifier(s string) bool {
	for i, c := range s {
		if !(c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' &&
			c <= '9') {
			return false
		}
	}
	return s != ""
}

func balanced(s string) bool {
	depth := 0
	for _, c := range s {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return false
			}
		case ';', '{', '}', '"', '\n':
			return false
		}
	}
	return depth == 0
}
