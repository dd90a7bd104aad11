package compile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/source"
)

// Source variants: the TU's device code with one kernel rewritten, through the same cicc with the
// same options. Of the PTX that comes out only that kernel is used. A variant is kept by all that
// it depends on, so that it is compiled once.

// A variantOf asks for one: the kernel, what to do with it in the source.
type variantOf struct {
	entry string
	terms []recipe.Term
}

func (v variantOf) String() string { return recipe.Recipe{Terms: v.terms}.String() }

// errNoSource says why a PTX can't have source variants.
var errNoSource = errors.New(
	"the cicc call that made its PTX is not known (build it again with gnvcc)")

// A compiledVariant is a variant's PTX, and what its kernel is in it.
type compiledVariant struct {
	module *ptx.Module // for reading only
	normal string
}

// A keptVariant is the memo of one: the object that holds its PTX.
type keptVariant struct{ PTX, Normal string }

const memoVariant cache.Memos[keptOf[keptVariant]] = "variant"

// A request is a variant to be made of an input's text.
type request struct {
	input
	call      *toolcmd.Cicc
	signature []string
	v         variantOf
	cicc      string // the tool's id
}

func requestOf(in input, v variantOf) (r request, err error) {
	r = request{input: in, v: v}
	if in.translation == nil {
		return r, errNoSource
	}
	f := in.module.Entry(v.entry)
	if f == nil {
		return r, fmt.Errorf("no kernel %s in the PTX", v.entry)
	}
	r.signature = source.Signature(f)
	if r.call, err = toolcmd.ReadCicc(in.translation.Args); err != nil {
		return r, err
	}
	if r.cicc, err = cache.FileKey(in.translation.Cicc); err != nil {
		return r, fmt.Errorf("look at cicc: %w", err)
	}
	return r, nil
}

// key is what the variant depends on.
func (r request) key() string {
	return cache.HashOf("variant 3", r.translation.Input, r.cicc,
		strings.Join(r.call.Template(), "\x00"), r.translation.Module, r.v.entry,
		strings.Join(r.signature, ","), r.v.String(), cache.OwnKey())
}

// normalOf is the hash of a kernel's normal form (rewrite/ptx) in a variant's PTX: what a decision
// was measured on. It is the same in a text in which other kernels are rewritten, too, unless that
// changed the kernel's code. "" where it isn't known.
func normalOf(m *ptx.Module, entry string) string {
	h, err := m.Identity(entry)
	if err != nil {
		return ""
	}
	return h.String()[:32]
}

// variant gives the PTX of an input with one kernel changed in the source, or why there is none, as
// it was kept or by cicc.
func (b *Workbench) variant(ctx context.Context, in input, v variantOf) (m compiledVariant,
	err error) {
	r, err := requestOf(in, v)
	if err != nil {
		return m, err
	}
	key := r.key()
	if m, ok := b.variants[key]; ok { // several attempts at a build ask for it
		return m, nil
	}
	_, err = recall(ctx, b.Store, b.flights, memoVariant, key, func(k keptVariant) bool {
		content, err := b.Store.Object(k.PTX)
		if err == nil {
			m.normal = k.Normal
			m.module, err = ptx.Parse(content)
		}
		return err == nil
	}, func() (k keptVariant, err error) {
		if m, err = b.compileVariant(ctx, r); err != nil {
			return k, err
		}
		k.Normal = m.normal
		k.PTX, _ = b.Store.PutObject(m.module.Bytes()) // made again if it can't be kept
		return k, nil
	})
	if err != nil {
		return compiledVariant{}, err
	}
	b.remember(key, m)
	return m, nil
}

// remember keeps a variant for as long as the workbench works.
func (b *Workbench) remember(key string, m compiledVariant) {
	if b.variants == nil {
		b.variants = map[string]compiledVariant{}
	}
	b.variants[key] = m
}

