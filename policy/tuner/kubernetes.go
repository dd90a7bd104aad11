package tuner

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kubernetes as an engine: all orders are one Indexed Job, a pod an order, the heaviest first,
// since its controller starts indices in their order. It has the queue, and the second try of an
// order that was lost (backoffLimitPerIndex, Kubernetes 1.29). The manifest is applied by kubectl,
// with its contexts and credentials, or written to a file for who may apply it.

// A kubernetesEngine has one Job.
type kubernetesEngine struct {
	program, parent, image, claim, mount, namespace string
	manifest                                        string // file to write it to; "": it is applied
	n                                               int

	dir, name string
	created   bool
}

// how often outputs and the Job's status are looked at
const kubernetesFiles, kubernetesStatus = 500 * time.Millisecond, 5 * time.Second

func newKubernetes(text, gnvcc string, options [][2]string,
	number func(string) (int, error)) (*kubernetesEngine, error) {
	e := &kubernetesEngine{program: gnvcc, n: 1}
	words := map[string]*string{"dir": &e.parent, "image": &e.image, "claim": &e.claim,
		"mount": &e.mount, "namespace": &e.namespace, "manifest": &e.manifest}
	for _, o := range options {
		var err error
		if word := words[o[0]]; word != nil {
			*word = o[1]
		} else if o[0] != "n" {
			return nil, fmt.Errorf(
				"--on %s: k8s takes n, image, claim, dir, mount, namespace and manifest, and no %s", text, o[0])
		} else if e.n, err = number(o[1]); err != nil {
			return nil, err
		}
	}
	if e.mount == "" {
		e.mount = e.parent
	}
	rel, err := filepath.Rel(e.mount, e.parent)
	switch {
	case e.image == "" || e.claim == "":
		return nil, fmt.Errorf(
			"--on %s: image=IMAGE is missing (one with the toolkit), or claim=NAME (a volume that this machine sees as dir)", text)
	case !filepath.IsAbs(e.parent) || !filepath.IsAbs(e.mount):
		return nil, fmt.Errorf("--on %s: dir=FOLDER is missing: an absolute path, the same here and in pods", text)
	case err != nil || rel == ".." || strings.HasPrefix(rel, "../"):
		return nil, fmt.Errorf("--on %s: dir does not lie in mount, where pods have the volume", text)
	}
	return e, nil
}

func (e *kubernetesEngine) Open(context.Context) (int, error) {
	if e.manifest == "" {
		if _, err := exec.LookPath("kubectl"); err != nil {
			return 0, fmt.Errorf("ask Kubernetes for workers: %w (manifest=FILE writes the Job down instead)", err)
		}
	}
	dir, err := os.MkdirTemp(e.parent, "gnvcc-work-")
	if err != nil {
		return 0, fmt.Errorf("make a folder for the pods: %w", err)
	}
	if err := bringProgram(e.program, dir); err != nil {
		os.RemoveAll(dir)
		return 0, err
	}
	id := make([]byte, 4)
	_, _ = rand.Read(id)
	e.dir, e.name = dir, fmt.Sprintf("gnvcc-%x", id)
	return e.n, nil
}

func (e *kubernetesEngine) Folder() string { return e.dir }
func (e *kubernetesEngine) Here() bool     { return false }

// Run is for engines that take one order after the other.
func (e *kubernetesEngine) Run(context.Context, int, string, string) error {
	return errors.New("kubernetes takes all orders at once")
}

// Submit is queue's.
func (e *kubernetesEngine) Submit(ctx context.Context, orders int, longest time.Duration,
	say func(format string, args ...any)) error {
	text := e.job(orders, longest)
	if e.manifest != "" {
		if err := os.WriteFile(e.manifest, text, 0o644); err != nil {
			return fmt.Errorf("write the Job's manifest: %w", err)
		}
		say("%s is written: kubectl apply -f it, and its pods begin; this waits for them", e.manifest)
		return nil
	}
	if _, err := e.kubectl(ctx, bytes.NewReader(text), "create", "-f", "-"); err != nil {
		return fmt.Errorf("create the Job: %w", err)
	}
	e.created = true
	say("the Job %s is created", e.name)
	return nil
}

