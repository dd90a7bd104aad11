package retune

import (
	"context"
	"errors"
	"fmt"
	"os"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/toolkit"
	"gnvcc/policy"
	"gnvcc/policy/judge"
	"gnvcc/profile/capture"
	"gnvcc/profile/replay"
	"gnvcc/sim/cubin"
)

// An edit that leaves the same bytes may still read where it must not. compute-sanitizer says so
// where it is asked for; what it says of the original as well is not the edit's. Where it can't be
// asked, that is said, and the verdict stays.

// sanitize asks each of its tools about each captured launch.
func (j *Judging) sanitize(ctx context.Context, k *JudgedKernel, o *original, edit *cubin.File,
	code judge.Code) {
	if len(j.o.Sanitize) == 0 || !k.Equal {
		return
	}
	note := func(format string, args ...any) {
		k.Notes = append(k.Notes, "compute-sanitizer "+fmt.Sprintf(format, args...))
	}
	self, _ := os.Executable()
	kit, err := toolkit.Find(self, environment.Read())
	if err != nil {
		note("was not asked: %v", err)
		return
	}
	program, err := kit.Tool("compute-sanitizer")
	if err != nil {
		note("was not asked: %v (pip's nvidia-cuda-sanitizer-api has it)", err)
		return
	}
	of := capture.Code{Cubin: code.Cubin, Hash: cache.Hash(code.Cubin)}
	known, _ := edit.Kernel(code.Kernel)
	for _, p := range known.Params {
		of.Params = append(of.Params, [2]int{p.Offset, p.Size})
	}
	for _, g := range edit.Globals {
		of.Variables = append(of.Variables, capture.ModuleValue{Name: g.Name, Size: int64(g.Size)})
	}
	for _, tool := range j.o.Sanitize {
		for _, m := range o.list {
			out, err := j.sanitized(ctx, m, &of, program, tool)
			if err == nil && len(out.Findings) > 0 {
				var own judge.Sanitized
				if own, err = j.sanitized(ctx, m, nil, program, tool); err != nil {
					err = fmt.Errorf("it finds %s, but whether in the original, too, is not known: %w",
						out.Findings[0], err)
				} else if len(own.Findings) > 0 {
					err = errors.New("it finds something in the original, too: " + own.Findings[0])
				}
			}
			if err != nil {
				note("can't tell: %s, the captured launch %s: %v", tool, m.ID, err)
				break
			}
			if len(out.Findings) > 0 {
				k.Verdict = judge.Verdict{How: judge.Faults, Where: "the captured launch " + m.ID,
					Launches: k.Launches, Why: fmt.Sprintf("%s (compute-sanitizer's %s; %s)",
						out.Findings[0], tool, policy.Count(out.Errors, "error"))}
				return
			}
			if m == o.list[len(o.list)-1] {
				k.Sanitized = append(k.Sanitized, tool)
			}
		}
	}
}

// sanitized asks one tool about one launch, of an edit or of the original.
func (j *Judging) sanitized(ctx context.Context, m *capture.Manifest, edit *capture.Code,
	program, tool string) (out judge.Sanitized, err error) {
	if edit != nil {
		if m, err = j.captures.Edited(m, *edit); err != nil {
			return out, err
		}
	}
	u, err := replay.Unpack(j.captures, m, j.compiler.Folder())
	if err != nil {
		return out, err
	}
	defer u.Close()
	text, err := replay.Sanitize(ctx, replay.Options{Program: j.replayer,
		Scratch: j.compiler.Folder()}, u, program, tool)
	out = judge.ReadSanitized(text)
	switch {
	case len(out.Findings) > 0: // a launch that faults does not come to its end
		return out, nil
	case err != nil && out.Trouble != "":
		return out, fmt.Errorf("%w; %s", err, out.Trouble)
	case err == nil && out.Trouble != "":
		return out, errors.New(out.Trouble)
	}
	return out, err
}