// compileVariant makes a variant.
func (b *Workbench) compileVariant(ctx context.Context, r request) (m compiledVariant, err error) {
	unit, err := b.unit(r.translation.Input)
	if err != nil {
		return m, err
	}
	text, err := unit.Rewrite(r.v.entry, r.v.terms, r.signature)
	if err != nil {
		return m, err
	}
	if err := r.v.refused(unit, r.module, r.signature); err != nil {
		return m, err
	}
	content, err := b.cicc(ctx, r.translation, r.call, text, r.v.entry)
	if err != nil {
		return m, err
	}
	if m.module, err = ptx.Parse(content); err != nil {
		return m, fmt.Errorf("read the variant's PTX: %w", err)
	}
	m.normal = normalOf(m.module, r.v.entry)
	return m, nil
}

// cicc runs the translation's cicc on another text.
func (b *Workbench) cicc(ctx context.Context, t *cache.Translation, call *toolcmd.Cicc,
	text []byte, name string) ([]byte, error) {
	dir := filepath.Join(b.Folder, "cicc"+strconv.FormatInt(b.count.Add(1), 10))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	args, in, out := call.Elsewhere(dir)
	if err := os.WriteFile(in, text, 0o600); err != nil {
		return nil, err
	}
	if call.Module >= 0 && t.Module != "" {
		if err := os.WriteFile(filepath.Join(dir, toolcmd.ModuleFile), []byte(t.Module),
			0o600); err != nil {
			return nil, err
		}
	}
	b.keep(name+".ii", text)
	work := t.Dir
	if _, err := os.Stat(work); err != nil {
		work = dir // only names in line information would know the difference
	}
	if _, err := b.tool(ctx, work, environment.Over(b.Env.Tool(), t.Env), append([]string{t.Cicc},
		args...)...); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("read the variant's PTX: %w", err)
	}
	b.keep(name+".ptx", content)
	return content, nil
}

// units keeps the last parsed units: a tuner asks for the same one for every variant.
type units struct {
	mu   sync.Mutex
	last []unitEntry
}

type unitEntry struct {
	hash string
	unit *source.Unit
	err  error
}

// maxUnits bounds memory: a unit of 5 MB of text takes about 50 MB.
const maxUnits = 4

var parsed units

// unit reads cicc's input, kept by its hash.
func (b *Workbench) unit(hash string) (*source.Unit, error) { return parsed.get(b.Store, hash) }

func (u *units) get(store *cache.Store, hash string) (*source.Unit, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range u.last {
		if e.hash == hash {
			return e.unit, e.err
		}
	}
	text, err := store.Object(hash)
	if err != nil {
		return nil, fmt.Errorf("the preprocessed source is no longer in the store (build it again): %w",
			err)
	}
	unit, err := source.Parse(text)
	if err != nil {
		err = fmt.Errorf("read the preprocessed source: %w", err)
	}
	if len(u.last) == maxUnits {
		u.last = append(u.last[:0], u.last[1:]...)
	}
	u.last = append(u.last, unitEntry{hash, unit, err})
	return unit, err
}

// ErrNotOnRecord says why a recipe for the source is not carried out: its result was not measured. A place or a value in a recipe counts in the source, and identity is that of the PTX: one PTX
// has many sources.
var ErrNotOnRecord = errors.New(
	"the code that was measured is not on record (an earlier gnvcc decided): tune again")

// asMeasured compares what cicc gave with what was measured.
func (b *Workbench) asMeasured(v variantOf, m compiledVariant) error {
	if b.Normals == nil { // the tuner, which measures
		return nil
	}
	of, known := b.Normals[v.entry]
	if !known { // apply: see recipesOf; of what stands for a kernel wanted has seen to it
		return nil
	}
	switch want := of[v.String()]; {
	case want == "":
		return ErrNotOnRecord
	case m.normal != want:
		return fmt.Errorf(
			"%s compiles to different code here (%.8s) than was measured (%.8s): it is another source of the same kernel", v, m.normal, want)
	}
	return nil
}
