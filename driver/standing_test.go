package driver

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
)

// kept puts decisions into a store, one after the other, and publishes them.
func kept(t *testing.T, store *cache.Store, decisions ...cache.Decision) *cache.Snapshot {
	t.Helper()
	for _, d := range decisions {
		if err := store.Spool(cache.Decisions, d.Key(), d); err != nil {
			t.Fatal(err)
		}
	}
	if err := publish(context.Background(), store); err != nil {
		t.Fatal(err)
	}
	sn, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sn.Close() })
	return sn
}

func seen(device, text string, minute int) cache.Decision {
	d := cache.Decision{Identity: strings.Repeat("ab", 32), Kernel: "k", Recipe: text, Exactness: "construction", Time: time.Unix(int64(60*minute), 0)}
	d.Evidence.Device = device
	d.Evidence.Launches = []cache.Launch{{Count: 1}}
	return d
}

func approximated(device, text string, minute int, files ...string) cache.Decision {
	d := seen(device, text, minute)
	d.Exactness, d.For = "approximate", files
	return d
}

func TestStanding(t *testing.T) {
	const h100, h200, pcie = "NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA H100 PCIe"
	alone := seen(h200, "", 9)
	alone.Evidence.Launches = nil
	taken := approximated(h200, "", 9, "/a/k.o")
	unsaid := seen(h200, "approx=all", 9) // by hand: nothing says that it approximates
	for name, c := range map[string]struct {
		all    []cache.Decision
		device string   // GNVCC_DEVICE
		here   []string // GPUs
		file   string
		want   string
	}{
		"one":                                    {[]cache.Decision{seen(h200, "maxnreg=40", 1)}, "", nil, "/b/k.o", "maxnreg=40"},
		"one, of another GPU than is here":       {[]cache.Decision{seen(h200, "maxnreg=40", 1)}, "", []string{"Quadro"}, "/b/k.o", "maxnreg=40"},
		"one, of another GPU than is asked for":  {[]cache.Decision{seen(h200, "maxnreg=40", 1)}, "H100", nil, "/b/k.o", ""},
		"the newest":                             {[]cache.Decision{seen(h200, "maxnreg=40", 2), seen(h100, "maxnreg=48", 1)}, "", nil, "/b/k.o", "maxnreg=40"},
		"the newest measured":                    {[]cache.Decision{alone, seen(h100, "maxnreg=48", 1)}, "", nil, "/b/k.o", "maxnreg=48"},
		"what is here":                           {[]cache.Decision{seen(h200, "maxnreg=40", 2), seen(h100, "maxnreg=48", 1)}, "", []string{"Quadro", h100}, "/b/k.o", "maxnreg=48"},
		"here, nvcc's own is best":               {[]cache.Decision{seen(h200, "maxnreg=40", 2), seen(h100, "", 1)}, "", []string{h100}, "/b/k.o", ""},
		"what is asked for":                      {[]cache.Decision{seen(h200, "maxnreg=40", 1), seen(h100, "maxnreg=48", 2)}, "h200", []string{h100}, "/b/k.o", "maxnreg=40"},
		"two are asked for: the newer":           {[]cache.Decision{seen(pcie, "maxnreg=56", 3), seen(h100, "maxnreg=48", 2), seen(h200, "maxnreg=40", 4)}, "H100", nil, "/b/k.o", "maxnreg=56"},
		"approximate, for another build":         {[]cache.Decision{approximated(h200, "approx=all", 2, "/a/k.o")}, "", nil, "/b/k.o", ""},
		"approximate, for this build":            {[]cache.Decision{approximated(h200, "approx=all", 2, "/a/k.o")}, "", nil, "/a/k.o", "approx=all"},
		"approximate, for nobody known":          {[]cache.Decision{approximated(h200, "approx=all", 2)}, "", nil, "/a/k.o", ""},
		"approximate, unsaid":                    {[]cache.Decision{unsaid}, "", nil, "/a/k.o", ""},
		"beside an exact one":                    {[]cache.Decision{approximated(h200, "approx=all", 1, "/a/k.o"), seen(h200, "maxnreg=40", 2)}, "", nil, "/a/k.o", "approx=all"},
		"beside an exact one, for another build": {[]cache.Decision{approximated(h200, "approx=all", 3, "/a/k.o"), seen(h200, "maxnreg=40", 2)}, "", nil, "/b/k.o", "maxnreg=40"},
		"two builds, two bounds":                 {[]cache.Decision{approximated(h200, "approx=all", 1, "/a/k.o"), approximated(h200, "approx=div", 2, "/b/k.o")}, "", nil, "/a/k.o", "approx=all"},
		"taken back":                             {[]cache.Decision{approximated(h200, "approx=all", 1, "/a/k.o"), seen(h200, "maxnreg=40", 2), taken}, "", nil, "/a/k.o", "maxnreg=40"},
		"for a folder":                           {[]cache.Decision{approximated(h200, "approx=all", 1, "/a/")}, "", nil, "/a/b/k.o", "approx=all"},
		"for a folder of nearly that name":       {[]cache.Decision{approximated(h200, "approx=all", 1, "/a/")}, "", nil, "/ab/k.o", ""},
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
				if err := os.WriteFile(filepath.Join(dir, "information"), []byte("Model: \t\t "+name+"\nIRQ:   \t\t 1\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			sn := kept(t, store, c.all...)
			by := asker{files: func() []string { return []string{c.file} }, device: c.device}
			recipes, refused, _ := wanted(sn, []cache.Kernel{{Name: "k", Identity: c.all[0].Identity}}, by)
			if got := recipes["k"].String(); got != c.want || len(refused) > 0 {
				t.Errorf("%q, want %q; refused %v", got, c.want, refused)
			}
		})
	}
}

