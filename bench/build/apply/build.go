package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gnvcc/bench/lab"
	"gnvcc/cache"
	"gnvcc/driver/compile"
)

// A File is what was measured on one source. The lists run parallel, an entry a pair, seconds.
type File struct {
	Name    string
	Kernels int // in the PTX, each with a recipe
	Nvcc    []float64
	Apply   []float64
	// User and system, all children: on a machine with other load the fairer figure.
	NvccCPU  []float64
	ApplyCPU []float64
	// The first apply after a build, which finds less in the store than later ones, against nvcc; one
	// pair, user and system.
	First float64
}

// A cost is in seconds.
type cost struct{ wall, cpu float64 }

type builder struct {
	nvcc, gnvcc, work string
	flags             []string
	recipe            string // with %d
	limit             time.Duration
}

func (b builder) measure(ctx context.Context, file string, pairs int) (File, error) {
	f := File{Name: filepath.Base(file)}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return f, err
	}
	name := strings.TrimSuffix(f.Name, ".cu")
	folder := filepath.Join(b.work, name+".store")
	env := []string{"GNVCC_STORE=" + folder, "GNVCC_NVCC=" + b.nvcc, "GNVCC_STRICT=1"}
	timed := func(argv ...string) (cost, error) {
		r := lab.Step{Argv: argv, Dir: dir, Env: env, Limit: b.limit}.Run(ctx)
		return cost{r.Wall.Seconds(), (r.User + r.System).Seconds()}, r.Err
	}
	build := func(compiler, out string) (cost, error) {
		argv := append([]string{compiler}, b.flags...)
		return timed(append(argv, "-c", f.Name, "-o", filepath.Join(b.work, name+out))...)
	}
	store, err := cache.Open(folder)
	if err != nil {
		return f, err
	}
	if _, err := build(b.gnvcc, ".o"); err != nil {
		return f, err
	}
	for i := -1; i < pairs; i++ { // the first fills the file cache
		if f.Kernels, err = plant(ctx, store, strings.ReplaceAll(b.recipe, "%d",
			strconv.Itoa(64+8*(i+1)))); err != nil {
			return f, err
		}
		apply := func() (cost, error) { return timed(b.gnvcc, "apply", "--all") }
		nvcc := func() (cost, error) { return build(b.nvcc, ".nvcc.o") }
		var a, n cost
		var err1, err2 error
		if i%2 == 0 {
			a, err1 = apply()
			n, err2 = nvcc()
		} else {
			n, err2 = nvcc()
			a, err1 = apply()
		}
		if err1 != nil || err2 != nil {
			return f, fmt.Errorf("apply and nvcc: %w", errors.Join(err1, err2))
		}
		if i < 0 {
			f.First = a.cpu / n.cpu
		} else {
			f.Apply, f.Nvcc = append(f.Apply, a.wall), append(f.Nvcc, n.wall)
			f.ApplyCPU, f.NvccCPU = append(f.ApplyCPU, a.cpu), append(f.NvccCPU, n.cpu)
		}
	}
	return f, nil
}

// plant decides on a recipe for every kernel that was built.
func plant(ctx context.Context, store *cache.Store, recipe string) (int, error) {
	owner, err := store.Own(ctx)
	if err != nil {
		return 0, err
	}
	defer owner.Close()
	if _, err := owner.Merge(); err != nil {
		return 0, err
	}
	if err := owner.Publish(); err != nil {
		return 0, err
	}
	sn, err := store.Snapshot()
	if err != nil {
		return 0, err
	}
	defer sn.Close()
	kernels := map[string]cache.Decision{}
	err = sn.Each(cache.Assemblies, "", func(_ string, text []byte) error {
		var a cache.Assembly
		if err := json.Unmarshal(text, &a); err != nil {
			return err
		}
		for _, k := range a.Kernels {
			if kernels[k.Identity].Recipe != "" {
				continue
			}
			d, err := compile.Assume(ctx, store, k.Identity, recipe)
			if err != nil {
				return err
			}
			kernels[k.Identity] = d
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if len(kernels) == 0 {
		return 0, fmt.Errorf("no kernel was noted by the build")
	}
	for id, d := range kernels {
		if err := owner.Put(cache.Decisions, id, d); err != nil {
			return 0, err
		}
	}
	return len(kernels), owner.Publish()
}
