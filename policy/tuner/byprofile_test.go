package tuner

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/profile/capture"
	"gnvcc/profile/nsight"
)

const sumHead = "Time (%),Total Time (ns),Instances,Avg (ns),Name\n"

func profileOf(t *testing.T, text string) *ByProfile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := ReadProfile(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func captured(kernel string, seconds float64, sets int) *capture.Manifest {
	m := &capture.Manifest{Device: "NVIDIA H200"}
	m.Kernel, m.Block = kernel, [3]int{32, 1, 1}
	m.Use = capture.Use{Count: 10, Seconds: seconds, Sampled: 5, Sets: sets}
	return m
}

// TestByProfile: the budget goes by the profile's shares, and what is below 1 % there, or not in
// it, is left out, however heavy it was in the run.
func TestByProfile(t *testing.T) {
	p := profileOf(t, sumHead+"70,700,1,1,a(int)\n29.5,295,1,1,b(int)\n0.5,5,1,1,c(int)\n")
	list := []*capture.Manifest{captured("_Z1ci", 8, 1), captured("_Z1di", 7, 1),
		captured("_Z1bi", 2, 1), captured("_Z1ai", .75, 1), captured("_Z1ai", .25, 1)}
	list[4].Grid = [3]int{2, 1, 1}
	jobs := (&ReplaySearch{Profile: p}).Jobs(list, 18)
	want := []struct {
		kernel string
		share  float64
	}{{"_Z1ai", .525}, {"_Z1bi", .295}, {"_Z1ai", .175}}
	if len(jobs) != len(want) {
		t.Fatalf("%d captures: %+v", len(jobs), jobs)
	}
	for i, w := range want {
		if jobs[i].Capture.Kernel != w.kernel || math.Abs(jobs[i].Share-w.share) > 1e-9 {
			t.Errorf("%d: %s %.3f, want %s %.3f", i, jobs[i].Capture.Kernel, jobs[i].Share, w.kernel, w.share)
		}
	}
	for kernel, want := range map[string]string{"_Z1ai": "", "_Z1ci": "below 1 %",
		"_Z1di": "not in the profile"} {
		if err := p.refuse(kernel); (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", kernel, err, want)
		}
	}
	// Without a profile the run counts, as ever.
	if jobs := (&ReplaySearch{}).Jobs(list, 18); len(jobs) != 5 || jobs[0].Capture.Kernel != "_Z1ci" {
		t.Errorf("without one: %+v", jobs)
	}
}

// TestFamilyShares: grids none of which has 1 % of the time get that of all grids of the kernel,
// the first one most of it.
func TestFamilyShares(t *testing.T) {
	list := []*capture.Manifest{captured("_Z1ai", 20, 1), captured("_Z1bi", .5, 1),
		captured("_Z1bi", .49, 1), captured("_Z1bi", .4, 1), captured("_Z1bi", .2, 1),
		captured("_Z1bi", .1, 1), captured("_Z1ci", .3, 1)}
	for i, m := range list[1:6] {
		m.Grid, m.Use.Family = [3]int{5 - i, 1, 1}, 80
	}
	for i, m := range list { // a has one grid
		if manyGrids(m) != (i > 0 && i < 6) {
			t.Errorf("%s on %d blocks: its grids are %v", m.Kernel, m.Grid[0], !(i > 0 && i < 6))
		}
	}
	jobs := (&ReplaySearch{}).Jobs(list, 100)
	var got []string
	for _, j := range jobs {
		got = append(got, fmt.Sprintf("%s%d %.2f %v", j.Capture.Kernel, j.Capture.Grid[0], j.Share, j.Leader == list[1]))
	}
	if want := "_Z1ai0 0.20 false,_Z1bi5 0.56 false,_Z1bi1 0.12 true,_Z1bi3 0.12 true"; strings.Join(got, ",") != want {
		t.Errorf("%q, want %s", got, want)
	}
}

// TestFamilyGrids: what is searched on and checked spans the grids, whatever single launches took.
func TestFamilyGrids(t *testing.T) {
	list := []*capture.Manifest{captured("_Z1bi", .7, 1), captured("_Z1bi", .6, 1),
		captured("_Z1bi", .5, 1), captured("_Z1bi", .4, 1), captured("_Z1bi", .3, 1)}
	for i, blocks := range []int{127, 254, 511, 63, 15} {
		list[i].Grid, list[i].Use.Family = [3]int{blocks, 1, 1}, 50
	}
	var got []int
	for _, j := range (&ReplaySearch{}).Jobs(list, 100) {
		got = append(got, j.Capture.Grid[0])
		if (j.Leader == nil) != (j.Capture == list[2]) {
			t.Errorf("%d blocks are led by %v", j.Capture.Grid[0], j.Leader)
		}
	}
	if want := []int{511, 15, 127}; !slices.Equal(got, want) {
		t.Errorf("grids of %v blocks are replayed, want %v", got, want)
	}
}

// TestFamilyOfBlocks: a kernel is searched on where it is heaviest, with the weight of all of its
// sizes, and what wins there is checked on four others, the smallest among them.
func TestFamilyOfBlocks(t *testing.T) {
	list := []*capture.Manifest{captured("_Z1ai", 12, 1), captured("_Z1bi", 20, 1)}
	list[0].Grid, list[0].Block, list[0].Use.Family = [3]int{160, 1, 1}, [3]int{160, 1, 1}, 40
	for _, n := range []int{1, 2, 3, 6, 12, 24, 48, 96} {
		m := captured("_Z1ai", 0.2, 1)
		m.Grid, m.Block, m.Use.Family = [3]int{n, 1, 1}, [3]int{n, 1, 1}, 40
		list = append(list, m)
	}
	var got []string
	for _, j := range (&ReplaySearch{}).Jobs(list, 100) {
		got = append(got, fmt.Sprintf("%s%d %.3f %v", j.Capture.Kernel, j.Capture.Grid[0], j.Share, j.Leader == list[0]))
	}
	if want := "_Z1ai160 0.316 false,_Z1bi0 0.200 false,_Z1ai48 0.021 true,_Z1ai12 0.021 true,_Z1ai3 0.021 true,_Z1ai1 0.021 true"; strings.Join(got, ",") != want {
		t.Errorf("%q, want %s", got, want)
	}
}

// TestTellProfile: what is said of it, and a profile of another program.
func TestTellProfile(t *testing.T) {
	p := profileOf(t, sumHead+"60,600,1,1,a(int)\n40,400,1,1,elsewhere(int)\nx,y,z,1,b\n")
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if err := p.tell([]string{"_Z1ai", "_Z1ai", "_Z1zi"}, "NVIDIA H200", say); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(said, "\n")
	for _, want := range []string{"worth a search: 1 kernel, with 60 % of its time",
		"not launched here: elsewhere(int)", "makes no sense: 1 row"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nhas no %q", text, want)
		}
	}
	if err := p.tell([]string{"_Z1zi"}, "", say); err == nil || !strings.Contains(err.Error(),
		"is it of another program?") {
		t.Errorf("%v", err)
	}
}

