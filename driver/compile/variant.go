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
	"gnvcc/rewrite"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// Source variants: one kernel's slice of its file's device code, as cicc's front end has lowered it,
// rewritten, through the same cicc with the same options. A variant is kept by all that it depends
// on, so that it is compiled once.
//
// The rule that makes it safe: the slice that nothing was done to must give nvcc's own PTX of the
// kernel, in normal form. Otherwise the kernel has no source variants. A build whose decision holds
// the normal form that was measured need not ask: it takes nothing else (asMeasured).

// A variantOf asks for one: the kernel, what to do with it in the source.
type variantOf struct {
	entry string
	terms []recipe.Term
}

func (v variantOf) String() string { return recipe.Recipe{Terms: v.terms}.String() }

// errNoSource says why a PTX can't have source variants.
var errNoSource = errors.New(
	"the cicc call that made its PTX is not known (build it again with gnvcc)")

// errNotLowered says it of one whose cicc call wrote no lowered device code (nvcc -ptx).
var errNotLowered = errors.New("its device code was not kept (build it with gnvcc to an object)")

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

func requestOf(store *cache.Store, in input, v variantOf) (r request, err error) {
	r = request{input: in, v: v}
	if in.translation == nil {
		return r, errNoSource
	}
	if in.translation.Lowered == "" {
		return r, errNotLowered
	}
	f := in.module.Entry(v.entry)
	if f == nil {
		return r, fmt.Errorf("no kernel %s in the PTX", v.entry)
	}
	r.signature = lowered.Signature(f)
	if r.call, err = toolcmd.ReadCicc(in.translation.Args); err != nil {
		return r, err
	}
	if r.cicc, err = store.FileKey(in.translation.Cicc); err != nil {
		return r, fmt.Errorf("look at cicc: %w", err)
	}
	return r, nil
}

// key is what the variant depends on.
func (r request) key() string {
	return cache.HashOf("variant 4", r.translation.Lowered, r.cicc,
		strings.Join(r.call.Template(), "\x00"), r.v.entry, strings.Join(r.signature, ","),
		r.v.String(), cache.OwnKey())
}

// normalOf is the hash of a kernel's normal form (rewrite/ptx) in a variant's PTX: what a decision
// was measured on. "" where it isn't known.
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
	r, err := requestOf(b.Store, in, v)
	if err != nil {
		return m, err
	}
	key := r.key()
	if m, ok := b.variants[key]; ok { // several attempts at a build ask for it
		return m, nil
	}
	if want := b.Normals[v.entry][v.String()]; want == "" {
		if err := b.sliceable(ctx, r); err != nil {
			return m, err
		}
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
	if b.variants == nil {
		b.variants = map[string]compiledVariant{}
	}
	b.variants[key] = m
	return m, nil
}

// memoSlice keeps why a kernel has no source variants, nothing where it may have.
const memoSlice cache.Memos[keptOf[bool]] = "slice"

// sliceable returns an error unless a kernel's untouched slice gives nvcc's own PTX of it.
func (b *Workbench) sliceable(ctx context.Context, r request) error {
	key := cache.HashOf("slice 1", r.translation.Lowered, r.cicc,
		strings.Join(r.call.Template(), "\x00"), r.v.entry, r.job.Hash, cache.OwnKey())
	_, err := recall(ctx, b.Store, b.flights, memoSlice, key, nil, func() (bool, error) {
		unit, err := b.unit(r.translation.Lowered)
		if err != nil {
			return false, err
		}
		k, err := unit.Kernel(r.v.entry)
		if err != nil {
			return false, err
		}
		text, err := k.Slice()
		if err != nil {
			return false, err
		}
		m, err := b.compileText(ctx, r, text)
		if err == nil {
			err = lowered.Same(r.module, m.module, r.v.entry)
		}
		return err == nil, err
	})
	return err
}

// compileVariant makes a variant.
func (b *Workbench) compileVariant(ctx context.Context, r request) (m compiledVariant, err error) {
	unit, err := b.unit(r.translation.Lowered)
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
	return b.compileText(ctx, r, text)
}