// job is its manifest, as JSON, which is YAML too.
func (e *kubernetesEngine) job(orders int, longest time.Duration) []byte {
	type object = map[string]any
	index := filepath.Join(e.dir, queueOrder("$(JOB_COMPLETION_INDEX)"))
	container := object{"name": "work", "image": e.image,
		"command":      []string{filepath.Join(e.dir, "gnvcc"), "work", index + ".json", "-o", index + ".done"},
		"resources":    object{"limits": object{"nvidia.com/gpu": 1}},
		"volumeMounts": []object{{"name": "shared", "mountPath": e.mount}},
	}
	pod := object{"restartPolicy": "Never", "containers": []object{container},
		// An order's own time, and as much for the image to come.
		"activeDeadlineSeconds": int(longest.Seconds()) + 600,
		// what pods write must be ours to read and to remove
		"securityContext": object{"runAsUser": os.Getuid(), "runAsGroup": os.Getgid()},
		"volumes": []object{{"name": "shared",
			"persistentVolumeClaim": object{"claimName": e.claim}}},
	}
	labels := object{"app.kubernetes.io/name": "gnvcc", "app.kubernetes.io/instance": e.name}
	meta := object{"name": e.name, "labels": labels}
	if e.namespace != "" {
		meta["namespace"] = e.namespace
	}
	text, _ := json.MarshalIndent(object{"apiVersion": "batch/v1", "kind": "Job", "metadata": meta,
		"spec": object{"completionMode": "Indexed", "completions": orders,
			"parallelism": min(e.n, orders), "backoffLimitPerIndex": 1, "maxFailedIndexes": orders,
			"ttlSecondsAfterFinished": 3600,
			"template":                object{"metadata": object{"labels": labels}, "spec": pod}}}, "", "  ")
	return append(text, '\n')
}

// Await is queue's: it ends when the order's output is there, or will not come.
func (e *kubernetesEngine) Await(ctx context.Context, i int, out string) error {
	files, status := time.NewTicker(kubernetesFiles), time.NewTicker(kubernetesStatus)
	defer files.Stop()
	defer status.Stop()
	for {
		if _, err := os.Stat(out); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-files.C:
		case <-status.C:
			if err := e.over(ctx, i); err != nil {
				if _, missing := os.Stat(out); missing == nil {
					return nil
				}
				return err
			}
		}
	}
}

// over says why nothing will come of an order any more; nil: it may.
func (e *kubernetesEngine) over(ctx context.Context, i int) error {
	if !e.created {
		return nil
	}
	text, err := e.kubectl(ctx, nil, "get", "job", e.name, "-o", "json", "--ignore-not-found")
	if err != nil { // the cluster may answer again
		return nil
	}
	var job struct {
		Status struct {
			FailedIndexes, CompletedIndexes string
			Conditions                      []struct{ Type, Status, Reason, Message string }
		}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return errors.New("the Job is gone")
	}
	if json.Unmarshal(text, &job) != nil {
		return nil
	}
	switch {
	case hasIndex(job.Status.FailedIndexes, i):
		return errors.New("its pod has failed twice")
	case hasIndex(job.Status.CompletedIndexes, i):
		return errors.New("its pod has ended, and its output is not seen here: is dir the volume's folder?")
	}
	for _, c := range job.Status.Conditions {
		if c.Type == "Failed" && c.Status == "True" {
			return fmt.Errorf("the Job has failed: %s", strings.TrimSpace(c.Reason+" "+c.Message))
		}
	}
	return nil
}

// hasIndex looks into a list like 1,3-5.
func hasIndex(list string, i int) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(part string) bool {
		from, to, ok := strings.Cut(part, "-")
		if !ok {
			to = from
		}
		a, err := strconv.Atoi(from)
		b, errTo := strconv.Atoi(to)
		return err == nil && errTo == nil && a <= i && i <= b
	})
}

func (e *kubernetesEngine) kubectl(ctx context.Context, in *bytes.Reader,
	args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if e.namespace != "" {
		args = append(args, "--namespace", e.namespace)
	}
	cmd := exec.CommandContext(ctx, "kubectl", args...)
	if in != nil {
		cmd.Stdin = in
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if said := strings.TrimSpace(errs.String()); said != "" {
			err = errors.New(said)
		}
		return nil, err
	}
	return out.Bytes(), nil
}

func (e *kubernetesEngine) Close() {
	if e.created { // also where we were interrupted: the context is over then
		_, _ = e.kubectl(context.Background(), nil, "delete", "job", e.name, "--wait=false",
			"--ignore-not-found")
		e.created = false
	}
	if e.dir != "" {
		os.RemoveAll(e.dir)
		e.dir = ""
	}
}
