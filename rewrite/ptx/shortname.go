package ptx

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxName bounds the names that are taken apart, bytes, as in rewrite/lowered.
const maxName = 1 << 15

// ShortName is a mangled name as people write it: template arguments, no return type, no
// parameters.
func ShortName(mangled string) string {
	return forPeople(mangled, demangle.NoParams, demangle.NoEnclosingParams)
}

// Signature is a mangled name with its parameters, as people write it.
func Signature(mangled string) string { return forPeople(mangled) }

func forPeople(mangled string, options ...demangle.Option) string {
	if len(mangled) > maxName {
		return mangled // taking it apart is recursive
	}
	name, err := demangle.ToString(OwnName(mangled), append(options, demangle.NoClones)...)
	if err != nil {
		return OwnName(mangled)
	}
	// Instances of templates come with their return type, which a kernel does not need to tell: it is
	// void.
	return strings.TrimPrefix(strings.ReplaceAll(name, "(anonymous namespace)::", ""), "void ")
}

// OwnName takes away what nvcc puts in front of a static kernel's name under -rdc, where names of
// several files meet: __nv_static_25__a579f572_4_a_cu_745c4948__Z4axpyPfS_i is _Z4axpyPfS_i (11.8
// to 13.5).
func OwnName(mangled string) string {
	rest, ok := strings.CutPrefix(mangled, markStatic)
	if !ok {
		return mangled
	}
	n, digits := leadingNumber(rest)
	if digits == 0 || digits+1+n >= len(rest) || rest[digits] != '_' {
		return mangled
	}
	if name := strings.TrimPrefix(rest[digits+1+n:], "_"); name != "" {
		return name
	}
	return mangled
}
