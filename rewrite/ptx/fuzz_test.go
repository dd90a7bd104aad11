package ptx_test

import (
	"bytes"
	"os"
	"testing"

	"gnvcc/rewrite/ptx"
)

// FuzzParse: whatever the bytes are, there is a clean error or a module that gives the bytes back,
// and nothing that asks a module questions panics. Seeds: here and in testdata/fuzz.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"testdata/odd.ptx", "testdata/bench.ptx"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(text) > 12<<10 {
			text = text[:bytes.LastIndex(text[:12<<10], []byte("\n}\n"))+3]
		}
		f.Add(text)
	}
	for _, s := range []string{
		"", ";", ".version 9.0", ".func f", ".entry k{}", ".entry k(){{}}", ".entry k(){@p.x;}",
		".entry k(){L:}", ".entry k(){.reg .b32 %r<3>;}",
		".entry k(){call f,(a,b,c);}.func f;", ".entry k(){brx.idx a,L;L:.branchtargets L;}",
		".entry k(){bra M;}", ".entry k(){mov a,\"\";}",
		".global .u32 x={x};.entry k(){mov a,x;}", ".alias a,a;.entry k(){mov x,a;}",
		".entry k(){st [p],3;call __assertfail,(p,p,p);}",
		".entry k(){.shared .b8 s[];mov a,s;}", ".entry k().maxntid 1,2,;", ".section .debug{\"}\"}",
		".entry k(){ld.global.f32 a,[b];}/*",
		".entry k(){.pragma \"a\",\"b\";}", ".entry k(.param .b8 p[4],...){}",
		".entry k()\r\n.maxnreg 3\r\n{\r\n.loc 1 2 3\r\nret;\r\n}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ptx.Parse(text)
		if err != nil {
			return
		}
		if !bytes.Equal(m.Bytes(), text) {
			t.Fatal("Bytes is not what was parsed")
		}
		for _, g := range m.Globals {
			g.Size()
			g.Alignment()
		}
		for _, fn := range m.Funcs {
			fn.Threads()
			fn.Pragmas()
			_, _ = fn.Blocks()
			fn.First()
			for i := range fn.Stmts {
				fn.Guard(i)
				for _, o := range fn.Operands(i, nil) {
					fn.Address(o)
				}
				fn.Effects(i, func(reg ptx.Span, read, write bool) { _ = fn.Bytes(reg) })
			}
			_, _ = m.Traits(fn.Name)
			_, _ = m.Identity(fn.Name)
		}
		for _, fn := range m.Funcs {
			for i, s := range fn.Stmts {
				fn.Replace(i, string(fn.Text()[s.Start:s.End]))
			}
			if err := fn.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(m.Bytes(), text) {
			t.Fatal("rewriting every statement with its own text changed the module")
		}
	})
}
