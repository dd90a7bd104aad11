package standing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
)

// TestOf: which decision stands, of those on one kernel.
func TestOf(t *testing.T) {
	const h100, h200, pcie = "NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA H100 PCIe"
	type list = []cache.Decision
	seen, approximated := drivertest.Seen, drivertest.Approximated
	with := func(d cache.Decision, change func(*cache.Decision)) cache.Decision {
		change(&d)
		return d
	}
	leftAlone := with(seen(h200, "", 9), func(d *cache.Decision) { d.Evidence.Launches = nil })
	pinned := func(text string) cache.Decision {
		return with(seen("", text, 1), func(d *cache.Decision) { d.Pinned = true })
	}
	predicted := func(text string) cache.Decision {
		return with(seen("", text, 1), func(d *cache.Decision) { d.Predicted = true })
	}
	from := func(d cache.Decision) cache.Decision {
		return with(d, func(d *cache.Decision) { d.From = "/theirs" })
	}
	for name, c := range map[string]struct {
		all    list
		device string   // GNVCC_DEVICE
		here   []string // GPUs
		file   string   // that is built, "": /a/k.o
		ask    bool     // GNVCC_PREDICT
		want   string
	}{
		"one": {all: list{seen(h200, "maxnreg=40", 1)}, want: "maxnreg=40"},
		"of another GPU than is here": {all: list{seen(h200, "maxnreg=40", 1)},
			here: []string{"Quadro"}, want: "maxnreg=40"},
		"of another GPU than asked for": {all: list{seen(h200, "maxnreg=40", 1)}, device: "H100"},
		"the newest": {all: list{seen(h200, "maxnreg=40", 2), seen(h100, "maxnreg=48", 1)},
			want: "maxnreg=40"},
		"the newest measured": {all: list{leftAlone, seen(h100, "maxnreg=48", 1)}, want: "maxnreg=48"},
		"what is here": {all: list{seen(h200, "maxnreg=40", 2), seen(h100, "maxnreg=48", 1)},
			here: []string{"Quadro", h100}, want: "maxnreg=48"},
		"here, nvcc's own is best": {all: list{seen(h200, "maxnreg=40", 2), seen(h100, "", 1)}, here: []string{h100}},
		"what is asked for": {all: list{seen(h200, "maxnreg=40", 1), seen(h100, "maxnreg=48", 2)},
			device: "h200", here: []string{h100}, want: "maxnreg=40"},
		"two are asked for: the newer": {all: list{seen(pcie, "maxnreg=56", 3), seen(h100, "maxnreg=48", 2),
			seen(h200, "maxnreg=40", 4)}, device: "H100", want: "maxnreg=56"},

		"approximate, for another build": {all: list{approximated(h200, "approx=all", 2, "/a/k.o")},
			file: "/b/k.o"},
		"approximate, for this build": {all: list{approximated(h200, "approx=all", 2, "/a/k.o")},
			want: "approx=all"},
		"approximate, for nobody known":     {all: list{approximated(h200, "approx=all", 2)}},
		"approximate by hand, and not said": {all: list{seen(h200, "approx=all", 9)}},
		"next to an exact one": {all: list{approximated(h200, "approx=all", 1, "/a/k.o"),
			seen(h200, "maxnreg=40", 2)}, want: "approx=all"},
		"next to an exact one, for another build": {all: list{approximated(h200, "approx=all", 3, "/a/k.o"),
			seen(h200, "maxnreg=40", 2)}, file: "/b/k.o", want: "maxnreg=40"},
		"two builds, two bounds": {all: list{approximated(h200, "approx=all", 1, "/a/k.o"),
			approximated(h200, "approx=div", 2, "/b/k.o")}, want: "approx=all"},
		"taken back": {all: list{seen(h200, "maxnreg=40", 2), approximated(h200, "", 9, "/a/k.o")},
			want: "maxnreg=40"},
		"for a folder": {all: list{approximated(h200, "approx=all", 1, "/a/")},
			file: "/a/b/k.o", want: "approx=all"},
		"for a folder of nearly that name": {all: list{approximated(h200, "approx=all", 1, "/a/")}, file: "/ab/k.o"},

		"pinned":               {all: list{pinned("maxnreg=48"), seen(h200, "maxnreg=40", 9)}, want: "maxnreg=48"},
		"pinned to nvcc's own": {all: list{pinned(""), seen(h200, "maxnreg=40", 9)}},
		"own before another's": {all: list{seen(h200, "maxnreg=40", 1), from(seen(h200, "maxnreg=48", 9))},
			want: "maxnreg=40"},
		"another's, measured":     {all: list{leftAlone, from(seen(h200, "maxnreg=48", 1))}, want: "maxnreg=48"},
		"another's approximates":  {all: list{from(approximated(h200, "approx=all", 1, "/a/k.o"))}},
		"of a lever that is gone": {all: list{seen(h200, "ld=cs", 1)}, want: "ld=cs"},                           // and refused
		"another gnvcc's":         {all: list{from(seen(h200, "lever_to_come=1", 1))}, want: "lever_to_come=1"}, // and refused

		"predicted, asked for":      {all: list{predicted("maxnreg=40")}, ask: true, want: "maxnreg=40"},
		"predicted, not asked for":  {all: list{predicted("maxnreg=40")}},
		"predicted, and measured":   {all: list{seen(h200, "", 1), predicted("maxnreg=40")}, ask: true},
		"predicted, and left alone": {all: list{leftAlone, predicted("maxnreg=40")}, ask: true},
		"predicted, and measured on another GPU": {all: list{seen("Quadro", "hint@ld=cs", 1), predicted("maxnreg=40")},
			device: "H200", ask: true},
		"predicted, and approximated for others": {all: list{approximated(h200, "approx=all", 1, "/b/k.o"),
			predicted("maxnreg=40")}, ask: true},
		"predicted, and pinned": {all: list{pinned("maxnreg=48"), predicted("maxnreg=40")},
			ask: true, want: "maxnreg=48"},
		"predicted, not exact by construction": {all: list{predicted("unroll=4")}, ask: true},
		"predicted, approximate":               {all: list{predicted("approx=all")}, ask: true},
		"predicted, unreadable":                {all: list{predicted("= =")}, ask: true},
	} {
		by := Asker{Files: func() []string { return []string{cmp.Or(c.file, "/a/k.o")} }, Device: c.device,
			Here: func() []string { return c.here }, Predicted: c.ask}
		if got, _ := Of(c.all, by); got.Recipe != c.want {
			t.Errorf("%s: %q, want %q", name, got.Recipe, c.want)
		}
	}
}

