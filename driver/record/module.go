package record

import (
	"slices"

	"gnvcc/cache"
)

// Module ids. nvcc's front end names static symbols, unnamed namespaces and what stands in headers
// by an id of the translation unit. Where a file exports something the id is made from that. Where
// it does not (instances of templates and static kernels only) it ends in the number of the
// process that made it up, which is another one at each build: so are then the names, the PTX, the
// cubin, and nothing that was kept of the last build would ever be found again. So a build notes
// such an id, and who compiles the same text by the same command gives it to the tool again
// (driver/stage/module.go): in its names, too, the same comes out of the same.
//
// Ids stay apart as nvcc's own do, but for two objects that one command makes of one text, and
// that are then linked with each other (docs/limits.md). What another command compiles, or another
// text, has the number of a process of its own. The text is what the tool that makes the id up has
// read: from 12.4 on the host's, which code below #ifdef __CUDA_ARCH__ is no part of.

// A Module is an id that ends in the number of a process, and what it was made up for.
type Module struct {
	Source string // the user's file
	Text   string // hash of the preprocessed code that the tool has read
	ID     string
	Host   bool // cudafe++ made it up, of host code; else cicc did
}

// memoModules keeps the last ones by the command.
const memoModules cache.Memos[[]Module] = "module"

// maxModules is how many are kept of a source: a text that comes back (an edit undone, another
// branch) has its names again.
const maxModules = 8

// Modules are the ids of a command, the oldest first.
func Modules(store *cache.Store, command string) []Module {
	if command == "" {
		return nil
	}
	list, _ := memoModules.Get(store, command)
	return list
}

// KeepModule keeps an id. Of two processes that do so at a time one may be forgotten: its source
// has a new id once more.
func KeepModule(store *cache.Store, command string, m Module) error {
	list := Modules(store, command)
	list = slices.DeleteFunc(list, func(old Module) bool {
		return old.Source == m.Source && old.Text == m.Text && old.Host == m.Host
	})
	of := 1
	for _, old := range list {
		if old.Source == m.Source {
			of++
		}
	}
	if of > maxModules {
		first := slices.IndexFunc(list, func(old Module) bool { return old.Source == m.Source })
		list = slices.Delete(list, first, first+1)
	}
	return memoModules.Put(store, command, append(list, m))
}

// HostModules tells whether cudafe++ makes up such ids for a command.
func HostModules(store *cache.Store, command string) bool {
	return slices.ContainsFunc(Modules(store, command), func(m Module) bool { return m.Host })
}
