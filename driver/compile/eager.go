package compile

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gnvcc/driver/job"
	"gnvcc/rewrite/ptx"
	"gnvcc/sim/cubin"
)

// Where a kernel of a file may wait for others, second entries are loaded together with the file.
//
// With lazy loading the first use of a kernel loads it, and until the device is idle nothing begins
// that is launched afterwards, in whatever stream (seen on an H200, driver 580). A program that
// runs a kernel next to one that waits for it loads it before (cudaFuncGetAttributes), as CUDA's
// manual asks for. It knows nothing of the second entry: loaded at a launch, that would keep the
// launch from beginning, for ever. But the driver loads a file's variables with the first of its
// kernels, and whatever their first values are the addresses of. So the file gets a variable that
// begins with the addresses of the second entries: there is no kernel of the file that is loaded,
// and no second entry.
//
// It costs 0.04 ms an entry, once; the code of all kernels is what it is without (cubin.Point).

const (
	withFile = "__gnvcc_seconds"
	pointer  = "__gnvcc_seconds_at" // whose bytes stand in the PTX in the place of entries' addresses
)

// mostTable bounds the size of the two variables, bytes. They are larger than whatever else is
// aligned to one byte, and so stand last.
const mostTable = 1 << 16

// tableStep is what the size of each is a multiple of, bytes. Behind them may come the variables
// without first values, which then move by a multiple of 512: what cudaMalloc and the driver align
// to. So those, too, keep whatever alignment they had by chance.
const tableStep = 256

// notEager says why the code of a job can't be made so, "" where it can: since sm_100 cubins hold
// it twice, and nvlink moves a file's variables behind another's, so that the addresses in the
// table would no longer stand at multiples of their size (no driver was seen to load such).
func notEager(j *job.Job) string {
	var sm int
	_, err := fmt.Sscanf(strings.TrimPrefix(j.Call.Target, "sm_"), "%d", &sm)
	switch {
	case err != nil || sm > 90:
		return "code for " + j.Call.Target + " can't load second entries together with the file"
	case j.Call.Reloc:
		return "code that is still to be linked (-rdc=true) can't load them together with the file"
	}
	return ""
}

// eager assembles a file with second entries, which are loaded with it.
func (b *Workbench) eager(ctx context.Context, j *job.Job, m *ptx.Module, text []byte,
	more []string, seconds []second) (content []byte, messages string, err error) {
	if why := notEager(j); why != "" {
		return nil, "", errors.New(why)
	}
	if m.Global(withFile) != nil || m.Global(pointer) != nil {
		return nil, "", fmt.Errorf("the file has a variable %s or %s", withFile, pointer)
	}
	size := cubin.PointSize(len(seconds))
	for _, g := range m.Globals {
		if g.Space == "global" && g.Align <= 1 {
			size = max(size, g.Size()+1)
		}
	}
	size = (size + tableStep - 1) / tableStep * tableStep
	if size > mostTable {
		return nil, "", fmt.Errorf("it has a variable of %d bytes and more that may stand at any address",
			mostTable-tableStep)
	}
	names, values := make([]string, len(seconds)), make([]string, len(seconds))
	for i, s := range seconds {
		names[i], values[i] = s.name, "0xff("+withFile+")"
	}
	// Behind all others, which keep their places (cubin.Point).
	text = append(append([]byte(nil), text...), fmt.Sprintf(
		"\n.global .align 1 .u8 %s[%d] = {1};\n.global .align 1 .u8 %s[%d] = {%s};\n", withFile, size,
		pointer, size, strings.Join(values, ", "))...)
	if content, messages, err = b.assemble(ctx, j, text, more); err != nil {
		return nil, "", err
	}
	if content, err = cubin.Point(content, withFile, pointer, names); err != nil {
		return nil, "", fmt.Errorf("load second entries with the file: %w", err)
	}
	b.keep("eager.cubin", content)
	return content, messages, nil
}
