package nsight

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The kernels of the files, as they are mangled: a template, one in an unnamed namespace, one with
// casts in its name.
const (
	scale  = "_Z5scaleIfEvPT_iS0_"
	double = "_Z5scaleIdEvPT_iS0_"
	hidden = "_ZN36_GLOBAL__N__22ddbaf4_4_k_cu_82e494086hiddenEPfi"
	tile   = "_Z4tileILi4ELb1EEvPKf"
	other  = "_Z4tileILi8ELb1EEvPKf"
)

// TestRead reads each kind of file, and finds its kernels by whatever names they have there.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		kind, device string
		shares       map[string]float64 // -1: it is not in the file
		shapes       map[string]int
		left         int
	}{
		"raw.csv": {"ncu", "", map[string]float64{scale: .8, hidden: .195, tile: .005, double: -1,
			other: -1},
			map[string]int{scale: 2, hidden: 1}, 0},
		"raw-order.csv": {"ncu", "", map[string]float64{scale: .75, hidden: .25, tile: -1},
			map[string]int{scale: 1}, 1},
		// The function's name alone stands for every instance of the template.
		"details.csv": {"ncu", "", map[string]float64{scale: .75, double: .75, hidden: .25, tile: -1},
			map[string]int{hidden: 1}, 0},
		"sum.csv": {"nsys", "", map[string]float64{scale: .8, hidden: .195, tile: .005, double: -1},
			nil, 0},
		"sum-old.csv": {"nsys", "", map[string]float64{scale: .75, hidden: .25}, map[string]int{scale: 1},
			0},
		"trace.csv": {"nsys", "NVIDIA H200", map[string]float64{scale: .8, hidden: .195, tile: .005,
			double: -1},
			map[string]int{scale: 2, tile: 1}, 0},
		"own.json": {"gnvcc", "NVIDIA H200", map[string]float64{scale: .8, hidden: .195, tile: .005,
			double: -1, other: -1},
			map[string]int{scale: 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Read(context.Background(), filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			if p.Kind != c.kind || p.Device != c.device || p.Left != c.left {
				t.Errorf("%s on %q, %d rows left out; want %s on %q, %d", p.Kind, p.Device, p.Left, c.kind,
					c.device, c.left)
			}
			for kernel, want := range c.shares {
				got, known := p.Share(kernel)
				if known != (want >= 0) || known && math.Abs(got-want) > 1e-3 {
					t.Errorf("%s: %.4f, known %v; want %g", kernel, got, known, want)
				}
			}
			for kernel, want := range c.shapes {
				if got := p.Shapes(kernel); len(got) != want {
					t.Errorf("%s: shapes %v, want %d", kernel, got, want)
				}
			}
			if p.Kernels[0].Seconds < p.Kernels[len(p.Kernels)-1].Seconds {
				t.Error("the heaviest is not the first")
			}
		})
	}
}

// TestForms brings names to one form.
func TestForms(t *testing.T) {
	for name, want := range map[string]string{
		"void scale<float>(T1 *, int, T1)":                "scale<float>",
		"_Z5scaleIfEvPT_iS0_":                             "scale<float>",
		"<unnamed>::hidden(float *, int)":                 "hidden",
		"(anonymous namespace)::hidden(float*, int)":      "hidden",
		"void a::b<(unsigned int)4, (bool)1>::c<(int)-1>": "a::b<4,1>::c<-1>",
		"void f<4u, true>(int)":                           "f<4,1>",
		"kernel_name":                                     "kernel_name",
		"void f<std::pair<int, (long)3>>(std::pair<int, (long)3>, void (*)(int))": "f<std::pair<int,3>>",
	} {
		n := namesOf(name)
		if n.whole != want {
			t.Errorf("%s: %q, want %q", name, n.whole, want)
		}
	}
}

// TestNumbers: what is a number in such a file, and what is none.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]float64{
		"10,196,000": 10196000, "1,950,000.5": 1950000.5, "0": 0, "12": 12, "4.0e-05": 4e-5,
		"1,000": 1000,
		"":      -1, "n/a": -1, "-3": -1, "NaN": -1, "inf": -1, "1,00": -1, ",000": -1, "1,,000": -1,
		"0x10p": -1,
	} {
		got, err := numberOf(text)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %g, %v; want %g", text, got, err, want)
		}
	}
}

