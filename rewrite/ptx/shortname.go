package ptx

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxName bounds the names that are taken apart, bytes, as in rewrite/source.
const maxName = 1 << 15

// ShortName is a mangled name as people write it: template arguments, no return type, no
// parameters.
func ShortName(mangled string) string {
	if len(mangled) > maxName {
		return mangled // taking it apart is recursive
	}
	name, err := demangle.ToString(mangled, demangle.NoParams, demangle.NoEnclosingParams,
		demangle.NoClones)
	if err != nil {
		return mangled
	}
	// Instances of templates come with their return type, which a kernel does not need to tell: it is
	// void.
	return strings.TrimPrefix(strings.ReplaceAll(name, "(anonymous namespace)::", ""), "void ")
}
