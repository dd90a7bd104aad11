package compile

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/sim/cubin"
)

// Launches that fail where too few blocks are resident at a time: cooperative ones, which need the
// complete grid, and clusters. A kernel that is launched so need not show it, a barrier over the
// grid is one thing that it may do; the file's host code shows it.

// together are the names by which host code asks for such launches.
var together = map[string]bool{"cudaLaunchCooperativeKernel": true,
	"cudaLaunchCooperativeKernelMultiDevice": true, "cudaLaunchAttributeCooperative": true,
	"cudaLaunchAttributeClusterDimension": true, "cuLaunchCooperativeKernel": true,
	"cuLaunchCooperativeKernelMultiDevice": true, "CU_LAUNCH_ATTRIBUTE_COOPERATIVE": true,
	"CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION":               true,
	"cudaFuncAttributeNonPortableClusterSizeAllowed":      true,
	"CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED": true,
	"cudaLaunchAttributePreferredClusterDimension":        true,
	"CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION":     true}

// resident says why an entry that takes more than nvcc's own code could make a launch of its file
// fail, "" where it takes no more, or none of the file's launches needs many blocks at a time.
func (b *Workbench) resident(t *cache.Translation, was cache.Kernel, now cubin.Kernel) string {
	if now.Registers <= was.Registers && now.Shared <= was.Shared {
		return ""
	}
	if b.AllResident != "" || t == nil {
		return b.AllResident
	}
	return asks(t.Resident)
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
			if why := asks(Resident(text)); why != "" {
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

// Resident gives the name by which preprocessed code asks for launches that need many blocks to be
// resident at a time, "" where it doesn't. Which kernels it launches so isn't known: names go
// through pointers and templates. What stands in the toolkit's own headers, in cuda_runtime_api.h's
// folder and below, asks for nothing.
func Resident(text []byte) string {
	own := ""
	if at := bytes.Index(text, []byte("/cuda_runtime_api.h\"")); at >= 0 {
		if file := fileAt(text, at+len("/cuda_runtime_api.h\"")); file != "" {
			own = filepath.Dir(file) + "/"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(together)) {
		for at := 0; ; at++ {
			n := bytes.Index(text[at:], []byte(name))
			if n < 0 {
				break
			}
			at += n
			if end := at + len(name); at > 0 && inName(text[at-1]) ||
				end < len(text) && inName(text[end]) {
				continue // a part of another name
			}
			if file := fileAt(text, at); own == "" || !strings.HasPrefix(file, own) {
				return name
			}
		}
	}
	return ""
}

var fileMark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^# \d+ "([^"]*)"`)
})

// fileAt is the file that a place of preprocessed text comes from, "" where no line says so.
func fileAt(text []byte, at int) string {
	for at > 0 {
		if at = bytes.LastIndex(text[:at], []byte("# ")); at < 0 {
			return ""
		}
		if m := fileMark().FindSubmatch(text[at:min(len(text), at+4096)]); m != nil &&
			(at == 0 || text[at-1] == '\n') {
			return filepath.Clean(string(m[1]))
		}
	}
	return ""
}

// inName reports whether a character may stand in an identifier.
func inName(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
