package harm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"gnvcc/bench/lab"
)

// Raw is what -out keeps.
type Raw struct {
	Machine lab.Machine
	Tune    string // its options
	Results []Result
}

// Run is the command.
func Run(ctx context.Context, args []string) error {
	var b bench
	fs := flag.NewFlagSet("harm", flag.ContinueOnError)
	fs.StringVar(&b.gnvcc, "gnvcc", "gnvcc", "the gnvcc to try")
	fs.StringVar(&b.nvcc, "nvcc", "nvcc", "the real nvcc, which it is compared with")
	fs.StringVar(&b.arch, "arch", "sm_90", "target of all builds")
	work := fs.String("work", "", "`folder` to build in (default: a temporary one, removed)")
	tune := fs.String("tune", "--budget 4s", "`options` of gnvcc tune")
	out := fs.String("out", "", "keep raw results in this `file`, as JSON")
	commit := fs.String("commit", "", "of gnvcc, where this is no checkout of it")
	builders := fs.Int("builders", 16, "builds at a time")
	runs := fs.Int("jobs", 8, "programs at a time on the GPU")
	fs.DurationVar(&b.limit, "limit", 60*time.Second, "of one run, a search included")
	budget := fs.Duration("budget", time.Hour, "no program is begun after this time")
	only := fs.Bool("build", false, "only build, by both compilers")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() == 0 {
		return errors.New("which programs? name the folder, and some of them, or none for all")
	}
	folder, names := fs.Arg(0), fs.Args()[1:]
	if *builders < 1 || *runs < 1 {
		return errors.New("-builders and -jobs: at least 1")
	}
	programs, err := load(folder, names)
	if err != nil {
		return err
	}
	if err := lab.Tools(&b.gnvcc, &b.nvcc); err != nil {
		return err
	}
	b.tune, b.slots = append(strings.Fields(*tune), "--quiet"), make(chan struct{}, *runs)
	var remove func()
	if b.work, remove, err = lab.Work(*work, "harm", b.gnvcc); err != nil {
		return err
	}
	defer remove()
	raw := Raw{Tune: *tune, Machine: lab.Gather(ctx, b.nvcc, b.gnvcc, *commit)}
	end := time.Now().Add(*budget)
	raw.Results = b.each(ctx, programs, *builders, *only, end)
	if err := lab.WriteJSON(*out, raw); err != nil {
		return err
	}
	fmt.Println(raw.Machine)
	bad := table(os.Stdout, raw.Results)
	if err := ctx.Err(); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d programs are harmed, or could not be tried", bad)
	}
	return nil
}

// each takes each program its way.
func (b *bench) each(ctx context.Context, programs []Program, builders int, only bool,
	end time.Time) []Result {
	results := make([]Result, len(programs))
	compilers := make(chan struct{}, builders)
	one := func(i int) {
		p := programs[i]
		results[i] = Result{Name: p.Name, Class: p.Class, Verdict: Failed}
		compilers <- struct{}{}
		err := b.builds(ctx, p)
		<-compilers
		switch {
		case err != nil:
			results[i].Why = err.Error()
		case only:
			results[i].Verdict, results[i].Why = Skipped, "it builds by both compilers"
		case time.Now().After(end):
			results[i].Why = "the time was over"
		default:
			results[i] = b.try(ctx, p)
		}
	}
	var wait sync.WaitGroup
	for i := range programs {
		wait.Go(func() { one(i) })
	}
	wait.Wait()
	return results
}
