package stub

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/rewrite/manner"
	"gnvcc/rewrite/ptx/ptxtest"
)

const source = `
struct P { int a; float b[3]; };
extern "C" __global__ void plain(int n, float *p) { p[0] = n; }
namespace { __global__ void anon(P p, const double d, bool q) { } }
namespace ns { template<int N, class T> __global__ void __launch_bounds__(128) t(T x, const __grid_constant__ P p) { } }
template<class... A> __global__ void va(A... a) {}
__global__ void nine(char a, short b, long long c, float4 d, void* const e, int (*f)(int), P* g) {}
enum class E { X }; __global__ void en(E e) {}
int main() {
  P p = {};
  plain<<<1,1>>>(1, nullptr); anon<<<1,1>>>(p,1,true); ns::t<3><<<1,1>>>(2.f,p); va<<<1,1>>>(1,2.f,p);
  nine<<<1,1>>>(1,2,3,float4(),nullptr,nullptr,&p); en<<<1,1>>>(E::X);
}
`

// TestPatchCompiles patches the stubs that every toolkit really writes and compiles the host side
// with the very command that nvcc would use, with warnings as errors.
func TestPatchCompiles(t *testing.T) {
	for _, kit := range ptxtest.Toolkits(t) {
		for _, stream := range []string{"--default-stream=legacy", "--default-stream=per-thread",
			"-DCUDA_API_PER_THREAD_DEFAULT_STREAM"} {
			t.Run(kit.Version+stream, func(t *testing.T) {
				if stream != "--default-stream=per-thread" {
					kits.Long(t, "it is compiled for one default stream")
				}
				patchCompiles(t, kit.Nvcc(), stream)
			})
		}
	}
}

func patchCompiles(t *testing.T, nvcc, stream string) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b.cu"), source)
	args := []string{stream, "--keep", "--keep-dir", dir, "-arch=sm_80", "-Xcompiler",
		"-Wall,-Wextra,-Werror,-Wno-unused-parameter", "-c", "b.cu", "-o", "b.o"}
	run(t, dir, nvcc, args...)
	commands := run(t, dir, nvcc, append([]string{"--dryrun"}, args...)...)

	path := filepath.Join(dir, "b.cudafe1.stub.c")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var choices []Choice
	for _, m := range regexp.MustCompile(`, (\w+), (?:\d+|\(-1\))\);`).FindAllStringSubmatch(
		string(text), -1) {
		c := Choice{Entry: m[1], Second: m[1] + "__second", Args: []Arg{{0, 0, []byte{1, 0, 0, 0}[:1]}},
			Block: [3]int{128, 0, 0}, Grid: [3]int{0, 7, 0}}
		if strings.Contains(m[1], "plain") && !strings.Contains(m[1], "anon") {
			c.Align = []Align{{1, 16}}
			c.Dynamic = new(int)
			c.Manner.Reserve = manner.Reserve{On: true, Dynamic: 1664, Carveout: 3, Binary: 80}
		}
		if strings.Contains(m[1], "nine") {
			c.Block, c.Manner.Block = [3]int{128, 2, 1}, [3]int{32, 8, 1}
		}
		if strings.Contains(m[1], "anon") {
			c.Block, c.Manner.Coarse = [3]int{128, 2, 1}, [3]int{1, 4, 1}
		}
		choices = append(choices, c)
	}
	if len(choices) != 6 {
		t.Fatalf("%d kernels registered, want 6:\n%s", len(choices), text)
	}
	out, refused := Patch(text, choices)
	if len(refused) > 0 {
		t.Fatalf("refused: %v", refused)
	}
	host := ""
	for _, line := range strings.Split(commands, "\n") {
		if strings.Contains(line, "cudafe1.cpp") && strings.Contains(line, " -c ") {
			host = strings.TrimPrefix(line, "#$ ")
		}
	}
	if host == "" {
		t.Fatalf("no host compile in\n%s", commands)
	}
	quiet(t, dir, host, path, string(text), string(out))
	write(t, path, string(out))
	run(t, dir, "sh", "-c", host)
	symbols := run(t, dir, "sh", "-c", "strings -a b.o | grep -c __second$")
	if strings.TrimSpace(symbols) != "6" {
		t.Errorf("the object registers %s second entries, want 6", symbols)
	}
	calls := strings.TrimSpace(run(t, dir, "sh", "-c", "nm -u b.o | grep -c IsCapturing_ptsz || true"))
	if want := map[bool]string{true: "1", false: "0"}[!strings.HasSuffix(stream,
		"legacy")]; calls != want {
		t.Errorf("%s calls of cudaStreamIsCapturing_ptsz, want %s", calls, want)
	}
}

