package rewrite

import (
	"fmt"
	"strings"

	"gnvcc/rewrite/recipe"
)

// Flags: the lever "ptxas". A flag of ptxas holds for every kernel of the file, so it is taken only
// where all want it.

// ptxasFlags are the flags that a recipe may hold, with what may stand behind '='. They change how
// ptxas optimises, nothing else: no target, no file, no semantics (-fmad, -opt-fp-atomics), no
// register bound (that is maxnreg's).
var ptxasFlags = []struct {
	name   string
	values []string // nil: none is taken; "#": the hash of a file's content
}{
	{"-O0", nil}, {"-O1", nil}, {"-O2", nil}, {"-O3", nil},
	{"--opt-level", []string{"0", "1", "2", "3"}},
	{"--register-usage-level", []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}},
	{"--allow-expensive-optimizations", []string{"true", "false"}},
	{"--dont-merge-basicblocks", nil},
	{"--disable-optimizer-constants", nil},
	{Controls, []string{"#"}},
}

// Controls is ptxas' flag for an Advanced Controls File of the user's (ptxas 13.3 and later). A
// recipe names the file by the hash of its content, 64 hexadecimal digits: a file that changes,
// moves or goes can't make a recipe mean something else.
const Controls = "--apply-controls"

func isHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// Flags returns the flags of ptxas for a file of `all` kernels, of which these are the recipes
// (those without one may be left out). It is an error if one kernel wants a flag that another
// doesn't.
func Flags(recipes []recipe.Recipe, all int) ([]string, error) {
	var text string
	wanting := 0
	for _, r := range recipes {
		f := At(r, Flag)
		if f.IsDefault() {
			continue
		}
		if wanting++; wanting == 1 {
			text = f.String()
		} else if f.String() != text {
			return nil,
				fmt.Errorf("ptxas flags hold for a whole file, and its kernels want different ones: %s and %s",
					text, f)
		}
	}
	if wanting == 0 {
		return nil, nil
	}
	if wanting < all {
		return nil, fmt.Errorf("ptxas flags hold for a whole file: %s is wanted by %d of its %d kernels",
			text, wanting, all)
	}
	for _, r := range recipes {
		if value, ok := r.Get("ptxas", ""); ok {
			return parseFlags(value)
		}
	}
	return nil, fmt.Errorf("%s takes no site", text)
}

// parseFlags reads the value of a ptxas term: flags with commas between them.
func parseFlags(value string) ([]string, error) {
	flags := strings.Split(value, ",")
	for _, flag := range flags {
		if err := checkFlag(flag); err != nil {
			return nil, err
		}
	}
	return flags, nil
}

func checkFlag(flag string) error {
	name, value, has := strings.Cut(flag, "=")
	for _, f := range ptxasFlags {
		if f.name != name {
			continue
		}
		if f.values == nil && !has {
			return nil
		}
		for _, v := range f.values {
			if has && (v == value || v == "#" && isHash(value)) {
				return nil
			}
		}
		return fmt.Errorf("ptxas flag %s: not with this value", flag)
	}
	return fmt.Errorf("ptxas flag %s is none that a recipe may hold", flag)
}
