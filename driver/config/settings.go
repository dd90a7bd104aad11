package config

// A Kind says what a setting's value may be.
type Kind int

const (
	Text   Kind = iota
	Path        // relative to the file's folder; ~/ is the home
	Paths       // several, with colons between them
	Switch      // true or false
)

// A Setting is a variable of gnvcc's that a file may set.
type Setting struct {
	Key     string // "store"
	Value   string // how help writes its value: "DIR"
	What    string // what it is for
	Default string
	Kind    Kind
}

// Variable is its name in the environment.
func (s Setting) Variable() string {
	upper := []byte(s.Key)
	for i, c := range upper {
		upper[i] = c - 'a' + 'A' // keys are lower case letters alone
	}
	return "GNVCC_" + string(upper)
}

// Settings are all of them, in the order of gnvcc help.
var Settings = []Setting{
	{"nvcc", "PATH", "the real nvcc (else CUDA_HOME, CUDA_PATH, PATH, Python packages, /usr/local/cuda, install/toolkit's)",
		"found", Path},
	{"store", "DIR", "where recipes are kept (else ~/.cache/gnvcc); MINE:THEIRS: those of others behind, read only",
		"~/.cache/gnvcc", Paths},
	{"lock", "FILE", "build with the recipes of this lock file alone; 0: with no lock file", "none", Path},
	{"device", "GPU", "build for this one (a part of its name), where several were measured on", "any", Text},
	{"launcher", "sccache", "the tuner compiles candidates below this program, where cores are few", "none",
		Text},
	{"predict", "1", "take recipes that gnvcc predict --adopt keeps, where nothing was decided", "off", Switch},
	{"maxsize", "5G", "size limit of the store; 0: none", "5G", Text},
	{"off", "1", "be nvcc, and nothing else", "off", Switch},
	{"keep", "DIR", "keep every file between nvcc's steps", "none", Path},
	{"log", "FILE", "note what was done, and why gnvcc stepped aside", "none", Path},
	{"verify", "1", "recompute what could be taken from the store, and compare", "off", Switch},
	{"strict", "1", "treat gnvcc's own failures as errors", "off", Switch},
}

// ofProjects are the settings that a project's file may have: what its builds depend on. Where
// things are written, and which programs are run, a file says that came with somebody's source for
// nobody else.
var ofProjects = []string{"lock", "device", "predict", "off", "verify", "strict"}

func settingOf(key string) (Setting, bool) {
	for _, s := range Settings {
		if s.Key == key {
			return s, true
		}
	}
	return Setting{}, false
}