// quiet: no compiler at any level has a word about a changed stub that it has not about nvcc's own.
func quiet(t *testing.T, dir, host, path, own, changed string) {
	t.Helper()
	numbers := regexp.MustCompile(`[0-9]+`)
	for compiler, all := range map[string][]string{"gcc": {"-Wall -Wextra -Wpadded -Wold-style-cast -Wuseless-cast -Wconversion " +
		"-Wsign-conversion -Wshadow -Wswitch-default -Wundef -Wmissing-declarations -Wredundant-decls -Weffc++ -Winline " +
		"-Waggregate-return -Wlong-long -Wcast-qual -Wunused-macros -Wnoexcept -Wsuggest-attribute=const -Wabi-tag",
		"-O2 -Wstack-usage=16", "-O2 -Wframe-larger-than=16", "-Wstack-usage=16", "-O3 -Wstack-protector -fstack-protector"},
		"clang": {"-Weverything", "-Weverything -pedantic -std=c++98", "-O2 -Wframe-larger-than=16", "-Wframe-larger-than=16"}} {
		if _, err := exec.LookPath(compiler); err != nil {
			t.Logf("SKIPPED: no %s here", compiler)
			continue
		}
		for _, flags := range all {
			warnings := func(text string) (said map[string]bool) {
				write(t, path, text)
				command := strings.Replace(strings.Replace(host, "gcc", compiler, 1), " -c ", " "+flags+" -Wno-error -c ", 1)
				out, _ := exec.Command("sh", "-c", "cd "+dir+" && "+strings.Replace(command, "-Werror", "", -1)).CombinedOutput()
				said = map[string]bool{}
				for _, line := range strings.Split(string(out), "\n") {
					if strings.Contains(line, "warning:") || strings.Contains(line, "error:") {
						said[numbers.ReplaceAllString(line, "N")] = true
					}
				}
				return said
			}
			before := warnings(own)
			for line := range warnings(changed) {
				// with a default stream for each thread cudaLaunchKernel is a function of this header's
				if !before[line] && !strings.Contains(line, "/cuda_runtime_api.h:N:N: warning: stack usage might") {
					t.Errorf("%s %s: %s", compiler, flags, line)
				}
			}
		}
	}
}

// reserve is a manner with a reserve and a carveout of so many percent.
func reserve(percent int) manner.Manner {
	return manner.Manner{Reserve: manner.Reserve{On: true, Dynamic: 1, Carveout: percent, Binary: 90}}
}

