package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

func main() {
	why := flag.Bool("v", false, "list the other kernels too, each with the reason")
	flag.Parse()
	failed := false
	for _, path := range flag.Args() {
		if err := list(os.Stdout, path, *why); err != nil {
			fmt.Fprintf(os.Stderr, "headroom: %v\n", err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// list writes a line for each kernel of a file.
func list(w io.Writer, path string, why bool) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	m, err := ptx.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, f := range m.Entries() {
		use, err := dataflow.IndexOnly(m, f.Name)
		switch {
		case err == nil:
			fmt.Fprintln(w, f.Name, digits(use.Dims))
		case why:
			fmt.Fprintf(w, "# %s: %v\n", f.Name, err)
		}
	}
	return nil
}

func digits(dims [3]bool) string {
	out := []byte("000")
	for i, used := range dims {
		if used {
			out[i] = '1'
		}
	}
	return string(out)
}
