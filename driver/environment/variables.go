package environment

import (
	"os"
	"slices"
	"strings"
)

// The names of variables: those that users set for gnvcc, those that gnvcc sets for gnvcc, and
// those that a compile depends on.

// What users set. GNVCC_STORE is the store's (cache.Dir).
const (
	nvcc    = "GNVCC_NVCC"
	off     = "GNVCC_OFF"
	strict  = "GNVCC_STRICT"
	keepIn  = "GNVCC_KEEP"
	logFile = "GNVCC_LOG"
	lock    = "GNVCC_LOCK"
	device  = "GNVCC_DEVICE"
	predict = "GNVCC_PREDICT"
	// Toolkits is the folder of installed toolkits, where it is not install/toolkit's.
	Toolkits = "GNVCC_TOOLKITS"
)

// Unknown lists the variables that look like ours and are none: misspelled, or of another version.
func Unknown() (names []string) {
	known := []string{nvcc, off, strict, keepIn, logFile, lock, device, predict, Toolkits, "GNVCC_STORE", "GNVCC_MAXSIZE", Stage,
		command, chain, depth, cached, Filed, apply, reuse, stop}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GNVCC_") && !slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	return names
}

// What the face hands its stages, through nvcc.
const (
	// Stage is the path of the gnvcc that is to be the stage; the prefix names it so, since a
	// variable survives every path.
	Stage   = "GNVCC_STAGE"
	command = "GNVCC_COMMAND"
	chain   = "GNVCC_CHAIN"
	depth   = "GNVCC_DEPTH"
	cached  = "GNVCC_CACHED"
	// Filed names the variables that files of settings have set (driver/config), with commas between
	// them. They are not kept with a command: files may say otherwise when it is run again.
	Filed = "GNVCC_FILED"
)

// What gnvcc apply hands the builds that it runs.
const (
	apply = "GNVCC_APPLY"
	reuse = "GNVCC_REUSE"
	stop  = "GNVCC_STOP"
)

// compileVariables are the variables that decide what a compile gives: kept with the command, and
// set again when the command is run again (driver/apply). A name that ends in * stands for all that
// begin so. The sources are nvcc's manual (NVCC_*, nvcc.profile's PATH and LD_LIBRARY_PATH), GCC's
// ("Environment Variables Affecting GCC") and ld's; the wrappers of Open MPI, MPICH, Intel MPI,
// Nix, Cray and Spack say theirs. The environment is not kept as it is, for there are passwords in it:
// where a variable that is not kept makes a difference, what apply builds is not what is there, and
// it leaves that alone.
var compileVariables = []string{
	"PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "LD_RUN_PATH", "LD_PRELOAD",
	"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "INCLUDES",
	"SYSTEM_INCLUDES",
	"GCC_EXEC_PREFIX", "COMPILER_PATH", "GCC_COMPARE_DEBUG", "DEPENDENCIES_OUTPUT",
	"SUNPRO_DEPENDENCIES", "SOURCE_DATE_EPOCH",
	"NVCC_*", "NVVM_*", "NVVMIR_LIBRARY_DIR", "CICC_PATH", "CUDAFE_FLAGS", "PTXAS_FLAGS", "LIBRARIES",
	"CUDA*", "CC", "CXX", "TMPDIR", "LANG", "LANGUAGE", "LC_*", "HOME",
	"CONDA_PREFIX", "CONDA_BUILD_SYSROOT", "SDKROOT", "CCACHE_*", "SCCACHE_*",
	"OMPI_*", "OPAL_*", "MPICH_*", "I_MPI_*", "NIX_*", "CRAY*", "PE_*", "SPACK_*", "DISTCC_*",
	"ICECC*", "COLLECT_*",
	"CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "AR", "AS", "LD",
	nvcc, device, predict, lock,
}

// secretMarks stand in names of variables of the kinds above that may hold a password or a key:
// SCCACHE_WEBDAV_TOKEN, CCACHE_REMOTE_STORAGE (a URL with one), NIX_CONFIG (access-tokens). They
// are never kept; a command that is run again sees the present ones.
var secretMarks = []string{
	"TOKEN", "SECRET", "PASSW", "CREDENTIAL", "_KEY", "REMOTE_STORAGE", "SECONDARY_STORAGE", "REDIS",
	"MEMCACHED", "WEBDAV", "NIX_CONFIG",
}

// isCompileVariable reports whether a variable is kept with a command.
func isCompileVariable(name string) bool {
	for _, mark := range secretMarks {
		if strings.Contains(name, mark) {
			return false
		}
	}
	for _, pattern := range compileVariables {
		if start, ok := strings.CutSuffix(pattern, "*"); ok && strings.HasPrefix(name, start) ||
			name == pattern {
			return true
		}
	}
	return false
}
