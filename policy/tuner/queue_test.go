package tuner

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/install/kits"
	"gnvcc/policy"
	"gnvcc/profile/capture"
)

// recorded are searches that were done on a GPU: what each kernel's captures took, with the checks.
const recorded = "../../bench/results/2026-11-23-hecbench/hecbench.jsonl.gz"

// recordedSearches are the seconds of each kernel, by program and name, and how many searches there
// were.
func recordedSearches(t *testing.T) (seconds map[string]float64, searches int) {
	t.Helper()
	f, err := os.Open(recorded)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	seconds = map[string]float64{}
	for lines.Scan() {
		var program struct {
			Program  string
			Observed struct {
				Rows []struct {
					Kernel    string
					Replaying float64
					Spent     map[string]float64
				}
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &program); err != nil {
			t.Fatal(err)
		}
		for _, r := range program.Observed.Rows {
			if len(r.Spent) == 0 {
				continue
			}
			if _, searched := r.Spent["search: racing"]; searched {
				searches++
			}
			seconds[program.Program+" "+r.Kernel] += r.Replaying
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return seconds, searches
}

// A sleepingEngine has workers that take as long as was recorded, some times faster, and beside
// that what it costs to begin.
type sleepingEngine struct {
	seconds map[string]float64
	faster  float64
	begin   time.Duration // as recorded time
}

func (sleepingEngine) Open(context.Context, string) (int, error) { return 1, nil }
func (sleepingEngine) Here() bool                                { return true }
func (sleepingEngine) Close()                                    {}

func (e sleepingEngine) Run(_ context.Context, _ int, file, out string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	took := e.begin + time.Duration(e.seconds[o.Kernel]*float64(time.Second))
	time.Sleep(time.Duration(float64(took) / e.faster))
	answer, err := json.Marshal(Done{Order: cache.Hash(text), Host: "here", Device: "recorded",
		Driver: "1.0", Alone: []string{"nothing is searched"}})
	if err != nil {
		return err
	}
	return os.WriteFile(out, answer, 0o600)
}

// handOut has the dispatcher hand out all recorded searches, and says what that took, as recorded
// time.
func handOut(t *testing.T, workers int, e sleepingEngine) time.Duration {
	t.Helper()
	store, err := cache.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	captures, err := capture.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &spreading{folder: t.TempDir(), begun: time.Now(),
		Spread: Spread{On: e, Store: store, Options: policy.Defaults()},
		w:      &ReplaySearch{Captures: captures, Budget: time.Hour, Say: func(string, ...any) {}}}
	var tasks []*task
	var sum float64
	for name, seconds := range e.seconds {
		tasks = append(tasks, &task{kernel: &policy.Kernel{Identity: cache.Hash([]byte(name)),
			Name: name, Short: name}, share: seconds, last: -1})
		sum += seconds
	}
	heaviestFirst(tasks)
	s.state = progress{of: len(tasks), workers: workers}
	begun := time.Now()
	left := s.dispatch(context.Background(), tasks, workers, sum)
	took := time.Duration(float64(time.Since(begun)) * e.faster)
	if len(left) > 0 || len(s.results) != len(tasks) {
		t.Fatalf("%d of %d kernels came back, %d were left", len(s.results), len(tasks), len(left))
	}
	return took
}

// TestEightWorkers: eight workers do the recorded searches at least six times as fast as one, with
// a second for each order to begin. GNVCC_QUEUE_FASTER=10 has more workers, and time ten times as
// fast as recorded: the raw figures of bench/results.
func TestEightWorkers(t *testing.T) {
	kits.Long(t, "TestQueue hands out orders")
	seconds, searches := recordedSearches(t)
	if searches != 136 {
		t.Errorf("%d searches are recorded, want 136", searches)
	}
	e := sleepingEngine{seconds, 50, time.Second}
	workers := []int{1, 8}
	if text := os.Getenv("GNVCC_QUEUE_FASTER"); text != "" {
		var err error
		if e.faster, err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatal(err)
		}
		workers = []int{1, 2, 4, 8, 16, 32, 64}
	} else if testing.Short() {
		t.Skip("SKIPPED: -short: it waits for a quarter of a minute")
	}
	took := map[int]time.Duration{}
	for _, n := range workers {
		took[n] = handOut(t, n, e)
		fmt.Printf("{\"What\":\"queue of recorded searches\",\"Searches\":%d,\"Kernels\":%d,\"Workers\":%d,\"Seconds\":%.1f,\"Speedup\":%.2f}\n",
			searches, len(seconds), n, took[n].Seconds(), float64(took[1])/float64(took[n]))
	}
	if ratio := float64(took[1]) / float64(took[8]); ratio < 6 {
		t.Errorf("eight workers are %.2f times as fast as one, at least 6 are expected", ratio)
	}
}