func TestPatchRefuses(t *testing.T) {
	const good = stubText
	one := Choice{Entry: "_Z1kPi", Second: "_Z1kPi__second", Align: []Align{{0, 16}}}
	if out, refused := Patch([]byte(good), []Choice{one}); len(refused) > 0 || string(out) == good {
		t.Fatalf("the good text is refused: %v", refused)
	}
	for name, c := range map[string]struct {
		text   string
		choice Choice
	}{
		"another kernel": {good, Choice{Entry: "_Z1jPi", Second: "x",
			Block: [3]int{1, 0, 0}}},
		"no condition": {good, Choice{Entry: "_Z1kPi", Second: "x"}},
		"no such parameter": {good, Choice{Entry: "_Z1kPi", Second: "x",
			Args: []Arg{{1, 0, []byte{1}}}}},
		"odd alignment": {good, Choice{Entry: "_Z1kPi", Second: "x",
			Align: []Align{{0, 12}}}},
		"a reserve on top of any size": {good, Choice{Entry: "_Z1kPi", Second: "x",
			Block: [3]int{1, 0, 0}, Manner: reserve(3)}},
		"a carveout above all": {good, Choice{Entry: "_Z1kPi", Second: "x", Dynamic: new(int),
			Manner: reserve(101)}},
		"hostile name": {good, Choice{Entry: "_Z1kPi", Second: "x, (-1)); abort();",
			Align: []Align{{0, 16}}}},
		"tile kernel": {strings.Replace(good, ", 0U)", ", 1U)", 1), one},
		"no include":  {strings.Replace(good, "#include \"a.fatbin.c\"", "", 1), one},
		"launch not known": {strings.Replace(good, "__cudaLaunch(((char *)", "__cudaLaunch2(((char *)",
			1), one},
		"registered twice":    {good + good, one},
		"registration is cut": {good[:strings.Index(good, "(-1)")], one},
	} {
		if out, refused := Patch([]byte(c.text), []Choice{c.choice}); string(out) != c.text ||
			len(refused) != 1 {
			t.Errorf("%s: changed or not refused (%v)", name, refused)
		}
	}
}

// FuzzPatch gives it hostile stubs, and choices as a damaged memo could hold them. What is refused
// leaves the text as it was; what is taken only adds to it, and no name gets into the text that is
// none.
func FuzzPatch(f *testing.F) {
	f.Add(
		[]byte(
			"#include \"crt/host_runtime.h\"\n#include \"a.fatbin.c\"\n__cudaLaunchPrologue(1);__cudaLaunch(((char *)f));__cudaRegisterEntry(__T0, f, k, (-1));"), "k", "k2", []byte{}, 0, 0, 32)
	f.Add(
		[]byte(
			"#include \"crt/host_runtime.h\"\n#include \"a.fatbin.c\"\n__cudaLaunchPrologue(1);__cudaSetupArg(x);__cudaLaunch(((char *)f), 0U);__cudaRegisterEntry(__T0, f, k, (-1));\n"), "k", "k2", []byte{1, '"', 0}, 0, 8, 0)
	f.Fuzz(func(t *testing.T, text []byte, entry, second string, bytes []byte, index, align,
		block int) {
		c := Choice{Entry: entry, Second: second, Block: [3]int{block, 0, 0}}
		if len(bytes) > 0 {
			c.Args = []Arg{{Index: index, Offset: align, Bytes: bytes}}
		}
		if align != 0 {
			c.Align = []Align{{Index: index, Bytes: align}}
		}
		out, refused := Patch(text, []Choice{c})
		if len(refused) > 0 {
			if string(out) != string(text) {
				t.Fatal("refused, and yet changed")
			}
			return
		}
		if !identifier(entry) || !identifier(second) {
			t.Fatalf("taken: %q, %q", entry, second)
		}
		rest := string(text)
		for _, b := range out {
			if rest != "" && rest[0] == b {
				rest = rest[1:]
			}
		}
		if rest != "" {
			t.Fatalf("some of the text is gone\n%s", out)
		}
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestAsksOnce: what a launch asks the runtime about itself is asked once, however many entries its
// kernel has.
func TestAsksOnce(t *testing.T) {
	out, refused := Patch([]byte(stubText), []Choice{
		{Entry: "_Z1kPi", Second: "second", Block: [3]int{16, 16, 1}},
		{Entry: "_Z1kPi", Second: "third", Block: [3]int{32, 8, 1}}})
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	asks := strings.Index(string(out), "int __gnvcc_on = __gnvcc_device(__gnvcc_was); __gnvcc_load(")
	if n := strings.Count(string(out), "= __gnvcc_device(__gnvcc_was);"); n != 1 || asks < 0 ||
		strings.Count(string(out[asks:]), "__gnvcc_load(&__gnvcc_second") != 2 ||
		strings.Count(string(out[asks:]), "__gnvcc_usable(&__gnvcc_second") != 2 {
		t.Errorf("asked %d times:\n%s", n, out)
	}
}