// compileText runs the translation's cicc on a slice.
func (b *Workbench) compileText(ctx context.Context, r request, text []byte) (m compiledVariant,
	err error) {
	content, err := b.cicc(ctx, r.translation, r.call, text, r.v.entry)
	if err != nil {
		return m, err
	}
	if m.module, err = lowered.Read(r.module, content); err != nil {
		return m, fmt.Errorf("read the variant's PTX: %w", err)
	}
	m.normal = normalOf(m.module, r.v.entry)
	return m, nil
}

// cicc runs the translation's cicc on another text.
func (b *Workbench) cicc(ctx context.Context, t *cache.Translation, call *toolcmd.Cicc,
	text []byte, name string) ([]byte, error) {
	b.keep(name+".ii", text)
	content, err := b.ciccFor(ctx, t, text, call.Slice)
	if err == nil {
		b.keep(name+".ptx", content)
	}
	return content, err
}

// ciccFor runs the translation's cicc on a text in a folder of its own, and gives the one of its
// outputs that the arguments are made for.
func (b *Workbench) ciccFor(ctx context.Context, t *cache.Translation, text []byte,
	arguments func(dir string) (args []string, in, out string)) ([]byte, error) {
	dir := filepath.Join(b.Folder, "cicc"+strconv.FormatInt(b.count.Add(1), 10))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	args, in, out := arguments(dir)
	if err := os.WriteFile(in, text, 0o600); err != nil {
		return nil, err
	}
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
		return nil, fmt.Errorf("read what cicc gave: %w", err)
	}
	return content, nil
}

// memoLowered holds the lowered device code (an object) of a call that did not write it.
const memoLowered cache.Memos[keptOf[string]] = "lowered"

// withLowered is a translation with its lowered device code. Where the call did not write it (nvcc
// -ptx) cicc is asked once more.
func (b *Workbench) withLowered(ctx context.Context, t *cache.Translation) *cache.Translation {
	if t == nil || t.Lowered != "" || !b.Store.HasObject(t.Input) {
		return t
	}
	out := *t
	call, err := toolcmd.ReadCicc(t.Args)
	if err != nil {
		return t
	}
	key := cache.HashOf("lowered 1", t.Input, t.Cicc, strings.Join(call.Template(), "\x00"))
	out.Lowered, err = recall(ctx, b.Store, b.flights, memoLowered, key, b.Store.HasObject,
		func() (string, error) {
			text, err := b.Store.Object(t.Input)
			if err == nil {
				text, err = b.ciccFor(ctx, t, text, call.Lower)
			}
			if err != nil {
				return "", err
			}
			return b.Store.PutObject(text)
		})
	if err != nil {
		b.Log.Debug().Err(err).Msg("ask cicc for its lowered device code")
		return t
	}
	return &out
}

// units keeps the last parsed units: a tuner asks for the same one for every variant.
type units struct {
	mu   sync.Mutex
	last []unitEntry
}

type unitEntry struct {
	hash string
	unit *lowered.Unit
	err  error
}

// maxUnits bounds memory.
const maxUnits = 4

var parsed units

// unit reads lowered device code, kept by its hash.
func (b *Workbench) unit(hash string) (*lowered.Unit, error) {
	if hash == "" {
		return nil, errNotLowered
	}
	return parsed.get(b.Store, hash)
}

func (u *units) get(store *cache.Store, hash string) (*lowered.Unit, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range u.last {
		if e.hash == hash {
			return e.unit, e.err
		}
	}
	text, err := store.Object(hash)
	if err != nil {
		return nil, fmt.Errorf("its lowered device code is no longer in the store (build it again): %w",
			err)
	}
	unit, err := lowered.Parse(text)
	if err != nil {
		err = fmt.Errorf("read the lowered device code: %w", err)
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

// Asked are the texts of the variants that a recipe asks of the source: what evidence of it is kept
// by (Evidence.Normals).
func Asked(name string, r recipe.Recipe) []string {
	var out []string
	for _, v := range askedOf(name, r) {
		out = append(out, v.String())
	}
	return out
}

// askedOf are these variants.
func askedOf(name string, r recipe.Recipe) []variantOf {
	seconds, err := secondsOf(name, r)
	if err != nil {
		return nil
	}
	var out []variantOf
	for _, s := range seconds {
		if !s.plain() {
			out = append(out, s.variant())
		}
	}
	if terms := rewrite.At(r, rewrite.Source).Terms; len(seconds) == 0 && len(terms) > 0 {
		out = append(out, variantOf{entry: name, terms: terms})
	}
	return out
}