// TestNoProfile: each of these costs a clear line.
func TestNoProfile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir) // no nsys
	for name, c := range map[string]struct{ text, want string }{
		"empty.csv":  {"", "no profile"},
		"words.csv":  {"Dear all,\nthis is no profile.\n", "no profile"},
		"source.csv": {"#include <cuda.h>\nint main() { return 0, 1; }\n", "no profile"},
		"times.csv": {"\"ID\",\"Kernel Name\",\"launch__registers_per_thread\"\n\"0\",\"k\",\"32\"\n",
			"no column has the kernels' times: ncu --csv --page raw --metrics gpu__time_duration.sum"},
		"nothing.csv": {"Time (%),Total Time (ns),Instances,Name\n", "it is of nsys, and has no kernel"},
		"zero.csv": {"Time (%),Total Time (ns),Instances,Name\n0,0,1,k\n",
			"no kernel in it has taken any time"},
		"api.csv": {"Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n50,100,1,100,cudaMalloc\n",
			"no profile"},
		"own.json":   {"{\"shapes\": 7}", "begins like gnvcc profile --json"},
		"other.json": {"{\"a\": 1}", "no launches in it"},
		"r.nsys-rep": {"\x00\x01", "nsys, which is not in PATH"},
		"r.ncu-rep":  {"\x00\x01", "ncu --import r.ncu-rep --csv --page raw"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := Read(context.Background(), path); err == nil || !strings.Contains(err.Error(),
			c.want) {
			t.Errorf("%s: %v, %v; want %s", name, p, err, c.want)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "nosuch.csv"), "/dev/null"} {
		if _, err := Read(context.Background(), path); err == nil {
			t.Errorf("%s is read", path)
		}
	}
}

// TestReport: nsys is run where there is a report only, and leaves nothing beside it. The nsys here
// is a script that writes what the real one would.
func TestReport(t *testing.T) {
	trace, err := filepath.Abs("testdata/trace.csv")
	if err != nil {
		t.Fatal(err)
	}
	dir, bin := t.TempDir(), t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1 $2 $3\" = 'stats --report cuda_gpu_trace' ] || exit 3\n"+
		"for file; do :; done\necho sql >\"${file%%.*}.sqlite\"\n/bin/cat \"$file\" >/dev/null || exit 4\n/bin/cat '%s'\n", trace)
	if err := os.WriteFile(filepath.Join(bin, "nsys"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	report := filepath.Join(dir, "my report.nsys-rep")
	if err := os.WriteFile(report, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Read(context.Background(), report)
	if err != nil {
		t.Fatal(err)
	}
	if share, _ := p.Share(scale); math.Abs(share-.8) > 1e-3 || p.Path != report {
		t.Errorf("%+v", p)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("beside the report lies %v", files)
	}
	if err := os.WriteFile(filepath.Join(bin, "nsys"),
		[]byte("#!/bin/sh\necho 'it is damaged' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(context.Background(), report); err == nil || !strings.Contains(err.Error(),
		"nsys stats: exit status 1: it is damaged") {
		t.Errorf("%v", err)
	}
}

// FuzzParse: whatever the text is, the shares of the kernels in it are parts of one.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.[cj]s*")
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	if len(files) < 7 {
		f.Fatalf("%d files", len(files))
	}
	f.Add([]byte("Kernel Name,gpu__time_duration.sum\n_Z,1\n\"_Z5scaleIfEvPT_iS0_\",2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parse(text)
		if err != nil {
			return
		}
		for i, k := range p.Kernels {
			if i > 100 {
				break
			}
			share, _ := p.Share(k.Name)
			if !(share >= 0 && share <= 1.0001) || math.IsNaN(k.Seconds) || k.Launches < 0 {
				t.Fatalf("%q: %g, %+v", k.Name, share, k)
			}
			p.Shapes(k.Name)
		}
	})
}
