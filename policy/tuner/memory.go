package tuner

import (
	"os"

	"gnvcc/driver/scratch"
	"gnvcc/profile/capture"
)

// Captures on their way into the store and out of it are gigabytes that are written once and read
// once or twice: in memory where there is much of it.

// A memoryFolder is a folder in memory, or none.
type memoryFolder struct{ folder *scratch.Folder }

// newMemoryFolder makes one, unless the user has named a place for temporary files. What killed
// processes have left in memory is removed in any case.
func newMemoryFolder() memoryFolder {
	scratch.Sweep("/dev/shm")
	if os.Getenv("TMPDIR") != "" {
		return memoryFolder{}
	}
	s, err := scratch.Unswept("/dev/shm")
	if err != nil {
		return memoryFolder{}
	}
	return memoryFolder{s}
}

// For gives the folder where so many bytes are no more than a quarter of what is free, of it and of
// the memory, else "".
func (f memoryFolder) For(bytes int64) string {
	if f.folder == nil || bytes > capture.Room(f.folder.Path)/4 {
		return ""
	}
	return f.folder.Path
}

// Remove removes it with all that is in it.
func (f memoryFolder) Remove() {
	if f.folder != nil {
		f.folder.Remove()
	}
}
