package standing

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
)

func TestStanding(t *testing.T) {
	const h100, h200, pcie = "NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA H100 PCIe"
	alone := drivertest.Seen(h200, "", 9)
	alone.Evidence.Launches = nil
	taken := drivertest.Approximated(h200, "", 9, "/a/k.o")
	unsaid := drivertest.Seen(h200, "approx=all", 9) // by hand: nothing says that it approximates
	for name, c := range map[string]struct {
		all    []cache.Decision
		device string   // GNVCC_DEVICE
		here   []string // GPUs
		file   string
		want   string
	}{
		"one": {[]cache.Decision{drivertest.Seen(h200, "maxnreg=40",
			1)}, "", nil, "/b/k.o", "maxnreg=40"},
		"one, of another GPU than is here": {[]cache.Decision{drivertest.Seen(h200, "maxnreg=40",
			1)}, "", []string{"Quadro"}, "/b/k.o", "maxnreg=40"},
		"one, of another GPU than is asked for": {[]cache.Decision{drivertest.Seen(h200, "maxnreg=40",
			1)}, "H100", nil, "/b/k.o", ""},
		"the newest": {[]cache.Decision{drivertest.Seen(h200, "maxnreg=40",
			2), drivertest.Seen(h100, "maxnreg=48", 1)}, "", nil, "/b/k.o", "maxnreg=40"},
		"the newest measured": {[]cache.Decision{alone,
			drivertest.Seen(h100, "maxnreg=48", 1)}, "", nil, "/b/k.o", "maxnreg=48"},
		"what is here": {[]cache.Decision{drivertest.Seen(h200, "maxnreg=40",
			2), drivertest.Seen(h100, "maxnreg=48", 1)}, "", []string{"Quadro", h100}, "/b/k.o",
			"maxnreg=48"},
		"here, nvcc's own is best": {[]cache.Decision{drivertest.Seen(h200, "maxnreg=40",
			2), drivertest.Seen(h100, "", 1)}, "", []string{h100}, "/b/k.o", ""},
		"what is asked for": {[]cache.Decision{drivertest.Seen(h200, "maxnreg=40",
			1), drivertest.Seen(h100, "maxnreg=48", 2)}, "h200", []string{h100}, "/b/k.o", "maxnreg=40"},
		"two are asked for: the newer": {[]cache.Decision{drivertest.Seen(pcie, "maxnreg=56",
			3), drivertest.Seen(h100, "maxnreg=48", 2), drivertest.Seen(h200, "maxnreg=40", 4)}, "H100", nil,
			"/b/k.o", "maxnreg=56"},
		"approximate, for another build": {[]cache.Decision{drivertest.Approximated(h200,
			"approx=all", 2, "/a/k.o")}, "", nil, "/b/k.o", ""},
		"approximate, for this build": {[]cache.Decision{drivertest.Approximated(h200,
			"approx=all", 2, "/a/k.o")}, "", nil, "/a/k.o", "approx=all"},
		"approximate, for nobody known": {[]cache.Decision{drivertest.Approximated(h200,
			"approx=all", 2)}, "", nil, "/a/k.o", ""},
		"approximate, unsaid": {[]cache.Decision{unsaid}, "", nil, "/a/k.o", ""},
		"beside an exact one": {[]cache.Decision{drivertest.Approximated(h200,
			"approx=all", 1, "/a/k.o"), drivertest.Seen(h200, "maxnreg=40", 2)}, "", nil, "/a/k.o",
			"approx=all"},
		"beside an exact one, for another build": {[]cache.Decision{drivertest.Approximated(h200,
			"approx=all", 3, "/a/k.o"), drivertest.Seen(h200, "maxnreg=40", 2)}, "", nil, "/b/k.o",
			"maxnreg=40"},
		"two builds, two bounds": {[]cache.Decision{drivertest.Approximated(h200, "approx=all",
			1, "/a/k.o"), drivertest.Approximated(h200, "approx=div", 2, "/b/k.o")}, "", nil, "/a/k.o",
			"approx=all"},
		"taken back": {[]cache.Decision{drivertest.Approximated(h200, "approx=all",
			1, "/a/k.o"), drivertest.Seen(h200, "maxnreg=40", 2), taken}, "", nil, "/a/k.o", "maxnreg=40"},
		"for a folder": {[]cache.Decision{drivertest.Approximated(h200, "approx=all",
			1, "/a/")}, "", nil, "/a/b/k.o", "approx=all"},
		"for a folder of nearly that name": {[]cache.Decision{drivertest.Approximated(h200, "approx=all",
			1, "/a/")}, "", nil, "/ab/k.o", ""},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := cache.Open(filepath.Join(t.TempDir(), "store"))
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			old := gpuFolder
			gpuFolder = folder
			defer func() { gpuFolder = old }()
			for i, name := range c.here {
				dir := filepath.Join(folder, string(rune('0'+i)))
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "information"),
					[]byte("Model: \t\t "+name+"\nIRQ:   \t\t 1\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			sn := drivertest.Kept(t, store, c.all...)
			by := asker{files: func() []string { return []string{c.file} }, device: c.device}
			recipes, refused, _ := Recipes(&Known{own: sn},
				[]cache.Kernel{{Name: "k", Identity: c.all[0].Identity}}, by)
			if got := recipes["k"].String(); got != c.want || len(refused) > 0 {
				t.Errorf("%q, want %q; refused %v", got, c.want, refused)
			}
		})
	}
}

