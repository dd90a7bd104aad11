package tuner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The engines: processes on this machine, and Slurm's steps. Each runs `gnvcc __work ORDER FILE`,
// and none knows what is in an order.

// WorkVerb is the first argument of a worker; no user types it.
const WorkVerb = "__work"

// NewEngine reads what --on says; gnvcc is the program that workers run.
func NewEngine(text, gnvcc string) (Engine, error) {
	kind, rest, _ := strings.Cut(text, ":")
	count := map[string]string{"local": "gpus", "slurm": "n"}[kind]
	if count == "" {
		return nil, fmt.Errorf("--on %s: there are local:gpus=N and slurm:n=N", text)
	}
	n, options := 1, []string(nil)
	for word := range strings.SplitSeq(rest, ",") {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case word == "":
		case !ok || name == "" || value == "":
			return nil, fmt.Errorf("--on %s: %q is not NAME=VALUE", text, word)
		case name == count:
			var err error
			if n, err = strconv.Atoi(value); err != nil || n < 1 || n > 4096 {
				return nil, fmt.Errorf("--on %s: %q is no number of workers", text, value)
			}
		case kind == "local":
			return nil, fmt.Errorf("--on %s: local takes gpus=N, and no %s", text, name)
		default: // salloc's own
			options = append(options, "--"+name+"="+value)
		}
	}
	if kind == "local" {
		return &localEngine{program: gnvcc, n: n}, nil
	}
	return &slurmEngine{program: gnvcc, n: n, options: options}, nil
}

// worked runs a worker, and gives its error's last line.
func worked(cmd *exec.Cmd) error {
	runtime.LockOSThread() // Pdeathsig watches the thread that starts the child
	defer runtime.UnlockOSThread()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
	for _, line := range lines { // the worker's own word, rather than what its launcher says after it
		if said, ok := strings.CutPrefix(line, "gnvcc tune: "); ok {
			if rest, unfit := strings.CutPrefix(said, ErrUnfit.Error()+": "); unfit {
				return fmt.Errorf("%w: %s", ErrUnfit, rest)
			}
			return errors.New(said)
		}
	}
	if last := lines[len(lines)-1]; last != "" {
		return fmt.Errorf("its worker was lost: %s (%w)", last, err)
	}
	return fmt.Errorf("its worker was lost: %w", err)
}

// A localEngine has a process for each GPU of this machine.
type localEngine struct {
	program string
	n       int
	devices []string
}

func (e *localEngine) Open(context.Context, string) (int, error) {
	e.devices = nil
	for i := range e.n {
		e.devices = append(e.devices, strconv.Itoa(i))
	}
	if given := os.Getenv("CUDA_VISIBLE_DEVICES"); given != "" {
		e.devices = strings.Split(given, ",")
		if len(e.devices) < e.n {
			return 0, fmt.Errorf("%d GPUs are wanted, and CUDA_VISIBLE_DEVICES is %s", e.n, given)
		}
	}
	return e.n, nil
}

func (e *localEngine) Here() bool { return true }
func (e *localEngine) Close()     {}

func (e *localEngine) Run(ctx context.Context, worker int, order, out string) error {
	cmd := exec.CommandContext(ctx, e.program, WorkVerb, order, out)
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES="+e.devices[worker])
	return worked(cmd)
}

// A slurmEngine has one allocation, and a step of it for each order. The allocation is held by a
// shell that waits for its input to end: when we end, however, so does it, and the steps with it.
type slurmEngine struct {
	program string
	options []string
	n       int

	job   string
	hold  *exec.Cmd
	until io.Closer
}

// openLimit is how long an allocation is waited for. Queues may be long: the user sees that it is
// waited for, and can interrupt.
const openLimit = 24 * time.Hour

func (e *slurmEngine) Open(ctx context.Context, shared string) (n int, err error) {
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	options := append([]string{"--ntasks=" + strconv.Itoa(e.n), "--gpus=" + strconv.Itoa(e.n),
		"--job-name=gnvcc", "--quiet"}, e.options...)
	e.hold = exec.Command("salloc", append(options, "sh", "-c", `echo "$SLURM_JOB_ID"; exec cat`)...)
	e.hold.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's ^C is for us
	var errs bytes.Buffer
	e.hold.Stderr = &errs
	stdin, err := e.hold.StdinPipe()
	if err != nil {
		return 0, err
	}
	stdout, err := e.hold.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := e.hold.Start(); err != nil {
		e.hold = nil
		return 0, fmt.Errorf("ask Slurm for %d GPUs: %w", e.n, err)
	}
	e.until = stdin
	line := make(chan string, 1)
	go func() {
		b := make([]byte, 64)
		n, _ := stdout.Read(b)
		line <- strings.TrimSpace(string(b[:n]))
	}()
	select {
	case e.job = <-line:
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(openLimit):
		return 0, errors.New("no allocation came from Slurm")
	}
	if _, err := strconv.Atoi(e.job); err != nil {
		e.until.Close()
		_ = e.hold.Wait()
		e.hold = nil
		return 0, fmt.Errorf("ask Slurm for %d GPUs: %s", e.n, strings.TrimSpace(errs.String()))
	}
	// Every node has to see the store and gnvcc: it is asked before anything is searched.
	probe := exec.CommandContext(ctx, "srun", "--jobid="+e.job, "--overlap", "--ntasks-per-node=1",
		"test", "-x", e.program, "-a", "-w", shared)
	if out, err := probe.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("not all nodes see %s and %s (GNVCC_STORE names another store): %s", e.program,
			shared, strings.TrimSpace(string(out)))
	}
	return e.n, nil
}

func (e *slurmEngine) Here() bool { return false }

func (e *slurmEngine) Run(ctx context.Context, worker int, order, out string) error {
	return worked(exec.CommandContext(ctx, "srun", "--jobid="+e.job, "--ntasks=1", "--nodes=1",
		"--gpus=1", "--exact", e.program, WorkVerb, order, out))
}

func (e *slurmEngine) Close() {
	if e.until != nil {
		e.until.Close()
		e.until = nil
	}
	if e.hold != nil {
		ended := make(chan struct{})
		go func() { _ = e.hold.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second): // a controller that does not answer
			_ = e.hold.Process.Kill()
			<-ended
		}
		e.hold = nil
	}
}
