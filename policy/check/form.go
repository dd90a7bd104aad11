package check

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// forms are blocks' texts in normal form: registers by the order in which they are named, with those
// that are needed behind the block marked; labels, and the numbers of scopes and parameters, left
// out. Two blocks of one form do the same operations in the same order on what comes to them: where
// nvcc's own code has one of the variant's, as the slow path of a sine which unrolling copies, it
// need not run to be known.
type forms struct {
	*ir.Func
	known map[int]string // by block
}

var scopeNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(__local_depot|param|retval|temp_param)[0-9]+` + "$")
})

// of is that of what is counted.
func (f *forms) of(b counters.Block) string {
	n := f.Block(b.Block.First)
	if f.known[n] == "" {
		f.known[n] = f.text(b.Block)
	}
	at := -1 // in the block
	if b.Choice > 0 {
		at = b.Choice - b.Block.First
	}
	return cache.HashOf(f.known[n], fmt.Sprint(at, b.Holds))[:12]
}

func (f *forms) text(b ptx.Block) string {
	var out strings.Builder
	number := map[ir.Reg]int{}
	register := func(r ir.Reg) {
		if _, known := number[r]; !known {
			number[r] = len(number)
		}
		fmt.Fprintf(&out, "%%%d", number[r])
	}
	for i := b.First; i < b.Last; i++ {
		x := f.Inst(i)
		if x.Op == "" {
			continue
		}
		if x.Guard != ir.None {
			fmt.Fprint(&out, "@", x.Unless)
			register(x.Guard)
		}
		out.WriteString(x.Op)
		for _, w := range x.Words {
			if w != "rn" { // which is said of what is not contracted
				out.WriteString("." + w)
			}
		}
		st := f.Stmts[i]
		at := st.OpEnd
		between := func(to uint32) {
			out.WriteString(strings.Join(strings.Fields(string(f.Bytes(ptx.Span{Start: at, End: to}))), ""))
		}
		f.Names(ptx.Span{Start: st.OpEnd, End: st.End}, func(n ptx.Span) bool {
			between(n.Start)
			at = n.End
			if a := f.At(i, n); a != nil {
				register(a.Reg)
				if a.Write && f.LiveOut(f.Block(i), a.Reg) {
					out.WriteByte('!')
				}
				return true
			}
			out.WriteString(f.symbol(string(f.Bytes(n))))
			return true
		})
		between(st.End)
	}
	return out.String()
}

// symbol is a name as other kernels have it.
func (f *forms) symbol(name string) string {
	for i, p := range f.Params {
		if p.Name == name {
			return fmt.Sprint("P", i)
		}
	}
	if name[0] == '$' {
		return "L"
	}
	return scopeNumber().ReplaceAllString(name, "$1")
}
