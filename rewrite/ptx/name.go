package ptx

// Names that the compiler makes up. A variable or function of internal linkage gets a name that
// holds a hash of the file's path, the file's name, and, where the file exports nothing, even the
// name of its first kernel or the number of cudafe++'s process, another one in each compile (looked
// at: nvcc 12.4, 13.0, 13.5):
//
//	_ZN43_INTERNAL_72df0a26_12_templates_cu_b8db29f545_GLOBAL__N__72df0a26_12_templates_cu_b8db29f56hiddenE
//	_ZN32_INTERNAL_c10822b0_4_a_cu__Z1kPf34_GLOBAL__N__c10822b0_4_a_cu__Z1kPf6hiddenE
//	_ZN40_INTERNAL_a47ef1fa_5_s3_cu_ef5c5f41_80753lib5otherE
//	__nv_static_34__72df0a26_12_templates_cu_b8db29f5_counter        (-rdc=true)
//
// The length in front (Itanium mangling: a name's length and the name) shows exactly where such a
// part ends.

import (
	"bytes"
	"strings"
)

const (
	markInternal  = "_INTERNAL_"
	markAnonymous = "_GLOBAL__N_"
	markStatic    = "__nv_static_"
)

// StableName takes what depends on the file out of a name. Other names come back as they are.
func StableName(name string) string {
	if !strings.Contains(name, markInternal) && !strings.Contains(name, markAnonymous) &&
		!strings.HasPrefix(name, markStatic) {
		return name
	}
	var out strings.Builder
	if rest, ok := strings.CutPrefix(name, markStatic); ok {
		if n, digits := leadingNumber(rest); digits > 0 && digits+1+n < len(rest) && rest[digits] == '_' {
			out.WriteString(markStatic)
			name = rest[digits+1+n:]
		}
	}
	for name != "" {
		n, digits := leadingNumber(name)
		if digits == 0 {
			out.WriteByte(name[0])
			name = name[1:]
			continue
		}
		part := name[digits:]
		// A length may follow digits that belong to what is in front (L_3 12name): try shorter ones too.
		for digits > 1 && (n > len(part) || !marked(part)) {
			out.WriteByte(name[0])
			name = name[1:]
			n, digits = leadingNumber(name)
			part = name[digits:]
		}
		if n <= len(part) && marked(part) {
			mark := markInternal
			if strings.HasPrefix(part, markAnonymous) {
				mark = markAnonymous
			}
			out.WriteString(mark)
			name = part[n:]
			continue
		}
		out.WriteString(name[:digits])
		name = part
	}
	return out.String()
}

func marked(s string) bool {
	return strings.HasPrefix(s, markInternal) || strings.HasPrefix(s, markAnonymous)
}

func leadingNumber(s string) (n, digits int) {
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' && digits < 6 {
		n = n*10 + int(s[digits]-'0')
		digits++
	}
	return n, digits
}

// isText reports whether a variable is a string literal that the compiler named: $str, $str$3,
// __unnamed_2. They are numbered over the file, and hold what printf prints or the file's path for
// assert.
func isText(g *Global) bool {
	return g.Space == "global" && g.Type == "b8" && g.Alignment() == 1 &&
		(strings.HasPrefix(g.Name, "$str") || strings.HasPrefix(g.Name, "__unnamed_"))
}

// isDebugLabel reports labels that only debug information refers to.
func isDebugLabel(name []byte) bool {
	return bytes.HasPrefix(name, []byte("$L__tmp")) || bytes.HasPrefix(name, []byte("$L__func_"))
}
