package environment

import (
	"os"
	"sort"
	"strings"
)

// The variables of the environment: those that users set for gnvcc, those that the face sets for its stages, and
// those that a compile depends on.

// What users set. GNVCC_STORE is the store's (cache.Dir), GNVCC_NVCC is read in driver/toolkit.
const (
	Nvcc    = "GNVCC_NVCC"   // the real nvcc
	Off     = "GNVCC_OFF"    // not empty and not 0: nvcc itself
	Strict  = "GNVCC_STRICT" // not empty and not 0: a failure on our side is an error
	KeepIn  = "GNVCC_KEEP"   // a folder that gets every file between the steps
	LogFile = "GNVCC_LOG"    // a file that is told what was done, and why not
	Lock    = "GNVCC_LOCK"   // a lock file, absolute: builds go by it alone; "0": by none
	Device  = "GNVCC_DEVICE" // a part of the name of the GPU that is built for, where several were measured on
	Verify  = "GNVCC_VERIFY" // not empty and not 0: what was kept of a tool is compared with what it writes now

	Predict = "GNVCC_PREDICT" // not empty and not 0: recipes that were foretold are built with, where nothing was decided
)

// What the face tells its stages, through nvcc.
const (
	StageFile = "GNVCC_STAGE"   // path of the gnvcc that is to be the stage; the prefix names it so, since a variable survives every path
	Command   = "GNVCC_COMMAND" // hash of the command, an object in the store; empty where it could not be kept
	Chain     = "GNVCC_CHAIN"   // what was run in nvcc's place so far, against finding oneself for ever (driver/toolkit)
	Depth     = "GNVCC_DEPTH"   // how many faces stand above
)

// What gnvcc apply tells the builds that it runs.
const (
	Apply = "GNVCC_APPLY" // the folder of an apply's run (driver/again)
	Reuse = "GNVCC_REUSE" // not empty and not 0: what was kept of a tool may be taken in place of running it
	Stop  = "GNVCC_STOP"  // not empty and not 0: a command that is tried; it ends before the host compiler
)

// On tells whether a switch is set.
func On(name string) bool { return IsOn(os.Getenv(name)) }

// IsOn tells whether a switch with this value is set.
func IsOn(value string) bool { return value != "" && value != "0" }

// compileVariables are the variables that decide what a compile gives: kept with the command, and set again when the
// command is run again (driver/apply). A name that ends in * stands for all that begin so. The sources are nvcc's manual
// (NVCC_*, nvcc.profile's PATH and LD_LIBRARY_PATH), GCC's ("Environment Variables Affecting GCC") and ld's; the wrappers of Open MPI, MPICH, Intel MPI,
// Nix, Cray and Spack say theirs. The whole environment is not kept, for there are passwords in it: where a variable that is not kept makes
// a difference, what apply builds is not what is there, and it leaves that alone.
var compileVariables = []string{
	"PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "LD_RUN_PATH", "LD_PRELOAD",
	"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "INCLUDES", "SYSTEM_INCLUDES",
	"GCC_EXEC_PREFIX", "COMPILER_PATH", "GCC_COMPARE_DEBUG", "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES", "SOURCE_DATE_EPOCH",
	"NVCC_*", "NVVM_*", "NVVMIR_LIBRARY_DIR", "CICC_PATH", "CUDAFE_FLAGS", "PTXAS_FLAGS", "LIBRARIES",
	"CUDA*", "CC", "CXX", "TMPDIR", "LANG", "LANGUAGE", "LC_*", "HOME",
	"CONDA_PREFIX", "CONDA_BUILD_SYSROOT", "SDKROOT", "CCACHE_*", "SCCACHE_*",
	"OMPI_*", "OPAL_*", "MPICH_*", "I_MPI_*", "NIX_*", "CRAY*", "PE_*", "SPACK_*", "DISTCC_*", "ICECC*", "COLLECT_*",
	"CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "AR", "AS", "LD",
	Nvcc, Device, Predict, Lock,
}

// secretMarks stand in names of variables of the kinds above that may hold a password or a key: SCCACHE_WEBDAV_TOKEN,
// CCACHE_REMOTE_STORAGE (a URL with one), NIX_CONFIG (access-tokens). They are never kept; a command that is run again sees
// the present ones.
var secretMarks = []string{
	"TOKEN", "SECRET", "PASSW", "CREDENTIAL", "_KEY", "REMOTE_STORAGE", "SECONDARY_STORAGE", "REDIS", "MEMCACHED", "WEBDAV", "NIX_CONFIG",
}

// isCompileVariable tells whether a variable is kept with a command.
func isCompileVariable(name string) bool {
	for _, mark := range secretMarks {
		if strings.Contains(name, mark) {
			return false
		}
	}
	for _, pattern := range compileVariables {
		if start, ok := strings.CutSuffix(pattern, "*"); ok && strings.HasPrefix(name, start) || name == pattern {
			return true
		}
	}
	return false
}

// OfCompile picks the variables that a compile depends on, sorted, so that equal environments are equal.
func OfCompile(environ []string) []string {
	var kept []string
	for _, setting := range environ {
		if name, _, ok := strings.Cut(setting, "="); ok && isCompileVariable(name) {
			kept = append(kept, setting)
		}
	}
	sort.Strings(kept)
	return kept
}

// Restored is the environment for running a recorded command again: the recorded variables, and of the present
// environment what no compile depends on.
func Restored(recorded, present []string) []string {
	env := append([]string(nil), recorded...)
	for _, setting := range present {
		if name, _, ok := strings.Cut(setting, "="); ok && !isCompileVariable(name) {
			env = append(env, setting)
		}
	}
	return env
}

// With returns the environment with one variable set, every older setting of it removed.
func With(environ []string, name, value string) []string {
	out := Without(environ, name)
	return append(out, name+"="+value)
}

// Without returns the environment with some variables removed. The argument is not changed.
func Without(environ []string, names ...string) []string {
	out := make([]string, 0, len(environ)+2)
next:
	for _, setting := range environ {
		for _, name := range names {
			if strings.HasPrefix(setting, name) && strings.HasPrefix(setting[len(name):], "=") {
				continue next
			}
		}
		out = append(out, setting)
	}
	return out
}

// OfTool is the environment without what the face added.
func OfTool() []string {
	return Without(os.Environ(), StageFile, Command)
}
