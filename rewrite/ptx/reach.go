package ptx

import (
	"fmt"
	"strings"
)

// What an entry reaches, through calls, addresses and initialisers.

// A Reach is what an entry needs of its module, in the order of first mention.
type Reach struct {
	// the entry first; declarations too; kernels only where their address is taken (device launches)
	Funcs []*Func
	// module-level variables; __shared__ ones that stand inside a function are not among them
	Globals []*Global
}

// Reach walks from an entry over everything it mentions. A kernel whose address is taken is listed
// but not entered.
func (m *Module) Reach(entry string) (*Reach, error) {
	type reach struct{ entry string }
	return OnceIn(m, reach{entry}, func() (*Reach, error) { return m.reach(entry) })
}

func (m *Module) reach(entry string) (*Reach, error) {
	f := m.Entry(entry)
	if f == nil {
		return nil, fmt.Errorf("ptx: no kernel %s in this module", entry)
	}
	r := &Reach{Funcs: []*Func{f}}
	seen := map[any]bool{f: true}
	mention := func(w []byte) {
		switch s := m.lookup(string(w)); {
		case s.fn != nil && !seen[s.fn]:
			seen[s.fn] = true
			r.Funcs = append(r.Funcs, s.fn)
		case s.global != nil && !seen[s.global]:
			seen[s.global] = true
			r.Globals = append(r.Globals, s.global)
		}
	}
	for fi, gi := 0, 0; fi < len(r.Funcs) || gi < len(r.Globals); {
		if fi < len(r.Funcs) {
			if f := r.Funcs[fi]; fi == 0 || !f.Entry {
				f.mentions(mention)
			}
			fi++
			continue
		}
		g := r.Globals[gi]
		gi++
		Names(m.src, g.Init, func(s Span) bool {
			mention(m.src[s.Start:s.End])
			return true
		})
	}
	return r, nil
}

// mentions calls yield for every name in the body that may be module-level.
func (f *Func) mentions(yield func(name []byte)) {
	local := make(map[string]bool)
	for i, s := range f.Stmts {
		if s.Kind == Label {
			local[string(f.Opcode(i))] = true
		}
		if s.Kind == Decl {
			f.Names(Span{s.OpEnd, s.End}, func(n Span) bool {
				if f.text[n.Start] != '%' {
					local[string(f.Bytes(n))] = true
				}
				return true
			})
		}
	}
	for _, vars := range [][]Variable{f.Returns, f.Params} {
		for _, v := range vars {
			local[v.Name] = true
		}
	}
	for _, s := range f.Stmts {
		if s.Kind != Inst && s.Kind != Direction {
			continue
		}
		f.Names(Span{s.OpEnd, s.End}, func(n Span) bool {
			if w := f.Bytes(n); w[0] != '%' && !local[string(w)] {
				yield(w)
			}
			return true
		})
	}
}

// OfRuntime reports the functions without a body that the toolkit or the driver brings: printf,
// malloc, assert, and the device runtime's. Those are known by their full names: a user's own may
// begin with cuda, too.
func OfRuntime(name string) bool {
	return OfDriver(name) || deviceRuntime[name] || strings.HasPrefix(name, "__cudaCDP2") ||
		strings.HasPrefix(name, "cudaCG")
}

// OfDriver reports those that the driver alone brings, with its own registers. nvlink knows nothing
// of them; the others are a library's (libcudadevrt), linked as any object's.
func OfDriver(name string) bool {
	switch name {
	case "vprintf", "malloc", "free", "__assertfail", "__assert_fail":
		return true
	}
	return false
}

// deviceRuntime are the functions of the device runtime (CUDA C++ programming guide, dynamic
// parallelism), by their names up to CUDA 11.
var deviceRuntime = map[string]bool{}

func init() {
	for _, name := range strings.Fields(`cudaDeviceGetAttribute cudaDeviceGetLimit
		cudaDeviceGetCacheConfig cudaDeviceGetSharedMemConfig cudaDeviceSynchronize cudaGetDevice
		cudaGetDeviceCount cudaGetLastError cudaPeekAtLastError cudaGetErrorName cudaGetErrorString
		cudaRuntimeGetVersion cudaMalloc cudaFree cudaFuncGetAttributes cudaGetParameterBuffer
		cudaGetParameterBufferV2 cudaLaunchDevice cudaLaunchDeviceV2 cudaMemcpyAsync
		cudaMemcpy2DAsync cudaMemcpy3DAsync cudaMemsetAsync cudaMemset2DAsync cudaMemset3DAsync
		cudaStreamCreateWithFlags cudaStreamDestroy cudaStreamWaitEvent cudaEventCreateWithFlags
		cudaEventRecord cudaEventRecordWithFlags cudaEventDestroy
		cudaOccupancyMaxActiveBlocksPerMultiprocessor
		cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`) {
		deviceRuntime[name], deviceRuntime[name+"_ptsz"] = true, true
	}
}
