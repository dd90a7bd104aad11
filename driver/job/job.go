package job

import (
	"fmt"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/driver/child"
	"gnvcc/driver/toolcmd"
	"gnvcc/driver/toolkit"
	"gnvcc/rewrite/ptx"
	"gnvcc/sim/cubin"
)

// A Job is one ptxas call with its PTX: what the ptxas stage and the tuner's compiler both work on.
type Job struct {
	Call    *toolcmd.Ptxas
	Tool    string // ptxas' path
	Version string // "13.0.88"; Of leaves it out
	PTX     []byte
	Hash    string // of ptx
	Key     string // hash of all that ptxas' result and its messages depend on, names of files aside

	id string // of the tool's file

	// ptx, read when it is first asked for; the module is for reading only
	Read func() (*ptx.Module, error)
}

// New makes a job of a call that was read and the text of its input.
func New(store *cache.Store, call *toolcmd.Ptxas, tool string, text []byte) (*Job, error) {
	j, err := Of(store, call, tool, text)
	if err == nil {
		err = j.AskVersion(store)
	}
	return j, err
}

// Of is New without the version, for which ptxas may have to be run. Kernels and Assembly need it.
func Of(store *cache.Store, call *toolcmd.Ptxas, tool string, text []byte) (*Job, error) {
	j := &Job{Call: call, Tool: tool, PTX: text, Hash: cache.Hash(text)}
	id, err := store.FileKey(tool)
	if err != nil {
		return nil, fmt.Errorf("look at ptxas: %w", err)
	}
	j.Read = sync.OnceValues(func() (*ptx.Module, error) { return ptx.Parse(text) })
	j.id = id
	j.Key = cache.HashOf("ptxas 1", j.Hash, id, strings.Join(call.Template(), "\x00"))
	return j, nil
}

// AskVersion asks ptxas for its version, once in the life of its file.
func (j *Job) AskVersion(store *cache.Store) (err error) {
	j.Version, err = toolkit.VersionOf(store, j.Tool, j.id)
	return err
}

// identityVersion goes into every identity: it changes when the normal form does.
const identityVersion = "kernel 1"

// Kernels gives the entries of a job's PTX, with the keys of their decisions. A kernel whose normal
// form can't be made has none, and is left alone.
func (j *Job) Kernels() ([]cache.Kernel, error) {
	m, err := j.Read()
	if err != nil {
		return nil, fmt.Errorf("read the PTX: %w", err)
	}
	var kernels []cache.Kernel
	for _, f := range m.Entries() {
		k := cache.Kernel{Name: f.Name}
		if normal, err := m.Identity(f.Name); err == nil {
			k.Identity = identity(normal.String(), j.Call.Target, j.Version, j.Call.Flags)
		}
		kernels = append(kernels, k)
	}
	return kernels, nil
}

// identity is the key under which a kernel's decision is kept: what the kernel is, and what it is
// compiled for and by. normal is the hash of its PTX' normal form, flags those of ptxas that change
// the code.
func identity(normal, target, version string, flags []string) string {
	return cache.HashOf(identityVersion, normal, target, version, strings.Join(flags, "\x00"))
}

// A Default is what nvcc's own compile of a job gave. It is kept from the first compile on, so that
// a build with recipes knows the registers that it must not get too far away from and the messages
// that the user is to see.
type Default struct {
	Kernels  []cache.Kernel
	Cubin    string // hash
	Code     string // cubin.CodeHash of it; "" if an earlier version kept this
	Messages []child.Message
	Whole    bool // the messages are all there
}

const memoDefault cache.Memos[Default] = "standard"

func (j *Job) LoadDefault(store *cache.Store) (*Default, bool) {
	d, ok := memoDefault.Get(store, j.Key)
	if !ok || d.Cubin == "" {
		return nil, false
	}
	for i := range d.Messages {
		d.Messages[i].Text = strings.ReplaceAll(d.Messages[i].Text, namePlace, j.Call.Input())
	}
	return &d, true
}

// namePlace stands for the input's name in kept messages. It cannot occur in them otherwise.
const namePlace = "\x00in\x00"

func (j *Job) KeepDefault(store *cache.Store, d *Default) error {
	kept := *d
	kept.Messages = append([]child.Message(nil), d.Messages...)
	for i := range kept.Messages {
		kept.Messages[i].Text = strings.ReplaceAll(kept.Messages[i].Text, j.Call.Input(), namePlace)
	}
	return memoDefault.Put(store, j.Key, kept)
}

// ReadBack puts what a cubin says into the records of its kernels. Every kernel of the PTX must be
// there.
func ReadBack(kernels []cache.Kernel, content []byte) ([]cache.Kernel, *cubin.File, error) {
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
		spill := out[i].Spill
		out[i].Build = BuildOf(k)
		out[i].Spill = spill
	}
	return out, f, nil
}

// BuildOf is what a cubin says of a kernel; its spills are in ptxas' messages alone.
func BuildOf(k cubin.Kernel) cache.Build {
	return cache.Build{Registers: k.Registers, Stack: k.Stack, Shared: k.Shared, Barriers: k.Barriers}
}

// Spills puts in what ptxas -v printed, where it did. A cubin does not hold it.
func Spills(kernels []cache.Kernel, messages []child.Message) {
	var all strings.Builder
	for _, m := range messages {
		all.WriteString(m.Text)
	}
	spills := cubin.Spills(all.String())
	for i := range kernels {
		if n, ok := spills[kernels[i].Name]; ok {
			kernels[i].Spill = n
		}
	}
}

// Assembly makes the record of a job that gave a cubin.
func (j *Job) Assembly(command, dir, cubinHash string, kernels []cache.Kernel) cache.Assembly {
	return cache.Assembly{
		Command: command, Ptxas: j.Tool, Version: j.Version, Args: j.Call.Template(), Dir: dir,
		Target: j.Call.Target, Reloc: j.Call.Reloc, PTX: j.Hash, Cubin: cubinHash, Kernels: kernels,
	}
}

// CodeOf is the hash of a cubin's code, "" where it can't be read: then its bytes identify it.
func CodeOf(content []byte) string {
	hash, err := cubin.CodeHash(content)
	if err != nil {
		return ""
	}
	return hash
}
