package source

// Static shared arrays of a specialised kernel. Two copies of a body declare every array twice; in
// the PTX the second set
// has the same mangled names with a number behind:
//
//	.shared .align 4 .b8 _ZZ4tilePfPKfiiE3buf[1024];      first array called buf of the first copy
//	.shared .align 4 .b8 _ZZ4tilePfPKfiiE3buf_0[256];     second one called buf of the first copy
//	.shared .align 4 .b8 _ZZ4tilePfPKfiiE3buf_1[1024];    first one of the second copy
//
// A launch runs one copy only, since guards depend on nothing but the launch. So all copies may use
// the first one's arrays. Which array is which is computed from the default PTX (one copy) and from
// the plain copy, which is the last one, and is checked by size and alignment; where it does not
// come out even, nothing is merged and the recipe is refused: with twice the shared memory a launch
// could fail that would have worked.

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// A sharedArray is a static shared variable that stands in an entry.
type sharedArray struct {
	name        string
	base        string // without the number
	source      string // in the source: buf
	index       int    // _ZZ..E3buf is 0, _ZZ..E3buf_0 is 1
	size, align int
	stmt        int // its declaration
}

// MergeShared gives a variant's module in which the copies of the entry's body use one set of
// static shared arrays, that of the default module. terms are those that the variant was rewritten
// with. Both modules stay as they are; without copies, or without static arrays, the variant itself
// comes back.
func (u *Unit) MergeShared(entry string, terms []recipe.Term, dm,
	vm *ptx.Module) (*ptx.Module, error) {
	copies := 1
	for _, t := range terms {
		if t.IsSecond() {
			copies++
		}
	}
	if copies == 1 {
		return vm, nil
	}
	k, err := u.Kernel(entry)
	if err != nil {
		return nil, err
	}
	plain := vm
	vm = vm.Clone()
	de, ve := dm.Entry(entry), vm.Entry(entry)
	if de == nil || ve == nil {
		return nil, refuse(entry, "the default PTX or the variant's has no such entry")
	}
	declared := map[string]int{} // by source name; with if constexpr not all of them need be there
	for _, s := range k.survey.shared {
		if !s.dynamic {
			declared[s.name]++
		}
	}
	renames, drop, err := mergePlan(de, ve, vm, entry, copies, func(name string, each int) bool {
		return k.survey.ifs || declared[name] == each
	})
	if err != nil {
		return nil, err
	}
	if len(renames) == 0 {
		return plain, nil
	}
	for _, i := range drop {
		ve.Delete(i)
	}
	for _, s := range ve.Stmts {
		if s.Kind != ptx.Inst && s.Kind != ptx.Direction {
			continue
		}
		ve.Names(ptx.Span{Start: s.OpEnd, End: s.End}, func(n ptx.Span) bool {
			if to, ok := renames[string(ve.Bytes(n))]; ok {
				ve.ReplaceSpan(n, to)
			}
			return true
		})
	}
	if err := ve.Commit(); err != nil {
		return nil, fmt.Errorf("source: merging shared arrays of %s: %w", entry, err)
	}
	return vm, nil
}

// mergePlan says which names become which, and which declarations of ve go.
func mergePlan(de, ve *ptx.Func, vm *ptx.Module, entry string, copies int,
	asDeclared func(name string, each int) bool) (map[string]string, []int, error) {
	prefix := sharedPrefix(entry)
	was, err := sharedArrays(de, prefix)
	if err != nil {
		return nil, nil, err
	}
	is, err := sharedArrays(ve, prefix)
	if err != nil {
		return nil, nil, err
	}
	for _, g := range vm.Globals {
		if g.Space == "shared" && strings.HasPrefix(g.Name, prefix) {
			return nil, nil, refuse(entry, "its shared array %s stands outside the entry", g.Name)
		}
	}
	renames := map[string]string{}
	for base := range is {
		if len(was[base]) == 0 {
			return nil, nil, refuse(entry, "the variant has a shared array %s that the default has not",
				base)
		}
	}
	for base, old := range was {
		now := is[base]
		if len(now) == 0 {
			return nil, nil, refuse(entry, "the variant has lost its shared array %s", base)
		}
		// The plain copy is the default's code, so its last array is the default's last one, moved by the
		// arrays of the copies before it: so many arrays of that name does each copy have.
		shift := now[len(now)-1].index - old[len(old)-1].index
		if shift <= 0 || shift%(copies-1) != 0 {
			return nil, nil, refuse(entry, "its shared arrays called %s do not come out even", base)
		}
		each := shift / (copies - 1)
		if each <= old[len(old)-1].index || !asDeclared(old[0].source, each) {
			return nil, nil, refuse(entry,
				"its shared arrays called %s are not as many as the source declares", base)
		}
		byIndex := map[int]sharedArray{}
		for _, a := range old {
			byIndex[a.index] = a
		}
		plain := 0
		for _, a := range now {
			o, ok := byIndex[a.index%each]
			if !ok || a.index/each >= copies || o.size != a.size || o.align != a.align {
				return nil, nil, refuse(entry, "its shared array %s has no counterpart in the default", a.name)
			}
			if a.index/each == copies-1 {
				plain++
			}
			if a.name != o.name {
				renames[a.name] = o.name
			}
		}
		if plain != len(old) {
			return nil, nil, refuse(entry, "the plain copy has other shared arrays than the default")
		}
	}
	return renames, dropShared(ve, is, renames), nil
}