// TestAskers tells which of several builds of the same code a program came from.
func TestAskers(t *testing.T) {
	root := followed(filepath.Join(t.TempDir(), "x"))
	root = filepath.Dir(root)
	file := func(name string) string {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b, deep, app := file("a/k.o"), file("b/k.o"), file("a/lib/k.o"), file("a/app")
	gone := filepath.Join(root, "c/k.o")
	for name, c := range map[string]struct {
		all          []string
		program, dir string
		want         []string
	}{
		"one":                      {[]string{b}, app, root, []string{b}},
		"the program":              {[]string{a, app}, app, root, []string{app}},
		"beside the program":       {[]string{a, b}, app, root, []string{a}},
		"nearest":                  {[]string{deep, b}, app, root, []string{deep}},
		"where it was called":      {[]string{a, b}, "/opt/bin/app", filepath.Join(root, "b"), []string{b}},
		"no way to tell":           {[]string{a, b}, "/opt/bin/app", root, nil},
		"not on record":            {nil, app, root, nil},
		"what is gone asks nobody": {[]string{a, gone}, "/opt/bin/app", "/", []string{a}},
	} {
		got, err := (&Source{Kernel: "k", outputs: c.all}).Askers(c.program, c.dir)
		if !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// TestWrites: two ways to one file are one name.
func TestWrites(t *testing.T) {
	root := t.TempDir()
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "build"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "build"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"-c k.cu -o build/k.o":     "build/k.o",
		"-c k.cu -o link/k.o":      "build/k.o",
		"-c k.cu -odir link -o k2": "k2", // nvcc takes no notice of -odir beside -o
		"-c k.cu -odir link":       "build/k.o",
		"-c x/k.cu l.cu":           "k.o l.o",
		"-dc -odir link k.cu":      "build/k.o",
		"-cubin k.cu":              "k.cubin",
		"k.cu":                     "a.out",
	} {
		var full []string
		for _, name := range strings.Fields(want) {
			full = append(full, filepath.Join(real, name))
		}
		if got := writes(cache.Command{Args: strings.Fields(args), Dir: root}); !slices.Equal(got, full) {
			t.Errorf("%s: %q, want %q", args, got, full)
		}
	}
}

// What was foretold is for builds that ask for it, and only where nothing at all was decided.
func TestForetold(t *testing.T) {
	alone := seen("NVIDIA H100", "", 1)
	alone.Evidence.Launches = nil
	for name, c := range map[string]struct {
		foretold string
		decided  []cache.Decision
		pinned   string
		ask      string // GNVCC_PREDICT
		want     string
	}{
		"asked for":                           {"maxnreg=40", nil, "", "1", "maxnreg=40"},
		"not asked for":                       {"maxnreg=40", nil, "", "", ""},
		"switched off":                        {"maxnreg=40", nil, "", "0", ""},
		"measured":                            {"maxnreg=40", []cache.Decision{seen("NVIDIA H200", "ld=cs", 1)}, "", "1", "ld=cs"},
		"measured: nvcc's own":                {"maxnreg=40", []cache.Decision{seen("NVIDIA H200", "", 1)}, "", "1", ""},
		"measured on another GPU than is for": {"maxnreg=40", []cache.Decision{seen("Quadro", "ld=cs", 1)}, "", "1", ""},
		"left alone":                          {"maxnreg=40", []cache.Decision{alone}, "", "1", ""},
		"approximated for others":             {"maxnreg=40", []cache.Decision{approximated("NVIDIA H200", "approx=all", 1, "/a/k.o")}, "", "1", ""},
		"pinned":                              {"maxnreg=40", nil, "maxnreg=48", "1", "maxnreg=48"},
		"not exact by construction":           {"unroll=4", nil, "", "1", ""},
		"approximate":                         {"approx=all", nil, "", "1", ""},
		"unreadable":                          {"= =", nil, "", "1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := cache.Open(filepath.Join(t.TempDir(), "store"))
			if err != nil {
				t.Fatal(err)
			}
			d := cache.Decision{Identity: strings.Repeat("ab", 32), Kernel: "k", Recipe: c.foretold, Exactness: "construction", Predicted: true}
			if err := store.Spool(cache.Predictions, d.Identity, d); err != nil {
				t.Fatal(err)
			}
			if d.Recipe, d.Predicted, d.Pinned = c.pinned, false, true; c.pinned != "" {
				if err := store.Spool(cache.Pins, d.Identity, d); err != nil {
					t.Fatal(err)
				}
			}
			sn := kept(t, store, c.decided...)
			by := askerOf(store, "", func(name string) string {
				return map[string]string{varPredict: c.ask, varDevice: "H200"}[name]
			})
			recipes, _, _ := wanted(sn, []cache.Kernel{{Name: "k", Identity: d.Identity}}, by)
			if got := recipes["k"].String(); got != c.want {
				t.Errorf("the build takes %q, want %q", got, c.want)
			}
		})
	}
}
