package driver

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/ptx"
	"gnvcc/sim/cubin"
)

// A job is one ptxas call with its PTX: what the ptxas stage and the tuner's compiler both work on.
type job struct {
	call    *toolcmd.Ptxas
	tool    string // ptxas' path
	version string // "13.0.88"
	ptx     []byte
	hash    string // of ptx
	key     string // hash of all that ptxas' result and its messages depend on, names of files aside

	read func() (*ptx.Module, error) // ptx, read when it is first asked for; the module is for reading only
}

// maxPTX is the largest PTX that is looked into, bytes. The largest that we have seen is 60 MB (a TU of CUTLASS kernels);
// a stage that eats all memory would be worse than one that steps aside.
const maxPTX = 512 << 20

// newJob makes a job of a call that was read and the text of its input.
func newJob(store *cache.Store, call *toolcmd.Ptxas, tool string, text []byte) (*job, error) {
	j := &job{call: call, tool: tool, ptx: text, hash: cache.Hash(text)}
	id, err := cache.FileKey(tool)
	if err != nil {
		return nil, fmt.Errorf("look at ptxas: %w", err)
	}
	j.read = sync.OnceValues(func() (*ptx.Module, error) { return ptx.Parse(text) })
	if j.version, err = versionOf(store, tool, id); err != nil {
		return nil, err
	}
	j.key = cache.HashOf("ptxas 1", j.hash, id, strings.Join(call.Template(), "\x00"))
	return j, nil
}

// identityVersion goes into every identity: it changes when the normal form does.
const identityVersion = "kernel 1"

// identities gives the entries of a job's PTX, with the keys of their decisions. A kernel whose normal form can't be made has
// none, and is left alone.
func (j *job) identities() ([]cache.Kernel, error) {
	m, err := j.read()
	if err != nil {
		return nil, fmt.Errorf("read the PTX: %w", err)
	}
	var kernels []cache.Kernel
	for _, f := range m.Entries() {
		k := cache.Kernel{Name: f.Name}
		if normal, err := m.Identity(f.Name); err == nil {
			k.Identity = Identity(normal.String(), j.call.Target, j.version, j.call.Flags)
		}
		kernels = append(kernels, k)
	}
	return kernels, nil
}

// Identity is the key under which a kernel's decision is kept: what the kernel is, and what it is compiled for and by.
// normal is the hash of its PTX' normal form, flags those of ptxas that change the code.
func Identity(normal, target, version string, flags []string) string {
	return cache.HashOf(identityVersion, normal, target, version, strings.Join(flags, "\x00"))
}

// A standard is what nvcc's own compile of a job gave. It is kept from the first compile on, so that a build with
// recipes knows the registers that it must not get too far away from and the messages that the user is to see.
type standard struct {
	Kernels  []cache.Kernel
	Cubin    string // hash
	Messages []message
	Whole    bool // the messages are all there
}

const memoStandard cache.Memos[standard] = "standard"

func (j *job) loadStandard(store *cache.Store) (*standard, bool) {
	d, ok := memoStandard.Get(store, j.key)
	if !ok || d.Cubin == "" {
		return nil, false
	}
	for i := range d.Messages {
		d.Messages[i].Text = strings.ReplaceAll(d.Messages[i].Text, namePlace, j.call.Input())
	}
	return &d, true
}

// namePlace stands for the input's name in kept messages. It cannot occur in them otherwise.
const namePlace = "\x00in\x00"

func (j *job) keepStandard(store *cache.Store, d *standard) error {
	kept := *d
	kept.Messages = append([]message(nil), d.Messages...)
	for i := range kept.Messages {
		kept.Messages[i].Text = strings.ReplaceAll(kept.Messages[i].Text, j.call.Input(), namePlace)
	}
	return memoStandard.Put(store, j.key, kept)
}

// readBack puts what a cubin says into the records of its kernels. Every kernel of the PTX must be there.
func readBack(kernels []cache.Kernel, content []byte) ([]cache.Kernel, *cubin.File, error) {
	f, err := cubin.Read(content)
	if err != nil {
		return nil, nil, fmt.Errorf("read the cubin: %w", err)
	}
	out := append([]cache.Kernel(nil), kernels...)
	for i := range out {
		k, ok := f.Kernel(out[i].Name)
		if !ok {
			return nil, nil, fmt.Errorf("the cubin has no kernel %s", out[i].Name)
		}
		out[i].Registers, out[i].Stack, out[i].Shared, out[i].Barriers = k.Registers, k.Stack, k.Shared, k.Barriers
	}
	return out, f, nil
}

// spills puts in what ptxas -v printed, where it did. A cubin does not hold it.
func spills(kernels []cache.Kernel, messages []message) {
	var all strings.Builder
	for _, m := range messages {
		all.WriteString(m.Text)
	}
	usage := cubin.Spills(all.String())
	for i := range kernels {
		if u, ok := usage[kernels[i].Name]; ok {
			kernels[i].Spill = u.Stores
		}
	}
}

// assembly makes the record of a job that gave a cubin.
func (j *job) assembly(command, dir, cubinHash string, kernels []cache.Kernel) cache.Assembly {
	return cache.Assembly{
		Command: command, Ptxas: j.tool, Version: j.version, Args: j.call.Template(), Dir: dir,
		Target: j.call.Target, Reloc: j.call.Reloc, PTX: j.hash, Cubin: cubinHash, Kernels: kernels,
	}
}

var errLimit = errors.New("it took too long")

// hasKernels tells whether a cubin holds kernels.
func hasKernels(content []byte) bool {
	f, err := cubin.Read(content)
	return err == nil && len(f.Kernels) > 0
}
