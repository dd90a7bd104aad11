package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gnvcc/install/kits"
)

// A kubectl of our own stands for a cluster: of an Indexed Job it runs the command of each index,
// so many at a time as parallelism says, and an index that fails as often again as
// backoffLimitPerIndex says. It reads the manifest alone. Its state lies in the folder that
// TEST_KUBE names.

type indexedJob struct {
	Metadata struct{ Name string }
	Spec     struct {
		CompletionMode                                 string
		Completions, Parallelism, BackoffLimitPerIndex int
		Template                                       struct {
			Spec struct {
				Containers []struct{ Command []string }
				Volumes    []struct{ PersistentVolumeClaim struct{ ClaimName string } }
			}
		}
	}
}

func fakeKubectl() {
	dir := os.Getenv("TEST_KUBE")
	file := func(name string) string { return filepath.Join(dir, name) }
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	switch verb := os.Args[1]; verb {
	case "create":
		if os.Getenv("TEST_KUBE_REFUSES") != "" {
			fail(fmt.Errorf("jobs.batch is forbidden"))
		}
		text, err := io.ReadAll(os.Stdin)
		fail(err)
		fail(os.WriteFile(file("job.json"), text, 0o600))
		self, err := os.Executable()
		fail(err)
		controller := exec.Command(self, "controller")
		controller.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		fail(controller.Start())
	case "controller":
		kubeController(file)
	case "get":
		text, _ := os.ReadFile(file("status.json"))
		fmt.Println(string(text))
	case "delete":
		fail(os.WriteFile(file("deleted"), nil, 0o600))
	}
}

func kubeController(file func(string) string) {
	var job indexedJob
	text, err := os.ReadFile(file("job.json"))
	if err != nil || json.Unmarshal(text, &job) != nil || job.Spec.CompletionMode != "Indexed" {
		os.Exit(1)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	go func() {
		for ; ; time.Sleep(50 * time.Millisecond) {
			if _, err := os.Stat(file("deleted")); err == nil {
				cancel()
			}
		}
	}()
	var mu sync.Mutex
	var failed, completed []string
	turns := make(chan struct{}, job.Spec.Parallelism)
	var all sync.WaitGroup
	for i := range job.Spec.Completions {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			var err error
			for range 1 + job.Spec.BackoffLimitPerIndex {
				var words []string
				for _, word := range job.Spec.Template.Spec.Containers[0].Command {
					words = append(words, strings.ReplaceAll(word, "$(JOB_COMPLETION_INDEX)", strconv.Itoa(i)))
				}
				if err = exec.CommandContext(ctx, words[0], words[1:]...).Run(); err == nil {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, strconv.Itoa(i))
			} else {
				completed = append(completed, strconv.Itoa(i))
			}
			text := fmt.Sprintf(`{"status":{"failedIndexes":%q,"completedIndexes":%q}}`,
				strings.Join(failed, ","), strings.Join(completed, ","))
			if os.WriteFile(file("status.new"), []byte(text), 0o600) == nil {
				os.Rename(file("status.new"), file("status.json"))
			}
		})
	}
	all.Wait()
}

