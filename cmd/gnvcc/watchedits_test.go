package main

import (
	"strings"
)

// An watchEdit is one thing that people do.
type watchEdit struct {
	Name  string
	Do    func(p *watchProject) error
	Tuned []int  // kernels that have to be tuned again, and no others
	Waits string // a word of the reason for which a kernel waits, or a command fails; "" for none
}

// watchEdits are the edits of TestWatchScript, in order.
func watchEdits() []watchEdit {
	in := func(file string, pairs ...string) func(*watchProject) error { // from, to, ...
		return func(p *watchProject) (err error) {
			for i := 0; err == nil && i < len(pairs); i += 2 {
				err = p.Replace(file, pairs[i], pairs[i+1])
			}
			return err
		}
	}
	many := func(pairs ...string) func(*watchProject) error { return in("many.cu", pairs...) }
	k3, k5 := "float sum = 3.0f;", "i + round * 1031)"
	return []watchEdit{
		{Name: "a constant", Do: many(k3, "float sum = 3.5f;"), Tuned: []int{3}},
		{Name: "the constant taken back", Do: many("float sum = 3.5f;", k3)},
		{Name: "a loop", Do: many(k5, "i + 2 * round * 1031)"), Tuned: []int{5}},
		{Name: "comments, white space, a moved function, a parameter's name", Do: sameCode},
		{Name: "a header that two kernels use", Do: in("scale.h", "1.25f", "1.5f"), Tuned: []int{4, 6}},
		{Name: "a comment in a header", Do: in("scale.h", "// A header", "// One header")},
		{Name: "a function that two kernels call, by an editor that renames", Do: func(p *watchProject) error {
			return p.replaceByRename("step.h", "0.75f", "0.625f")
		}, Tuned: []int{2, 11}},
		{Name: "a kernel's signature", Do: many("void k8(float *out, const float *in, int n)",
			"void k8(float *out, const float *in, int n, float first)", "float sum = 8.0f;", "float sum = 8.0f + first;",
			"k8<<<N / 256, 256>>>(out, in, N);", "k8<<<N / 256, 256>>>(out, in, N, 1);"),
			Waits: "of this name is captured"},
		{Name: "the signature taken back", Do: many(", int n, float first)", ", int n)", " + first;", ";",
			"(out, in, N, 1);", "(out, in, N);")},
		{Name: "a kernel's name", Do: many("void k12(", "void last(", "k12<<<", "last<<<"),
			Waits: "of this name is captured"},
		{Name: "the name taken back", Do: many("void last(", "void k12(", "last<<<", "k12<<<")},
		{Name: "a switch to another branch", Do: func(p *watchProject) error { return p.switchTo("other") },
			Tuned: []int{1, 10}},
		{Name: "and back", Do: func(p *watchProject) error { return p.switchTo("main") }},
		{Name: "a half-written source", Do: many("out[i] = sum;\n}\n\n// Kernel 2.",
			"out[i] = \n}\n\n// Kernel 2."), Waits: "error"},
		{Name: "the rest of it", Do: many("out[i] = \n}", "out[i] = sum * 2;\n}"), Tuned: []int{1}},
		{Name: "a deleted header", Do: func(p *watchProject) error { return p.Remove("step.h") }, Waits: "step.h"},
		{Name: "the header is there again", Do: func(p *watchProject) error { return p.restore("step.h") }},
		{Name: "another kernel in the file", Do: many("// Kernel 2.\n",
			"__global__ void added(float *p) { p[threadIdx.x] += 1; }\n\n// Kernel 2.\n"), Waits: "of this name is captured"},
		{Name: "a constant, in the kernel that was edited first", Do: many(k3, "float sum = 3.25f;"),
			Tuned: []int{3},
			Waits: "of this name is captured"},
	}
}

// sameCode changes what makes no other machine code.
func sameCode(p *watchProject) error {
	return p.Change("many.cu", func(text string) string {
		text = strings.Replace(text, "// Kernel 1.\n",
			"// Kernel 1, the first.\n// It has a comment of two lines now.\n", 1)
		text = strings.Replace(text, "float sum = 1.0f;", "float   sum =\n      1.0f;", 1)
		moved := ""
		text = cutBetween(text, "// Kernel 7.\n", "// Kernel 8.\n", func(k string) string { moved = k; return "" })
		text = strings.Replace(text, "// Kernel 1", moved+"// Kernel 1", 1)
		return cutBetween(text, "__global__ void k9(", "__global__ void k10(", func(k string) string {
			return strings.NewReplacer("const float *in,", "const float *values,", "= in[",
				"= values[").Replace(k)
		})
	})
}

// between changes what stands between two texts.
func cutBetween(text, from, to string, change func(string) string) string {
	before, rest, ok := strings.Cut(text, from)
	if !ok {
		return text
	}
	middle, after, ok := strings.Cut(rest, to)
	if !ok {
		return text
	}
	return before + change(from+middle) + to + after
}
