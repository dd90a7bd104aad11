package config

// A kind says what a setting's value may be.
type kind int

const (
	aText     kind = iota
	aPath          // relative to the file's folder; ~/ is the home
	somePaths      // several, with colons between them
	aSwitch        // true or false
)

// A setting is a variable of gnvcc's that a file may set.
type setting struct {
	Key     string // "store"
	Value   string // how help writes its value: "DIR"
	What    string // what it is for
	Default string
	kind    kind
}

// Variable is its name in the environment.
func (s setting) Variable() string {
	upper := []byte(s.Key)
	for i, c := range upper {
		upper[i] = c - 'a' + 'A' // keys are lower case letters alone
	}
	return "GNVCC_" + string(upper)
}

// Settings are all of them, in the order of gnvcc help.
var Settings = []setting{
	{"nvcc", "PATH", "the real nvcc (else CUDA_HOME, CUDA_PATH, PATH, Python packages, /usr/local/cuda, install/toolkit's)",
		"found", aPath},
	{"store", "DIR", "where recipes are kept (else ~/.cache/gnvcc); MINE:THEIRS: shared stores behind it, read only",
		"~/.cache/gnvcc", somePaths},
	{"lock", "FILE", "build with the recipes of this lock file alone; 0: with no lock file", "none", aPath},
	{"device", "GPU", "build for this GPU (part of its name), if recipes were measured on several", "any", aText},
	{"predict", "1", "use predicted recipes (gnvcc predict --adopt) where none was measured", "off", aSwitch},
	{"maxsize", "5G", "size limit of the store; 0: none", "5G", aText},
	{"off", "1", "run nvcc unchanged", "off", aSwitch},
	{"keep", "DIR", "keep every intermediate file", "none", aPath},
	{"log", "FILE", "write what was done, and why nvcc was left alone", "none", aPath},
	{"strict", "1", "treat gnvcc's own failures as errors", "off", aSwitch},
}

// OfProjects are the settings that a project's file may have: what its builds depend on. Where
// things are written, and which programs are run, a file says that came with somebody's source for
// no one else.
var OfProjects = []string{"lock", "device", "predict", "off", "strict"}

func settingOf(key string) (setting, bool) {
	for _, s := range Settings {
		if s.Key == key {
			return s, true
		}
	}
	return setting{}, false
}