// dropShared is what mergePlan leaves out: of the declarations that stand for one array the first
// stays, under the default's name.
func dropShared(ve *ptx.Func, is map[string][]sharedArray, renames map[string]string) []int {
	var drop []int
	declared := map[string]bool{}
	for _, list := range is {
		for _, a := range list {
			if renames[a.name] == "" {
				declared[a.name] = true
			}
		}
	}
	for _, list := range is {
		for _, a := range list {
			to := renames[a.name]
			switch {
			case to == "":
			case declared[to]:
				drop = append(drop, a.stmt)
			default: // a specialised copy has no need of the array that the plain one has
				declared[to] = true
				s := ve.Stmts[a.stmt]
				ve.Names(ptx.Span{Start: s.OpEnd, End: s.End}, func(n ptx.Span) bool {
					if string(ve.Bytes(n)) == a.name {
						ve.ReplaceSpan(n, to)
					}
					return true
				})
			}
		}
	}
	return drop
}

// sharedPrefix is how the mangled names of an entry's local variables begin.
func sharedPrefix(entry string) string {
	name := stripStatic(entry)
	if rest, ok := strings.CutPrefix(name, "_Z"); ok {
		return "_ZZ" + rest + "E"
	}
	return fmt.Sprintf("_ZZ%d%sE", len(name), name)
}

// sharedArrays finds the static shared arrays in f whose names have that prefix, by base name, in
// the order of their numbers.
func sharedArrays(f *ptx.Func, prefix string) (map[string][]sharedArray, error) {
	found := map[string][]sharedArray{}
	for i, s := range f.Stmts {
		if s.Kind != ptx.Decl || string(f.Opcode(i)) != ".shared" {
			continue
		}
		vars, err := f.Declared(i)
		if err != nil {
			return nil, fmt.Errorf("source: %s: %w", f.Name, err)
		}
		for j := range vars {
			v := &vars[j]
			rest, ok := strings.CutPrefix(v.Name, prefix)
			if !ok { // of a device function that is inlined: the same for all copies
				continue
			}
			n, digits := 0, 0
			for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' && digits < 5 {
				n = n*10 + int(rest[digits]-'0')
				digits++
			}
			if digits == 0 || digits+n > len(rest) || len(vars) != 1 {
				return nil, refuse(f.Name, "the name of its shared array %s is not read", v.Name)
			}
			a := sharedArray{name: v.Name, base: prefix + rest[:digits+n], source: rest[digits : digits+n],
				size: v.Size(), align: v.Alignment(), stmt: i}
			if a.index, ok = discriminator(rest[digits+n:]); !ok {
				return nil, refuse(f.Name, "the name of its shared array %s is not read", v.Name)
			}
			found[a.base] = append(found[a.base], a)
		}
	}
	for _, list := range found {
		sort.Slice(list, func(i, j int) bool { return list[i].index < list[j].index })
	}
	return found, nil
}

// discriminator reads what the Itanium ABI puts behind the second and later local names: _0 to _9,
// __10_ and on.
func discriminator(s string) (int, bool) {
	if s == "" {
		return 0, true
	}
	if rest, ok := strings.CutPrefix(s, "__"); ok {
		digits, ok := strings.CutSuffix(rest, "_")
		n, err := strconv.Atoi(digits)
		return n + 1, ok && err == nil && n >= 10
	}
	if len(s) == 2 && s[0] == '_' && s[1] >= '0' && s[1] <= '9' {
		return int(s[1]-'0') + 1, true
	}
	return 0, false
}
