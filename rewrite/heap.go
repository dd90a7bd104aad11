package rewrite

import (
	"bytes"
	"errors"
	"fmt"

	"gnvcc/rewrite/ptx"
)

// Allocated is the variable, 4 bytes, in which the build of Heapless says that a thread wanted to
// allocate.
const Allocated = "__gnvcc_allocated"

// Heapless gives a module's text in which no thread takes memory from the device's heap, or gives
// it back: one that would says so, and ends. free(NULL) is allowed.
//
//	.extern .func (.param .b64 r) malloc(.param .b64 n);
//
//	.visible .global .align 4 .u32 __gnvcc_allocated;
//	.func (.param .b64 r) malloc(.param .b64 n) { st.global.u32 [__gnvcc_allocated], 1; exit; }
//
// A launch of it that leaves 0 there, and what the kernel itself leaves, allocates nothing, and may
// be done again and again: the heap is no memory that is put back.
func Heapless(m *ptx.Module) ([]byte, error) {
	text := m.Bytes()
	if bytes.Contains(text, []byte(Allocated)) {
		return nil, fmt.Errorf("the PTX has the name %s", Allocated)
	}
	head := ".visible .global .align 4 .u32 " + Allocated + ";\n"
	for _, f := range m.Funcs { // in the order of the text: the variable stands in front of the first
		if f.Name != "malloc" && f.Name != "free" {
			continue
		}
		own, ok := bytes.CutPrefix(f.Text(), []byte(".extern"))
		if f.Body || !ok || len(f.Params) != 1 {
			return nil, fmt.Errorf("%s is not the device's own", f.Name)
		}
		body := append([]byte(head), bytes.TrimRight(own, "; \t\n")...)
		body = append(body, "\n{\n"...)
		if f.Name == "free" { // free(NULL) gives nothing back
			body = fmt.Appendf(body, "\t.reg .pred %%p;\n\t.reg .b64 %%a;\n\tld.param.b64 %%a, [%s];\n"+
				"\tsetp.eq.s64 %%p, %%a, 0;\n\t@%%p ret;\n", f.Params[0].Name)
		}
		body = append(body, "\tst.global.u32 \t["+Allocated+"], 1;\n\texit;\n}\n"...)
		text, head = bytes.Replace(text, f.Text(), body, 1), ""
	}
	if head != "" {
		return nil, errors.New("nothing in the PTX allocates")
	}
	return text, nil
}
