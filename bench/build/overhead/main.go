package overhead

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gnvcc/bench/lab"
)

// A Raw is everything that was measured.
type Raw struct {
	Machine  lab.Machine
	Programs []Program
	Start    Start // none with -starts 0
}

// Run is the command.
func Run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("overhead", flag.ContinueOnError)
	gnvcc := set.String("gnvcc", "bin/gnvcc", "gnvcc")
	nvcc := set.String("nvcc", "nvcc", "the real nvcc")
	rounds := set.Int("rounds", 7, "rounds of builds per program")
	stores := set.String("stores", "known,unit,first", "what stores know")
	lock := set.String("lock", "", "lock file: builds with its recipes, too, of which the store knows no more than unit")
	starts := set.Int("starts", 200, "starts of the face")
	flags := set.String("flags", "-O3 -arch=sm_90", "flags for folders without a Makefile")
	limit := set.Duration("limit", 5*time.Minute, "of one build")
	commit := set.String("commit", "", "gnvcc's commit, where there is no git")
	out := set.String("out", "", "file for the raw results")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *rounds < 1 || *starts < 0 {
		return fmt.Errorf("-rounds must be at least 1, and -starts 0")
	}
	if err := lab.Tools(gnvcc, nvcc); err != nil {
		return err
	}
	folders, err := find(set.Args())
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "gnvcc-overhead-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	b := builder{nvcc: *nvcc, gnvcc: *gnvcc, work: work, flags: strings.Fields(*flags), limit: *limit}
	if err := b.compare(*stores); err != nil {
		return err
	}
	if *lock != "" {
		if b.lock, err = filepath.Abs(*lock); err != nil {
			return err
		}
		b.stores = append(b.stores, recipes)
	}
	raw := Raw{Machine: lab.Gather(ctx, *nvcc, *gnvcc, *commit)}
	fmt.Println(raw.Machine)
	failed := 0
	for _, folder := range folders {
		p := b.measure(ctx, folder, *rounds)
		if raw.Programs = append(raw.Programs, p); p.Failed != "" {
			failed++
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	table(os.Stdout, raw.Programs)
	if *starts > 0 {
		if raw.Start, err = b.start(ctx, *starts); err != nil {
			return err
		}
		fmt.Println(raw.Start)
	}
	if err := lab.WriteJSON(*out, raw); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d programs could not be built", failed, len(folders))
	}
	return nil
}

// compare takes in which stores are measured.
func (b *builder) compare(stores string) error {
	for _, store := range strings.Split(stores, ",") {
		if store != known && store != unit && store != first {
			return fmt.Errorf("-stores %q: some of known, unit and first", stores)
		}
		b.stores = append(b.stores, store)
	}
	return nil
}
