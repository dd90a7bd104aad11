package record

import (
	"bytes"
	"maps"

	"gnvcc/cache"
)

// Module ids. nvcc's front end names static symbols, unnamed namespaces and what stands in headers
// by an id of the translation unit. Where a file exports something the id is made from that. Where
// it does not (instances of templates and static kernels only) it ends in the number of the process
// that made it up, and each build would have names of its own. So a command's next build has the id
// of the last one.

// memoModules keeps the ids that end in a process' number, by command and source file.
const memoModules cache.Memos[map[string]string] = "module"

// Modules are a command's ids by source file, none for most commands.
func Modules(store *cache.Store, command string) map[string]string {
	if command == "" {
		return nil
	}
	ids, _ := memoModules.Get(store, command)
	return ids
}

// KeepModule keeps an id for a command's next build.
func KeepModule(store *cache.Store, command, source, id string) error {
	ids := Modules(store, command)
	if command == "" || ids[source] == id {
		return nil
	}
	ids = maps.Clone(ids)
	if ids == nil {
		ids = map[string]string{}
	}
	ids[source] = id
	return memoModules.Put(store, command, ids)
}

// maxBearer is the largest file that is searched for an id, bytes.
const maxBearer = 256 << 20

// Bears reports whether a file that a command is about to write over bears an id. Of two objects
// with one id the linker takes only one ("multiple definition", and with -rdc=true "redefinition"):
// one that was moved away keeps it for itself.
func Bears(store *cache.Store, command, id string) bool {
	c, err := LoadCommand(store, command)
	if err != nil {
		return false
	}
	for _, path := range Writes(c) {
		content, err := cache.ReadRegular(path, maxBearer)
		if err == nil && bytes.Contains(content, []byte(id)) {
			return true
		}
	}
	return false
}