// TestStale: another GPU or driver, and shapes that nobody measured.
func TestStale(t *testing.T) {
	p := profileOf(t,
		"\"Kernel Name\",\"gpu__time_duration.sum\",\"Grid Size\",\"Block Size\"\n\"a(int)\",\"100\",\"(4, 1, 1)\",\"(256, 1, 1)\"\n\"a(int)\",\"100\",\"(8, 1, 1)\",\"(256, 1, 1)\"\n")
	uneven := profileOf(t,
		"\"Kernel Name\",\"gpu__time_duration.sum\",\"Grid Size\",\"Block Size\"\n\"a(int)\",\"900\",\"(4, 1, 1)\",\"(256, 1, 1)\"\n\"a(int)\",\"100\",\"(8, 1, 1)\",\"(256, 1, 1)\"\n")
	d := cache.Decision{Kernel: "_Z1ai"}
	d.Evidence = cache.Evidence{Device: "NVIDIA H200", Driver: "580.1",
		Launches: []cache.Launch{{Grid: [3]int{4, 1, 1}, Block: [3]int{256, 1, 1}}}}
	both := d
	both.Evidence.Launches = append(both.Evidence.Launches, cache.Launch{Grid: [3]int{8, 1, 1},
		Block: [3]int{256, 1, 1}})
	even := d
	even.Evidence.Launches = slices.Clone(both.Evidence.Launches)
	for i := range even.Evidence.Launches {
		even.Evidence.Launches[i].Seconds = 3
	}
	for _, c := range []struct {
		d              cache.Decision
		p              *nsight.Profile
		device, driver string
		want           string
	}{
		{d, nil, "", "", ""},
		{d, nil, "NVIDIA H200", "580.1", ""},
		{d, nil, "NVIDIA H100", "580.1", "measured on NVIDIA H200"},
		{d, nil, "NVIDIA H200", "590.2", "driver 580.1"},
		{d, p.Profile, "NVIDIA H200", "580.1", "launched as [8 1 1] x [256 1 1]"},
		{both, p.Profile, "NVIDIA H200", "580.1", ""},
		{even, p.Profile, "NVIDIA H200", "580.1", ""},
		{even, uneven.Profile, "NVIDIA H200", "580.1", "40 % of its time is in other shapes"},
	} {
		if got := Stale(c.d, c.p, c.device, c.driver); (got == "") != (c.want == "") ||
			!strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}

// TestMostOf: of one configuration, the capture that stands for most of its time is searched on.
func TestMostOf(t *testing.T) {
	var list []*capture.Manifest
	for i, part := range []float64{0.1, 0.7, 0.2} {
		list = append(list, &capture.Manifest{ID: string(rune('a' + i)), Kernel: "_Z1ai", Part: part,
			Use: capture.Use{Count: 90, Seconds: 9, Sampled: 3, Sets: 3}})
	}
	list = append(list, &capture.Manifest{ID: "d", Kernel: "_Z1bi", Use: capture.Use{Count: 9,
		Seconds: 2, Sampled: 3, Sets: 1}})
	order := ""
	for _, j := range (&ReplaySearch{}).Jobs(list, 11) {
		order += j.Capture.ID
		if (j.Before == nil) != (j.Capture.ID == "b" || j.Capture.ID == "d") {
			t.Errorf("%s comes behind %v", j.Capture.ID, j.Before)
		}
	}
	if order != "bdac" || list[0].ID != "a" {
		t.Errorf("searched in the order %s", order)
	}
}

// TestThousandKernels: where no kernel has 1 % of the time, the heaviest are searched that have
// nine tenths of it together; where few have most of it, what is below 1 % is left.
func TestThousandKernels(t *testing.T) {
	var list []*capture.Manifest
	for i := range 1000 {
		list = append(list, captured(fmt.Sprint("k", i), 2-float64(i)/1000, 1))
	}
	jobs := (&ReplaySearch{}).Jobs(list, 1500.5)
	if len(jobs) < 800 || len(jobs) > 900 || jobs[0].Capture.Kernel != "k0" {
		t.Errorf("%d jobs", len(jobs))
	}
	list[0].Use.Seconds = 1e6
	if jobs := (&ReplaySearch{}).Jobs(list, 1e6+1500); len(jobs) != 1 {
		t.Errorf("%d jobs beside a heavy one", len(jobs))
	}
}
