package source

// Types as far as values need them: is it an integer, a float, a pointer, a struct, and how wide.
// Three witnesses are asked: the text in the source, the entry's mangled name (which knows template
// arguments), the PTX signature (which knows widths). They must agree.

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// A Class is what kind of value a parameter or field holds.
type Class uint8

const (
	Unknown Class = iota
	Integer       // integers, bool, characters, enums
	Float
	Pointer
	Struct // anything passed as bytes
)

func (c Class) String() string {
	return [...]string{"unknown", "integer", "float", "pointer", "struct"}[c]
}

// A scalar is a type's class and width; sign is 's', 'u', or 0 where it isn't known.
type scalar struct {
	class Class
	bits  int // 0 unknown
	sign  byte
}

// wellKnown is what a name means that headers give to an arithmetic type on 64-bit Linux, the only
// host that is supported; "" for all others.
func wellKnown(name string) string {
	switch name {
	case "size_t", "uintptr_t", "uint64_t", "ulong":
		return "unsigned long"
	case "ssize_t", "ptrdiff_t", "intptr_t", "int64_t", "clock_t", "time_t":
		return "long"
	case "int8_t":
		return "signed char"
	case "uint8_t":
		return "unsigned char"
	case "int16_t":
		return "short"
	case "uint16_t", "ushort":
		return "unsigned short"
	case "int32_t":
		return "int"
	case "uint32_t", "uint":
		return "unsigned int"
	}
	return ""
}

// bases are the builtin types of one word. long double is not supported in device code as such.
var bases = map[string]scalar{"int": {Integer, 32, 's'}, "char": {Integer, 8, 's'},
	"float": {Float, 32, 0}, "double": {Float, 64, 0}, "bool": {Integer, 8, 'u'},
	"wchar_t": {Integer, 32, 's'}, "char8_t": {Integer, 8, 'u'}, "char16_t": {Integer, 16, 'u'},
	"char32_t": {Integer, 32, 'u'}, "__int128": {Unknown, 128, 's'}}

// builtin reads a type of builtin words, in any order, cv-qualifiers aside.
func builtin(text string) (scalar, bool) {
	bits, sign, base := 0, byte(0), ""
	for _, w := range strings.Fields(text) {
		switch w {
		case "const", "register", "__const":
		case "long":
			bits = 64
		case "short":
			bits = 16
		case "unsigned":
			sign = 'u'
		case "signed", "__signed__":
			sign = 's'
		default:
			if base != "" {
				return scalar{}, false
			}
			base = w
		}
	}
	if base == "" && (bits > 0 || sign != 0) {
		base = "int"
	}
	s, ok := bases[base]
	if bits > 0 {
		s.bits, ok = bits, ok && base == "int"
	}
	if sign != 0 {
		s.sign = sign
	}
	return s, ok
}

// fromText is the first witness. Class Unknown means that the text does not tell.
func (u *Unit) fromText(text string) scalar { return u.fromTextDepth(text, 0) }

func (u *Unit) fromTextDepth(text string, depth int) scalar {
	if strings.HasSuffix(text, "*") || strings.HasSuffix(text, "*const") ||
		strings.HasSuffix(text, "restrict__") ||
		strings.HasSuffix(text, "__restrict") {
		return scalar{Pointer, 64, 0}
	}
	if s, ok := builtin(text); ok {
		return s
	}
	words := strings.Fields(text)
	name := ""
	for _, w := range words {
		if w != "const" && w != "enum" && w != "struct" && w != "typename" {
			if name != "" {
				return scalar{}
			}
			name = w
		}
	}
	switch name {
	case "cudaTextureObject_t", "cudaSurfaceObject_t":
		return scalar{Integer, 64, 'u'}
	}
	if a, ok := u.aliases[name]; ok { // the user's own meaning goes first
		if a.many || depth > 8 {
			return scalar{}
		}
		return u.fromTextDepth(a.text, depth+1)
	}
	name = strings.TrimPrefix(strings.TrimPrefix(name, "::"), "std::")
	if text := wellKnown(name); text != "" && len(u.classes[name]) == 0 {
		s, _ := builtin(text)
		return s
	}
	return scalar{}
}

