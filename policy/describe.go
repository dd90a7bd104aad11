package policy

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gnvcc/policy/check"
	"gnvcc/rewrite"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/await"
	"gnvcc/rewrite/recipe"
)

// What is read in a kernel's PTX and source.

// ReadPTX fills in what every kernel is asked of its default PTX: directives, accesses, what it reads
// of its launch, and whether it is to be left alone. What single levers ask is a Fact of theirs. Name
// must be set.
func (k *Kernel) ReadPTX(m *ptx.Module) error {
	name := k.Name
	f := m.Entry(name)
	if f == nil {
		return fmt.Errorf("no kernel %s in the PTX", name)
	}
	t, err := m.Traits(k.Name)
	if err != nil {
		return err
	}
	if k.Alone = alone(t); k.Alone == "" {
		if err := rewrite.Fixed(m, k.Name, k.Reloc, recipe.Recipe{}); err != nil {
			k.Alone = err.Error()
		}
	}
	overlaps, err := rewrite.Overlaps(m, k.Name)
	if err != nil {
		return err
	}
	k.NoSecond = cmp.Or(k.NoSecond, overlaps)
	if k.Reloc {
		if err := rewrite.External(m, k.Name); err != nil {
			k.External = err.Error()
		}
	}
	k.Calls, k.Functions = t.Calls || t.Indirect, t.Functions
	k.Dynamic = t.SharedDynamic
	k.readBounds(f)
	k.Loads, k.Stores = rewrite.Accesses(f)
	if k.Writes, err = writes(m, k.Name); err != nil {
		return err
	}
	if t.Indirect {
		k.Writes = "" // what it calls is not known
	}
	k.Through, k.Scalars = rewrite.Reads(f), rewrite.Scalars(f)
	k.Variables, k.Texels = rewrite.Variables(m, name), rewrite.Texels(m, name)
	_, _, k.Direct = rewrite.Touched(f)
	k.Decided = check.ArgumentsOf(f)
	if k.Awaits, err = await.Why(m, k.Name); err != nil {
		k.Awaits = "its code can't be followed"
	}
	reach, err := m.Reach(k.Name)
	if err != nil {
		return err
	}
	k.Reads = shapeReads(reach.Funcs)
	k.Short = ShortName(k.Name)
	k.facts = &facts{code: Code{m, f}}
	return nil
}

// readBounds reads the directives that bound its blocks and registers.
func (k *Kernel) readBounds(f *ptx.Func) {
	k.MaxThreads = 1024
	for _, d := range f.Directives {
		switch d.Name {
		case ".maxntid", ".reqntid":
			k.MaxThreads = product(d.Args)
		case ".maxnreg":
			k.Bounds = "__maxnreg__(" + d.Args + ")"
		case ".minnctapersm":
			k.Bounds = fmt.Sprintf("__launch_bounds__(..., %s)", d.Args)
		}
	}
}

// shapeReads lists what the functions read of the launch's shape: "blockDim.x".
func shapeReads(funcs []*ptx.Func) []string {
	reads := []string{}
	for _, d := range [][2]string{{"ntid", "blockDim"}, {"nctaid", "gridDim"}} {
		for _, axis := range []string{"x", "y", "z"} {
			if slices.ContainsFunc(funcs, func(f *ptx.Func) bool {
				return bytes.Contains(f.Text(), []byte("%"+d[0]+"."+axis))
			}) {
				reads = append(reads, d[1]+"."+axis)
			}
		}
	}
	return reads
}

// alone says why a kernel with these traits is left alone, "" if it is not: what it does cannot be
// repeated or compared.
func alone(t ptx.Traits) string {
	switch {
	case t.SetMaxNReg:
		return "its warps exchange registers (setmaxnreg)"
	case t.DeviceLaunch:
		return "it launches kernels itself"
	}
	return ""
}

func product(args string) int {
	n := 1
	for _, a := range strings.Split(args, ",") {
		if x, err := strconv.Atoi(strings.TrimSpace(a)); err == nil {
			n *= x
		}
	}
	return n
}

// ReadSource fills in what the source says: loops, and values that can be specialised. signature
// is the PTX types of the entry's parameters.
func (k *Kernel) ReadSource(found *lowered.Kernel, signature []string) {
	var err error
	k.Loops, k.NoUnroll, k.NoSpec = found.Loops, found.NoUnroll, found.NoSpec
	k.Math = found.MathCalls()
	k.Source = fmt.Sprintf("%s:%d", found.File, found.Line)
	if k.NoSpec == "" {
		if k.Values, err = found.Values(signature); err != nil {
			k.NoSpec = FirstLine(err)
		}
		k.addHidden()
	}
	if k.NoSpec != "" {
		k.Values = lowered.Scalars(signature)
	}
}

// Unread says why there is no source. Of its values PTX tells enough for known.
func (k *Kernel) Unread(why string, signature []string) {
	k.NoUnroll, k.NoSpec, k.Values = why, why, lowered.Scalars(signature)
}

// ShortName is a mangled name as people write it: template arguments, no return type, no
// parameters.
func ShortName(mangled string) string { return ptx.ShortName(mangled) }
