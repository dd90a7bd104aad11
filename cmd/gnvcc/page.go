package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/page"
	"gnvcc/policy/report"
	"gnvcc/policy/tuner"
)

// writePage writes a page with all that this store knows beside the decisions: programs, toolkits,
// recipes as source.
func writePage(path string, in page.Input) error {
	store, err := openStore()
	if err != nil {
		return err
	}
	known := newestBuilt(store)
	if c, err := tuner.NewCompiler(store); err == nil {
		defer c.Close()
		in.Patch = func(d cache.Decision) string {
			p, err := patchOf(c, known, d, unrehearsed)
			if err != nil {
				return "no diff: " + err.Error()
			}
			return p
		}
	}
	in.Toolkit = func(d cache.Decision) string {
		if k, ok := known[d.Identity]; ok {
			return "ptxas " + k.Assembly.Version
		}
		return ""
	}
	var b bytes.Buffer
	if err := page.Write(&b, in); err != nil {
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// programs are those of a scope that were observed, with what the decisions make of their time.
func programs(mine *scope, decisions []cache.Decision) []page.Program {
	store, err := openStore()
	if err != nil {
		return nil
	}
	s, err := tuner.Captures(store)
	if err != nil {
		return nil
	}
	ratio, decided := map[string]float64{}, map[string]string{} // why it was left alone, "" where not
	for _, d := range decisions {
		key := d.Kernel + "\x00" + d.Evidence.Device
		if len(d.Evidence.Launches) > 0 {
			decided[key] = ""
		} else if _, ok := decided[key]; !ok {
			decided[key] = cmp.Or(d.Evidence.Note, "nothing was measured")
		}
		if e := report.NewEntry(d); e.Recipe != "" && !d.Pinned && !d.Predicted && e.Ratio > 0 {
			ratio[d.Kernel+"\x00"+d.Evidence.Device] = e.Ratio
		}
	}
	var out []page.Program
	for _, p := range s.Profiles() {
		if !mine.has(p) {
			continue
		}
		x := page.Program{Name: mine.short(p.Program), Device: p.Device, Seconds: p.Seconds}
		for _, l := range p.Shapes {
			r, ok := ratio[l.Kernel+"\x00"+p.Device]
			if !ok {
				r = 1
			} else {
				x.Faster += l.Seconds
			}
			x.After += l.Seconds * r
			why, known := decided[l.Kernel+"\x00"+p.Device]
			if !known {
				why = cmp.Or(l.Why, "nothing was decided")
			}
			x.Pieces = append(x.Pieces, policy.Piece{Kernel: policy.ShortName(l.Kernel),
				Seconds: l.Seconds, After: l.Seconds * r, Why: why})
		}
		x.Pieces = policy.ByTime(x.Pieces)
		out = append(out, x)
	}
	return out
}

// tellPrograms says of each program how much of its time became faster.
func tellPrograms(w io.Writer, list []page.Program) {
	for _, p := range list {
		fmt.Fprintf(w, "%s: %.3g s on %s, %.0f %% of it in kernels\n", p.Name, p.Seconds, p.Device,
			p.Percent())
		fmt.Fprintf(w, "that became faster: about %.3g s with their recipes\n", p.After)
	}
	if len(list) > 0 {
		fmt.Fprintln(w)
	}
}