// TestShared: a cache gives to others what a build below it made, so that no file is one of those
// that an approximate recipe is for.
func TestShared(t *testing.T) {
	store, err := cache.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(cache.Command{Args: []string{"-c", "k.cu", "-o", "k.o"}, Dir: "/a"})
	if err != nil {
		t.Fatal(err)
	}
	command, err := store.PutObject(text)
	if err != nil {
		t.Fatal(err)
	}
	env := environment.Of(nil)
	if by := AskerOf(store, command, env); !by.covered([]string{"/a/k.o"}) {
		t.Error("a build is not known by what it writes")
	}
	if by := AskerOf(store, command, env.Cached()); by.covered([]string{"/a/k.o"}) {
		t.Error("below a cache an approximate recipe counts")
	}
}

// What was predicted is for builds that ask for it, and only where nothing at all was decided.
func TestPredicted(t *testing.T) {
	alone := drivertest.Seen("NVIDIA H100", "", 1)
	alone.Evidence.Launches = nil
	for name, c := range map[string]struct {
		predicted string
		decided   []cache.Decision
		pinned    string
		ask       string // GNVCC_PREDICT
		want      string
	}{
		"asked for":     {"maxnreg=40", nil, "", "1", "maxnreg=40"},
		"not asked for": {"maxnreg=40", nil, "", "", ""},
		"switched off":  {"maxnreg=40", nil, "", "0", ""},
		"measured": {"maxnreg=40",
			[]cache.Decision{drivertest.Seen("NVIDIA H200", "hint@ld=cs", 1)}, "", "1", "hint@ld=cs"},
		"measured: nvcc's own": {"maxnreg=40",
			[]cache.Decision{drivertest.Seen("NVIDIA H200", "", 1)}, "", "1", ""},
		"measured on another GPU than is for": {"maxnreg=40",
			[]cache.Decision{drivertest.Seen("Quadro", "hint@ld=cs", 1)}, "", "1", ""},
		"left alone": {"maxnreg=40", []cache.Decision{alone}, "", "1", ""},
		"approximated for others": {"maxnreg=40",
			[]cache.Decision{drivertest.Approximated("NVIDIA H200", "approx=all", 1, "/a/k.o")}, "", "1",
			""},
		"pinned":                    {"maxnreg=40", nil, "maxnreg=48", "1", "maxnreg=48"},
		"not exact by construction": {"unroll=4", nil, "", "1", ""},
		"approximate":               {"approx=all", nil, "", "1", ""},
		"unreadable":                {"= =", nil, "", "1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := cache.Open(filepath.Join(t.TempDir(), "store"))
			if err != nil {
				t.Fatal(err)
			}
			d := cache.Decision{Identity: strings.Repeat("ab", 32), Kernel: "k", Recipe: c.predicted,
				Exactness: "construction", Predicted: true}
			if err := store.Spool(cache.Predictions, d.Identity, d); err != nil {
				t.Fatal(err)
			}
			if d.Recipe, d.Predicted, d.Pinned = c.pinned, false, true; c.pinned != "" {
				if err := store.Spool(cache.Pins, d.Identity, d); err != nil {
					t.Fatal(err)
				}
			}
			sn := drivertest.Kept(t, store, c.decided...)
			by := AskerOf(store, "", environment.Of([]string{"GNVCC_PREDICT=" + c.ask, "GNVCC_DEVICE=H200"}))
			recipes, _, _ := Recipes(&Known{own: sn}, []cache.Kernel{{Name: "k", Identity: d.Identity}}, by)
			if got := recipes["k"].String(); got != c.want {
				t.Errorf("the build takes %q, want %q", got, c.want)
			}
		})
	}
}
