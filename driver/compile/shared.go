package compile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/job"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/ptx"
)

// Host functions that several files have in common.
//
// A second entry is launched by its file's host stub. The kernel itself is launched by the address
// of its host function, and where several files register kernels under one address, the runtime
// takes that of one of them, which need not be the one whose stub was linked (seen with 11.8; by
// 13.0's runtime it was, whichever file was linked first). Their code is the same, but each file
// has variables of its own: a second entry would read and write other ones than the kernel.
//
// One address for several files have: instances of templates, up to 12.9 and with
// -static-global-template-stub=false; inline kernels; and, up to 12.9, all kernels that are not
// static, where shared libraries define the same one (since 13.0 they are hidden).

// sharedHost says why a kernel's second entry could see other variables than the kernel, "" where
// it can't. t is the compile that the PTX comes from, nil: not known; find gives the kernel in the
// source, nil: not known.
func sharedHost(t *cache.Translation, m *ptx.Module, kernel string,
	find func() *lowered.Kernel) string {
	variable := ownVariable(m, kernel)
	if variable == "" || strings.Contains(kernel, "_GLOBAL__N_") {
		return ""
	}
	// cicc gets both since 13.0
	hidden := t != nil && slices.Contains(t.Args, "--device-hidden-visibility")
	static := t != nil && slices.Contains(t.Args, "--static-host-stub")
	var own bool
	switch k := find(); {
	case k == nil:
		own = hidden && static
	case k.Says("static"):
		own = true
	case isInline(t, kernel):
	case k.Template:
		own = static
	default:
		own = hidden
	}
	if own {
		return ""
	}
	return "other files may have a kernel of its name under the same host function, each with variables " +
		"of its own (" + variable + "): a second entry could be launched in place of another file's kernel"
}

// isInline reports whether a kernel's host function is inline. That of an extern "C" kernel has a C++
// name there.
func isInline(t *cache.Translation, kernel string) bool {
	return t == nil || slices.ContainsFunc(t.Inline, func(name string) bool {
		return name == kernel || strings.HasPrefix(name, fmt.Sprintf("_Z%d%s", len(kernel), kernel))
	})
}

// Inline lists the kernels whose host functions are inline, by the host stub that cicc writes:
//
//	extern __inline__ __attribute__((visibility("hidden"))) void __device_stub__Z7in_linePfi(float *, int);
//
// Device code does not say it (11.8 to 13.5: "inline qualifier ignored").
func Inline(stub []byte) (kernels []string) {
	for line := range bytes.Lines(stub) {
		head, rest, ok := bytes.Cut(line, []byte(" __device_stub_"))
		name, _, call := bytes.Cut(rest, []byte("("))
		if ok && call && bytes.HasPrefix(line, []byte("extern ")) && bytes.Contains(head, []byte("__inline__")) {
			kernels = append(kernels, string(name))
		}
	}
	return kernels
}

// ownVariable is the name of a variable of the file that a kernel reaches, "" where there is none.
// Tables and texts that the compiler brings are the same in all files.
func ownVariable(m *ptx.Module, kernel string) string {
	r, err := m.Reach(kernel)
	if err != nil {
		return "which isn't known"
	}
	for _, g := range r.Globals {
		if g.Space != "shared" && !strings.HasPrefix(g.Name, "__cudart_") &&
			!strings.HasPrefix(g.Name, "$str") {
			return g.Name
		}
	}
	return ""
}

// merged says why a kernel that is linked on the device (-rdc=true) can't have second entries, ""
// where it can.
//
// Instances of templates and inline kernels are .weak: of all objects' kernels of one name nvlink
// takes the first, and drops the others, which may be of other code (another file's flags, say).
// A second entry has a name of its own, and would be launched in the place of a kernel that the
// link took from elsewhere. All other kernels of an object are in the program if their second
// entries are: two of one name end the link, as with nvcc.
//
// The link drops kernels that no host code mentions, too. Host code mentions them by the beginnings
// of their names (sections .nvHRKE and .nvHRKI: "_Z4axpy*"), and so their second entries.
func merged(j *job.Job, m *ptx.Module, kernel string) string {
	f := m.Entry(kernel)
	if !j.Call.Reloc || f == nil || f.Linkage != "weak" {
		return ""
	}
	return "with -rdc=true the link takes the first of all objects' kernels of its name, which may be " +
		"another file's than the second entry (a template's kernel, or an inline one)"
}
