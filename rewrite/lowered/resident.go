package lowered

import (
	"bytes"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Launches that fail where too few blocks are resident at a time: cooperative ones, which need the
// whole grid, and clusters. A kernel that is launched so need not show it, a barrier over the grid
// is one thing that it may do; the host's code shows it.

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

// HostResident gives the name by which host code asks for launches that need many blocks to be
// resident at a time, "" where it does not: host code as cudafe++ writes it, headers of all kinds included. What
// stands in the toolkit's own headers, beside cuda_runtime_api.h and below, asks for nothing.
func HostResident(text []byte) string {
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
			if end := at + len(name); at > 0 && wordByte(text[at-1]) ||
				end < len(text) && wordByte(text[end]) {
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
