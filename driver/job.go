package driver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
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
	id, err := fileKey(tool)
	if err != nil {
		return nil, fmt.Errorf("look at ptxas: %w", err)
	}
	j.read = sync.OnceValues(func() (*ptx.Module, error) { return ptx.Parse(text) })
	if j.version, err = versionOf(store, tool, id); err != nil {
		return nil, err
	}
	j.key = hashOf("ptxas 1", j.hash, id, strings.Join(call.Template(), "\x00"))
	return j, nil
}

// hashOf hashes a list of texts so that no two lists are alike.
func hashOf(parts ...string) string {
	var b []byte
	for _, p := range parts {
		b = fmt.Appendf(b, "%d:%s,", len(p), p)
	}
	return cache.Hash(b)
}

const memoVersion cache.Memos[string] = "version"

// Regular expressions are compiled when they are needed: most stages are over in less time than that takes.
var versionText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bV(\d+\.\d+\.\d+)\b`) })

// versionOf asks a tool for its version, once in the life of its file.
func versionOf(store *cache.Store, tool, id string) (string, error) {
	if store != nil {
		if version, ok := memoVersion.Get(store, id); ok {
			return version, nil
		}
	}
	out, err := exec.Command(tool, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", tool, err)
	}
	m := versionText().FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("ask %s for its version: no V1.2.3 in what it says", tool)
	}
	if store != nil {
		memoVersion.Put(store, id, string(m[1])) // asked again if it can't be kept
	}
	return string(m[1]), nil
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
	return hashOf(identityVersion, normal, target, version, strings.Join(flags, "\x00"))
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

// assemblyKey is the key of an assembly's record: two commands may give the same cubin (a project built in two folders),
// and both are to be known. Whoever looks for a cubin takes all keys that begin with its hash.
func assemblyKey(cubinHash, command string) string {
	if command == "" {
		return cubinHash
	}
	return cubinHash + "." + command[:16]
}

// ownKey identifies this gnvcc: results of another one's passes are not taken.
var ownKey = sync.OnceValue(func() string {
	self, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	key, err := fileKey(self)
	if err != nil {
		return "unknown"
	}
	return key
})

// wanted looks up the recipes of kernels for a build. Kernels without a decision, or with that for nvcc's own compile, are left out;
// recipes that can't be read are, too, with the reason. normals are the normal forms that the decisions rest on, by kernel and by what was
// asked of the source.
func wanted(sn *cache.Snapshot, kernels []cache.Kernel, by asker) (recipes map[string]recipe.Recipe, refused map[string]error,
	normals map[string]map[string]string) {
	recipes, refused, normals = map[string]recipe.Recipe{}, map[string]error{}, map[string]map[string]string{}
	for _, k := range kernels {
		if k.Identity == "" {
			continue
		}
		d, ok := standing(sn, k.Identity, by)
		if !ok {
			continue
		}
		if len(d.Evidence.Normals) > 0 {
			normals[k.Name] = d.Evidence.Normals
		}
		if d.Recipe == "" {
			continue
		}
		r, err := takes(sn, k.Name, k.Identity, d.Recipe, d.Evidence.Normals)
		if err != nil {
			refused[k.Name] = fmt.Errorf("%s: %w", d.Recipe, err)
			continue
		}
		if !r.IsDefault() {
			recipes[k.Name] = r
		}
	}
	return recipes, refused, normals
}

var errLimit = errors.New("it took too long")

// hasKernels tells whether a cubin holds kernels.
func hasKernels(content []byte) bool {
	f, err := cubin.Read(content)
	return err == nil && len(f.Kernels) > 0
}
