// lowered measures slices of lowered device code: how many kernels of builds are sliced, how many of
// the slices give nvcc's own PTX, why the others are refused, and what cicc takes for one.
//
//	nvcc FLAGS -v --keep --keep-dir D -c x.cu 2> D/nvcc.log     # any number of such folders
//	lowered -cuda TOOLKIT FOLDER...                              # a line a FOLDER, which is a corpus
//
// It runs one cicc at a time, so that seconds are those of a candidate on a quiet core.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/google/shlex"

	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/ptx"
)

var (
	cuda    = flag.String("cuda", os.Getenv("CUDA_HOME"), "the toolkit `folder`")
	verbose = flag.Bool("v", false, "a line for each kernel that is not the same")
	keep    = flag.String("keep", "", "`folder` for the texts of kernels that are not the same")
	only    = flag.String("kernel", "", "only kernels whose name holds this `text`")
	most    = flag.Int("most", 0, "at most so many kernels of a file; 0: all")
	limit   = flag.Duration("limit", time.Minute, "of one cicc")
)

// A corpus is what is counted of one folder.
type corpus struct {
	files, kernels, sliced, same, strict int
	reasons                              map[string]int
	seconds                              []float64
	parse                                time.Duration
	bytes                                int
}

func main() {
	flag.Parse()
	fmt.Printf("%-28s %6s %7s %6s %6s %7s  %6s  %s\n", "corpus", "files", "kernels", "sliced", "same", "", "bytes", "cicc: median, largest; parse")
	for _, folder := range flag.Args() {
		c := corpus{reasons: map[string]int{}}
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err == nil && filepath.Base(path) == "nvcc.log" {
				return c.build(path)
			}
			return err
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "lowered:", folder, err)
			os.Exit(1)
		}
		c.print(filepath.Base(folder))
	}
}

func (c *corpus) print(name string) {
	sort.Float64s(c.seconds)
	median, largest := 0.0, 0.0
	if n := len(c.seconds); n > 0 {
		median, largest = c.seconds[n/2], c.seconds[n-1]
	}
	fmt.Printf("%-28s %6d %7d %6d %6d %6.1f%%  %6d  %.3f %.3f s; %.0f ms a MB\n", name, c.files, c.kernels, c.sliced, c.same,
		100*float64(c.same)/float64(max(1, c.kernels)), c.strict, median, largest, c.parse.Seconds()*1e9/float64(max(1, c.bytes)))
	var reasons []string
	for r := range c.reasons {
		reasons = append(reasons, r)
	}
	sort.Slice(reasons, func(i, j int) bool { return c.reasons[reasons[i]] > c.reasons[reasons[j]] })
	for _, r := range reasons {
		fmt.Printf("    %4d %s\n", c.reasons[r], r)
	}
}

// build reads what nvcc did, by its log.
func (c *corpus) build(log string) error {
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	for _, line := range strings.Split(string(text), "\n") {
		line, ok := strings.CutPrefix(line, "#$ ")
		if !ok || !strings.Contains(line, "--gen_device_file_name") {
			continue
		}
		args, err := shlex.Split(line)
		if err != nil || !strings.HasSuffix(args[0], "cicc") {
			continue
		}
		call, err := toolcmd.ReadCicc(args[1:])
		if err != nil {
			continue
		}
		at := slices.Index(args, "--gen_device_file_name") + 1
		if err := c.file(filepath.Dir(log), call, args[at]); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", log, err)
		}
	}
	return nil
}

// file measures all kernels of one text.
func (c *corpus) file(dir string, call *toolcmd.Cicc, gpu string) error {
	in := func(name string) string { return filepath.Join(dir, filepath.Base(name)) }
	text, err := os.ReadFile(in(gpu))
	if err != nil {
		return err
	}
	content, err := os.ReadFile(in(call.Args[call.Out]))
	if err != nil {
		return err
	}
	own, err := ptx.Parse(content)
	if err != nil {
		return err
	}
	c.files++
	began := time.Now()
	unit, err := lowered.Parse(text)
	c.parse += time.Since(began)
	c.bytes += len(text)
	n := 0
	for _, e := range own.Entries() {
		if !strings.Contains(e.Name, *only) || *most > 0 && n >= *most {
			continue
		}
		n++
		c.kernels++
		why, detail := "", ""
		if err != nil {
			why = err.Error()
		} else {
			why, detail = c.kernel(unit, own, call, e.Name)
		}
		if why == "" {
			c.same++
			continue
		}
		c.reasons[why]++
		if *verbose {
			fmt.Printf("%s: %s: %s\n%s", filepath.Base(gpu), e.Name, why, detail)
		}
	}
	return nil
}

// kernel slices one and compares; why it is not the same, and what there is to be seen of it.
func (c *corpus) kernel(unit *lowered.Unit, own *ptx.Module, call *toolcmd.Cicc, name string) (why, detail string) {
	k, err := unit.Kernel(name)
	if err != nil {
		return reason(err.Error()), ""
	}
	text, err := k.Slice()
	if err != nil {
		return reason(err.Error()), ""
	}
	c.sliced++
	dir, err := os.MkdirTemp("", "lowered")
	if err != nil {
		return err.Error(), ""
	}
	defer os.RemoveAll(dir)
	args, in, out := call.Slice(dir)
	os.WriteFile(in, text, 0o600)
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	began := time.Now()
	cmd := exec.CommandContext(ctx, filepath.Join(*cuda, "nvvm", "bin", "cicc"), append([]string{"-w"}, args...)...)
	messages, err := cmd.CombinedOutput()
	c.seconds = append(c.seconds, time.Since(began).Seconds())
	save := func(content []byte) {
		if *keep != "" {
			base := filepath.Join(*keep, name[:min(len(name), 100)])
			os.MkdirAll(*keep, 0o755)
			os.WriteFile(base+".ii", text, 0o644)
			if content != nil {
				a, _ := own.Normal(name)
				os.WriteFile(base+".own", a, 0o644)
				if m, err := ptx.Parse(content); err == nil {
					b, _ := m.Normal(name)
					os.WriteFile(base+".slice", b, 0o644)
				}
			}
		}
	}
	if err != nil {
		save(nil)
		first, _, _ := bytes.Cut(bytes.TrimSpace(messages), []byte("\n"))
		if n := bytes.Index(first, []byte("error: ")); n >= 0 {
			first = first[n+7:]
		}
		return "cicc: " + cut(string(first)), "    " + strings.ReplaceAll(string(messages[:min(len(messages), 600)]), "\n", "\n    ") + "\n"
	}
	content, err := os.ReadFile(out)
	if err != nil {
		return err.Error(), ""
	}
	m, err := lowered.Read(own, content)
	if err != nil {
		return err.Error(), ""
	}
	if err := lowered.Same(own, m, name); err != nil {
		save(content)
		return reason(err.Error()), ""
	}
	if a, err := own.Identity(name); err == nil {
		if b, err := m.Identity(name); err == nil && a == b {
			c.strict++
		}
	}
	return "", ""
}

// reason is a refusal without the kernel's name.
func reason(text string) string {
	if _, r, ok := strings.Cut(text, "is left alone: "); ok {
		return cut(r)
	}
	return cut(text)
}

func cut(s string) string { return s[:min(len(s), 110)] }