// TestKubernetes: pods decide what one process does; one that is lost is tried once more by the
// Job, one that is lost twice is not searched; a login node without a GPU does; and where there is
// no cluster the search is done here.
func TestKubernetes(t *testing.T) {
	kits.Long(t, "TestWork has workers that die, on this machine")
	w := newWorkers(t)
	bin, shared := filepath.Join(w.dir, "bin"), filepath.Join(w.dir, "shared")
	os.Mkdir(bin, 0o700)
	os.Mkdir(shared, 0o700)
	on := "k8s:n=2,image=cuda:13.0.0-devel,claim=team,namespace=gpu,dir=" + shared
	w.fresh()
	said, err := w.replay("--on", strings.Replace(on, shared, filepath.Join(w.dir, "nowhere"), 1))
	if err != nil || !strings.Contains(said, "make a folder for the pods") ||
		!strings.Contains(said, "the search is done on this machine") {
		t.Errorf("without its folder: %v\n%s", err, said)
	}
	w.alike("without its folder", said)
	if err := os.Link(w.exe, filepath.Join(bin, "kubectl")); err != nil {
		t.Fatal(err)
	}
	run := func(what string, variables []string, more ...string) (string, error) {
		t.Helper()
		w.fresh()
		kube := t.TempDir()
		old := w.env
		defer func() { w.env = old }()
		w.env = append(append(old[:len(old):len(old)], "PATH="+bin+":"+os.Getenv("PATH"),
			"TEST_KUBE="+kube), variables...)
		said, err := w.replay(append([]string{"--on"}, more...)...)
		if left, _ := os.ReadDir(shared); len(left) > 0 {
			t.Errorf("%s: %v are left in the shared folder", what, left)
		}
		if text, err := os.ReadFile(filepath.Join(kube, "job.json")); err == nil {
			if _, err := os.Stat(filepath.Join(kube, "deleted")); err != nil {
				t.Errorf("%s: the Job was not deleted", what)
			}
			validManifest(t, text)
		}
		return said, err
	}
	said, err = run("two pods, one dies", []string{"TEST_NO_GPU=but workers",
		"TEST_WORK_DIES=" + filepath.Join(w.dir, "died")}, on)
	if _, missing := os.Stat(filepath.Join(w.dir, "died")); err != nil || missing != nil ||
		!strings.Contains(said, "the Job gnvcc-") || strings.Contains(said, "not searched") ||
		!strings.Contains(said, "3 of 3 kernels begun, 3 done") ||
		strings.Contains(said, "on this machine") {
		t.Errorf("two pods, one dies: %v, %v\n%s", err, missing, said)
	}
	w.alike("two pods, one dies", said)

	said, err = run("a pod that always dies", []string{"TEST_WORK_NEVER=k1"}, on)
	w.without("k1", said, err, "k1 was not searched: its pod has failed twice")

	said, err = run("a cluster that refuses a login node",
		[]string{"TEST_KUBE_REFUSES=1", "TEST_NO_GPU=but workers"}, on)
	if len(w.decided()) > 0 || err != nil || !strings.Contains(said, "jobs.batch is forbidden") || strings.Count(said, "was not searched") != workKernels {
		t.Errorf("a cluster that refuses a login node: decided %v, %v\n%s", w.decided(), err, said)
	}
}

// TestManifest: the Job can be had as a file, which somebody else applies.
func TestManifest(t *testing.T) {
	kits.Long(t, "TestWork has workers, on this machine")
	w := newWorkers(t)
	shared, kube := filepath.Join(w.dir, "shared"), filepath.Join(w.dir, "kube")
	kubectl, manifest := filepath.Join(w.dir, "kubectl"), filepath.Join(w.dir, "job.yaml")
	os.Mkdir(shared, 0o700)
	os.Mkdir(kube, 0o700)
	if err := os.Link(w.exe, kubectl); err != nil {
		t.Fatal(err)
	}
	w.fresh()
	go func() {
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			f, err := os.Open(manifest)
			if err != nil {
				continue
			}
			time.Sleep(100 * time.Millisecond) // it is one write
			cmd := exec.Command(kubectl, "create", "-f", "-")
			cmd.Env, cmd.Stdin = append(w.env, "TEST_KUBE="+kube), f
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			f.Close()
			return
		}
	}()
	said, err := w.replay("--on", "k8s:n=1,image=cuda,claim=team,dir="+shared+",manifest="+manifest)
	if err != nil || !strings.Contains(said, "kubectl apply -f it") {
		t.Errorf("%v\n%s", err, said)
	}
	w.alike("a manifest", said)
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	validManifest(t, text)
}

// validManifest holds a manifest against Kubernetes' own schemas.
func validManifest(t *testing.T, text []byte) {
	t.Helper()
	out, err := exec.Command("../../install/buildtools", "--path").Output()
	program := filepath.Join(strings.TrimSpace(string(out)), "kubernetes-validate")
	if _, missing := os.Stat(program); err != nil || missing != nil {
		t.Log("SKIPPED: no Kubernetes schemas here: the manifest is not checked; install/buildtools fetches them")
		return
	}
	file := filepath.Join(t.TempDir(), "job.yaml")
	for what, content := range map[string]string{"": string(text), // and whether the schemas look at it
		"a wrong field":      strings.Replace(string(text), `"completions"`, `"complitions"`, 1),
		"a wrong type":       strings.Replace(string(text), `"backoffLimitPerIndex": 1`, `"backoffLimitPerIndex": "one"`, 1),
		"a field of no pods": strings.Replace(string(text), `"restartPolicy"`, `"restarts"`, 1)} {
		if what != "" && content == string(text) {
			t.Errorf("%s: not in\n%s", what, text)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, version := range []string{"1.29", "1.37"} {
			out, err := exec.Command(program, "--strict", "-k", version, file).CombinedOutput()
			if (err != nil) != (what != "") {
				t.Errorf("Kubernetes %s, %q: %v: %s\n%s", version, what, err, out, content)
			}
			if what != "" {
				break
			}
		}
	}
}