// TestGPUs reads what the driver says of this machine's GPUs.
func TestGPUs(t *testing.T) {
	defer func(old string) { gpuFolder = old }(gpuFolder)
	gpuFolder = t.TempDir()
	for i, name := range []string{"Quadro", "NVIDIA H200"} {
		drivertest.Program(t, filepath.Join(gpuFolder, fmt.Sprint(i), "information"),
			"Model: \t\t "+name+"\nIRQ:   \t\t 1\n")
	}
	if got := gpus(); !slices.Equal(got, []string{"Quadro", "NVIDIA H200"}) || GPU() != "Quadro" {
		t.Errorf("%q", got)
	}
}

// TestWant: what stands is looked up in a store's pins, decisions and predictions, and a banned lever
// is refused; a record that can't be read leaves no room for a prediction.
func TestWant(t *testing.T) {
	store, err := cache.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	d := drivertest.Seen("NVIDIA H200", "maxnreg=40", 1)
	records := func(identity string) (of cache.Decision, k cache.Kernel) {
		of, k = d, cache.Kernel{Name: identity, Identity: cache.Hash([]byte(identity))}
		of.Identity = k.Identity
		return of, k
	}
	put := func(bucket, key string, record any) {
		if err := store.Spool(bucket, key, record); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"decided": "maxnreg=40", "pinned": "maxnreg=48", "predicted": "maxnreg=40",
		"damaged": "", "banned": "", "banned by name": ""}
	for name := range want {
		of, k := records(name)
		switch name {
		case "pinned":
			pin := of
			pin.Recipe = "maxnreg=48"
			put(cache.Pins, k.Identity, pin)
		case "predicted":
			put(cache.Predictions, k.Identity, of)
			continue
		case "damaged":
			put(cache.Predictions, k.Identity, of)
			put(cache.Decisions, k.Identity, "no decision")
			continue
		case "banned":
			put(cache.Bans, k.Identity, cache.Ban{Levers: []string{"unroll", "maxnreg"}})
		case "banned by name":
			put(cache.Bans, BanKey(k.Name), cache.Ban{Levers: []string{"maxnreg"}})
		}
		put(cache.Decisions, of.Key(), of)
	}
	kn := &Known{own: drivertest.Kept(t, store)}
	for name, recipe := range want {
		_, k := records(name)
		w := kn.Want(k, Asker{Predicted: true})
		if got := w.Recipe.String(); got != recipe || (w.Refused != nil) != strings.HasPrefix(name, "banned") ||
			w.Pinned != (name == "pinned") || w.Predicted != (name == "predicted") {
			t.Errorf("%s: %q, want %q; %+v", name, got, recipe, w)
		}
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
	if by := AskerOf(store, command, env); !Meet([]string{"/a/k.o"}, by.Files()) {
		t.Error("a build is not known by what it writes")
	}
	if by := AskerOf(store, command, env.Cached()); Meet([]string{"/a/k.o"}, by.Files()) {
		t.Error("below a cache an approximate recipe counts")
	}
}
