package standing

import (
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/record"
)

// Which build asks for a recipe. An approximate decision belongs to the files that the tuned
// program was built from: it is taken where one of these is built again, and nowhere else. Such a
// file is named by its path, with symbolic links followed. A cache in front of a build gives what
// was built for one file to another one: below it no file is one of these.

// An asker is a build that looks recipes up: what it writes, and the GPU that it is for.
type asker struct {
	files  func() []string // what the command writes; asked for only where it matters
	device string          // GNVCC_DEVICE, "" if it is not set

	predicted bool // GNVCC_PREDICT: recipes that were predicted may be taken
}

// AskerOf is the asker for a recorded command; env is the build's.
func AskerOf(store *cache.Store, command string, env *environment.Environment) asker {
	return asker{device: env.Device, predicted: env.Predict, files: sync.OnceValue(func() []string {
		c, err := record.LoadCommand(store, command)
		if err != nil || env.Shared {
			return nil
		}
		return record.Writes(c)
	})}
}

// covered tells whether a build is one of those that a decision is for.
func (a asker) covered(list []string) bool {
	for _, file := range a.files() {
		for _, of := range list {
			if of == file || strings.HasSuffix(of, "/") && strings.HasPrefix(file, of) {
				return true
			}
		}
	}
	return false
}
