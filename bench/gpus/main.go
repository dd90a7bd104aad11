package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gnvcc/bench/machine"
	"gnvcc/cache"
)

// A Bench is a run with its results.
type Bench struct {
	Machine machine.Facts
	Budget  string
	Runs    []Run
	Ratio   float64  // time of the last run over that of the first one
	Unlike  []string // kernels that were decided otherwise
}

// A Run is one search on all captures.
type Run struct {
	GPUs    int
	Seconds float64
	Kernels []Kernel
	Workers map[string]int // kernel -> which worker searched on it
	Said    []string
}

// A Kernel is one that was decided on.
type Kernel struct {
	Name, Recipe string
	Ratio        float64    // time with the recipe over nvcc's
	Between      [2]float64 // what the intervals of both times allow
	Checked      int        // launches that left the same bits
}

var (
	gnvcc   = flag.String("gnvcc", "bin/gnvcc", "the gnvcc to measure")
	nvcc    = flag.String("nvcc", "/usr/local/cuda/bin/nvcc", "the nvcc behind it")
	gpus    = flag.String("gpus", "1,2", "how many GPUs, run after run")
	budget  = flag.String("budget", "60s", "of each search")
	given   = flag.String("store", "", "search on this store's captures")
	options = flag.String("options", "", "more options of gnvcc replay, with spaces between them")
	out     = flag.String("out", "", "raw results (default: standard output)")
	goal    = flag.Float64("goal", 0, "largest ratio of times that is well; 0: any")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	self, err := filepath.Abs(*gnvcc)
	check(err)
	dir, err := os.MkdirTemp("", "gpus-")
	check(err)
	defer os.RemoveAll(dir)
	from := *given
	if from == "" {
		from = filepath.Join(dir, "captured")
		for _, folder := range flag.Args() {
			capture(self, from, folder)
		}
	}
	b := Bench{Machine: machine.Gather(context.Background(), *nvcc, self, ""), Budget: *budget}
	for word := range strings.SplitSeq(*gpus, ",") {
		n, err := strconv.Atoi(word)
		check(err)
		store := filepath.Join(dir, "store"+word)
		check(os.CopyFS(store, os.DirFS(from)))
		b.Runs = append(b.Runs, search(self, store, n))
		os.RemoveAll(store)
	}
	failed := b.compare()
	text, err := json.MarshalIndent(b, "", " ")
	check(err)
	if *out == "" {
		fmt.Println(string(text))
	} else {
		check(os.WriteFile(*out, append(text, '\n'), 0o644))
	}
	if failed {
		os.RemoveAll(dir)
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal("gpus: ", err)
	}
}

// capture builds a program and has its launches captured, on GPU 0.
func capture(self, store, folder string) {
	env := append(os.Environ(), "GNVCC_STORE="+store, "GNVCC_NVCC="+*nvcc, "CUDA_VISIBLE_DEVICES=0")
	for _, words := range [][]string{{"make", "-B", "NVCC=" + self},
		{self, "tune", "--quiet", "--budget", "1", "--", "make", "run", "NVCC=" + self}} {
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir, cmd.Env = folder, env
		if said, err := cmd.CombinedOutput(); err != nil {
			log.Fatalf("gpus: %s: %q: %v\n%s", folder, words, err, said)
		}
	}
}

var searches = regexp.MustCompile(`worker (\d+) searches on (\S+)`)

// search searches on all captures of a store.
func search(self, store string, n int) Run {
	r := Run{GPUs: n, Workers: map[string]int{}}
	words := append([]string{"replay", "--on", fmt.Sprint("local:gpus=", n), "--budget", *budget},
		strings.Fields(*options)...)
	cmd := exec.Command(self, words...)
	cmd.Env = append(os.Environ(), "GNVCC_STORE="+store)
	if os.Getenv("GNVCC_NVCC") == "" {
		cmd.Env = append(cmd.Env, "GNVCC_NVCC="+*nvcc)
	}
	begun := time.Now()
	said, err := cmd.CombinedOutput()
	if err != nil {
		log.Fatalf("gpus: %q: %v\n%s", words, err, said)
	}
	r.Seconds = time.Since(begun).Seconds()
	for line := range strings.Lines(string(said)) {
		r.Said = append(r.Said, strings.TrimSpace(line))
		if m := searches.FindStringSubmatch(line); m != nil {
			r.Workers[m[2]], _ = strconv.Atoi(m[1])
		}
	}
	s, err := cache.Open(store)
	check(err)
	sn, err := s.Snapshot()
	check(err)
	defer sn.Close()
	all, err := sn.AllDecisions()
	check(err)
	for _, d := range all {
		if len(d.Evidence.Launches) == 0 || d.Time.Before(begun) {
			continue
		}
		k := Kernel{Name: d.Kernel, Recipe: d.Recipe, Ratio: d.Evidence.Ratio()}
		l := d.Evidence.Launches[0]
		k.Between = [2]float64{k.Ratio, k.Ratio}
		if l.Before.Low > 0 && l.Before.High > 0 {
			k.Between = [2]float64{l.After.Low / l.Before.High, l.After.High / l.Before.Low}
		}
		for _, l := range d.Evidence.Launches {
			k.Checked += l.Checked
		}
		r.Kernels = append(r.Kernels, k)
	}
	return r
}

// compare holds the runs against the first one: each kernel has the same recipe, or a claim within
// the other's interval, and bits that were compared.
func (b *Bench) compare() (failed bool) {
	first, last := b.Runs[0], b.Runs[len(b.Runs)-1]
	b.Ratio = last.Seconds / first.Seconds
	for _, r := range b.Runs[1:] {
		by := map[string]Kernel{}
		for _, k := range r.Kernels {
			by[k.Name] = k
		}
		for _, k := range first.Kernels {
			other, there := by[k.Name]
			same := k.Recipe == other.Recipe || within(k.Ratio, other.Between) ||
				within(other.Ratio, k.Between)
			if !there || !same || k.Recipe != "" && (other.Recipe == "" || other.Checked == 0) {
				b.Unlike = append(b.Unlike, fmt.Sprintf("%s: %q (%.3f, %d checked), with %d GPUs %q (%.3f, %d checked)",
					k.Name, k.Recipe, k.Ratio, k.Checked, r.GPUs, other.Recipe, other.Ratio, other.Checked))
			}
		}
	}
	for _, line := range b.Unlike {
		log.Print(line)
	}
	log.Printf("%d kernels: %.1f s with %d GPU, %.1f s with %d: %.2f of the time", len(first.Kernels),
		first.Seconds, first.GPUs, last.Seconds, last.GPUs, b.Ratio)
	return len(b.Unlike) > 0 || len(first.Kernels) == 0 || *goal > 0 && b.Ratio > *goal
}

func within(x float64, between [2]float64) bool { return between[0] <= x && x <= between[1] }