// fromMangled is the second witness: the type of the entry's argument.
func fromMangled(t demangle.AST) scalar {
	for {
		switch v := t.(type) {
		case *demangle.TypeWithQualifiers:
			t = v.Base
			continue
		case *demangle.TemplateParam:
			if v.Template == nil || v.Index >= len(v.Template.Args) {
				return scalar{}
			}
			t = v.Template.Args[v.Index]
			continue
		case *demangle.BuiltinType:
			s, _ := builtin(v.Name)
			return s
		case *demangle.PointerType:
			return scalar{Pointer, 64, 0}
		}
		return scalar{}
	}
}

// fromPTX is the third witness: a parameter of the entry, such as ".u32", ".f64", ".b8[24]",
// perhaps with ".align 8" before it. Newer compilers say .b32 for floats and integers alike.
func fromPTX(sig string) (scalar, int, error) {
	word := sig
	for _, w := range strings.Fields(sig) {
		if strings.HasPrefix(w, ".") && w != ".align" && w != ".param" && w != ".ptr" && w != ".space" {
			word = w
			break
		}
	}
	word = strings.TrimPrefix(word, ".")
	base, rest, array := strings.Cut(word, "[")
	if len(base) < 2 {
		return scalar{}, 0, fmt.Errorf("a parameter of type %q", sig)
	}
	bits, err := strconv.Atoi(base[1:])
	if err != nil || bits < 8 || bits > 128 {
		return scalar{}, 0, fmt.Errorf("a parameter of type %q", sig)
	}
	if array {
		n, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
		if err != nil || n < 0 {
			return scalar{}, 0, fmt.Errorf("a parameter of type %q", sig)
		}
		return scalar{Struct, 0, 0}, n * bits / 8, nil
	}
	switch base[0] {
	case 'f':
		return scalar{Float, bits, 0}, bits / 8, nil
	case 'u', 's':
		return scalar{Integer, bits, 0}, bits / 8, nil
	case 'b':
		return scalar{Unknown, bits, 0}, bits / 8, nil
	}
	return scalar{}, 0, fmt.Errorf("a parameter of type %q", sig)
}

// agree joins what the witnesses say; size is the parameter's in PTX, in bytes. hasPTX tells
// whether the signature was there to be asked. A scalar that is __grid_constant__ is bytes in PTX.
func agree(text, mangled, ptx scalar, size int, grid, hasPTX bool) (scalar, string) {
	s := text
	if s.class == Unknown {
		s = mangled
	} else if mangled.class != Unknown && (mangled.class != s.class || mangled.bits != s.bits) {
		return scalar{}, "its type in the source and in the entry's name differ"
	}
	if text.bits == 128 || mangled.bits == 128 {
		return scalar{}, "a 128-bit integer"
	}
	if !hasPTX {
		if s.class == Unknown {
			return scalar{}, "its type is not known without the PTX signature"
		}
		return s, ""
	}
	if s.class == Unknown { // an enum, a struct, a type of another header
		switch ptx.class {
		case Integer:
			return scalar{Integer, ptx.bits, 0}, ""
		case Float:
			return ptx, ""
		case Struct:
			return ptx, ""
		}
		// .b32 of a named type: enums and nothing else are scalars there, since floats are known by name.
		// A type from a header could be a float all the same.
		return scalar{}, "its type is not known"
	}
	if grid && ptx.class == Struct && size*8 == s.bits {
		return s, ""
	}
	if ptx.class == Struct || ptx.bits != s.bits || ptx.class == Float && s.class != Float ||
		ptx.class == Integer && s.class == Float {
		return scalar{}, "its type in the source and in the PTX differ"
	}
	return s, ""
}
