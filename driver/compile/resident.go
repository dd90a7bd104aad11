package compile

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/rewrite/source"
	"gnvcc/sim/cubin"
)

// Launches whose blocks must all be resident (cooperative ones, clusters): who asks for them, as
// far as the unit's host code tells.

// resident says why an entry that takes more than nvcc's own code could make a launch of its file
// fail, "" where it takes no more, or none of the file's launches needs many blocks at a time.
func (b *Workbench) resident(t *cache.Translation, was cache.Kernel, now cubin.Kernel) string {
	if now.Registers <= was.Registers && now.Shared <= was.Shared {
		return ""
	}
	if b.AllResident != "" || t == nil {
		return b.AllResident
	}
	unit, err := b.unit(t.Input)
	if err != nil {
		return ""
	}
	return asks(unit.Resident())
}

// asks is the reason as text, "" where no launch is found.
func asks(name string) string {
	if name == "" {
		return ""
	}
	return "the file asks for launches whose blocks are all resident: " + name
}

// HostResident says, by the host code that belongs to a PTX, why launches of its file need many
// resident blocks. That code is there in builds from CUDA 12 on, where cudafe++ runs before ptxas;
// "": it is not, or asks for none.
func HostResident(ptxFile string) string {
	literal := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`) // for Glob
	dir, name := filepath.Split(literal.Replace(strings.TrimSuffix(ptxFile, ".ptx")))
	name = numbered().ReplaceAllString(targeted().ReplaceAllString(name, ""), "$1*_")
	files, _ := filepath.Glob(dir + name + "*.cudafe1.cpp")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			if why := asks(source.HostResident(text)); why != "" {
				return why
			}
		}
	}
	return ""
}

// In nvcc's names of its files (tmpxft_1_2-7_k.compute_80.ptx) only the unit's is common to all
// targets.
var (
	numbered = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(tmpxft_\w+-)\d+_`)
	})
	targeted = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\.compute_\w+$`)
	})
)
