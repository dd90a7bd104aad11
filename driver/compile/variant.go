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
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/source"
)

// Source variants: the TU's device code with one kernel rewritten, through the same cicc with the
// same options. Of the PTX that comes out only that kernel is used. A variant is kept by all that
// it depends on, so that it is compiled once.

// A variantOf asks for one: the kernel, what to do with it, and whether the copy is to stand alone.
type variantOf struct {
	entry string
	terms []recipe.Term
	alone bool
	never bool // the guards never hold: for measuring the plain copy
}

func (v variantOf) String() string {
	text := recipe.Recipe{Terms: v.terms}.String()
	if v.alone {
		text += " alone"
	}
	if v.never {
		text += " never"
	}
	return text
}

// A keptVariant is the memo of a variant: the object that holds its PTX, or why there is none.
type keptVariant struct {
	PTX    string
	Normal string // see normalOf
	Error  string
}

const memoVariant cache.Memos[keptVariant] = "variant"

// errNoSource says why a PTX can't have source variants.
var errNoSource = errors.New(
	"the cicc call that made its PTX is not known (build it again with gnvcc)")

// A compiledVariant is a variant's PTX, and what its kernel is in it.
type compiledVariant struct {
	module *ptx.Module // for reading only
	normal string
	draft  bool // see draft.go
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

// variantKey is what a variant depends on.
func variantKey(t *record.Translation, call *toolcmd.Cicc, signature []string,
	v variantOf) (string, error) {
	id, err := cache.FileKey(t.Cicc)
	if err != nil {
		return "", fmt.Errorf("look at cicc: %w", err)
	}
	return cache.HashOf("variant 2", t.Input, id, strings.Join(call.Template(), "\x00"), t.Module,
		v.entry, strings.Join(signature, ","), v.String(), cache.OwnKey()), nil
}

// recallVariant finds a variant that was made before, or why there is none.
func (b *Workbench) recallVariant(key string) (m compiledVariant, ok bool, err error) {
	return b.recallMemo(memoVariant, key)
}

func (b *Workbench) recallMemo(kind cache.Memos[keptVariant], key string) (m compiledVariant,
	ok bool, err error) {
	if m, ok := b.variants[key]; ok {
		return m, true, nil
	}
	kept, ok := kind.Get(b.Store, key)
	if !ok {
		return compiledVariant{}, false, nil
	}
	if kept.Error != "" {
		return compiledVariant{}, true, errors.New(kept.Error)
	}
	content, err := b.Store.Object(kept.PTX)
	if err != nil {
		return compiledVariant{}, false, nil
	}
	if m.module, err = ptx.Parse(content); err != nil {
		return compiledVariant{}, false, nil
	}
	m.normal = kept.Normal
	b.remember(key, m)
	return m, true, nil
}

// remember keeps a variant for as long as the workbench works.
func (b *Workbench) remember(key string, m compiledVariant) {
	if b.variants == nil {
		b.variants = map[string]compiledVariant{}
	}
	b.variants[key] = m
}

// keepVariant keeps a variant, or why there is none. It is made again if it can't be kept.
func (b *Workbench) keepVariant(key string, m compiledVariant, err error) {
	if err == nil {
		b.remember(key, m)
	}
	b.keepMemo(memoVariant, key, m, err)
}

func (b *Workbench) keepMemo(kind cache.Memos[keptVariant], key string, m compiledVariant,
	err error) {
	kept := keptVariant{Normal: m.normal}
	if err != nil {
		kept.Error = err.Error()
	} else if kept.PTX, err = b.Store.PutObject(m.module.Bytes()); err != nil {
		b.Log.Warn().Err(err).Msg("a variant is not kept")
		return
	}
	kind.Put(b.Store, key, kept)
}

// variant gives the PTX of the translation with one kernel changed in the source.
func (b *Workbench) variant(ctx context.Context, t *record.Translation, module *ptx.Module,
	v variantOf) (compiledVariant, error) {
	if t == nil {
		return compiledVariant{}, errNoSource
	}
	f := module.Entry(v.entry)
	if f == nil {
		return compiledVariant{}, fmt.Errorf("no kernel %s in the PTX", v.entry)
	}
	call, err := toolcmd.ReadCicc(t.Args)
	if err != nil {
		return compiledVariant{}, err
	}
	signature := source.Signature(f)
	key, err := variantKey(t, call, signature, v)
	if err != nil {
		return compiledVariant{}, err
	}
	if m, ok, err := b.recallVariant(key); ok {
		return m, err
	}
	d := draft{t, module, call, signature, v, key}
	if b.mode.drafts() {
		m, err := b.drafted(ctx, d)
		if !errors.As(err, new(draftless)) || ctx.Err() != nil {
			return m, err
		}
		b.Log.Debug().Err(err).Msg("a candidate is compiled from the whole text")
	}
	return b.wholeVariant(ctx, d)
}

// wholeVariant is variant where nothing is kept, from the whole text.
func (b *Workbench) wholeVariant(ctx context.Context, d draft) (compiledVariant, error) {
	return once(ctx, b.flights, d.key, func() (compiledVariant, bool, error) {
		return b.recallVariant(d.key)
	}, func() (compiledVariant, error) {
		m, err := b.compileVariant(ctx, d, false)
		if err != nil && (ctx.Err() != nil || transient(err)) {
			return compiledVariant{}, err
		}
		b.keepVariant(d.key, m, err)
		b.distrust(d, m)
		return m, err
	})
}

// compileVariant makes a variant, from the whole text or from the kernel's slice of it.
func (b *Workbench) compileVariant(ctx context.Context, d draft, sliced bool) (compiledVariant,
	error) {
	var none compiledVariant
	unit, err := b.unit(d.t.Input)
	if err != nil {
		return none, err
	}
	text, err := unit.Rewrite(d.v.entry, d.v.terms, source.Options{Signature: d.signature,
		Alone: d.v.alone, NeverHolds: d.v.never})
	if err != nil {
		return none, err
	}
	if err := d.v.refused(unit, d.module, d.signature); err != nil {
		return none, err
	}
	read, err := b.ofText(ctx, d, text, sliced)
	m := compiledVariant{draft: sliced}
	if err == nil {
		m.module, err = b.oneSet(unit, d.module, read, d.v)
	}
	switch {
	case err == nil:
		m.normal = normalOf(m.module, d.v.entry)
		return m, nil
	case sliced:
		return none, draftless{err}
	}
	return none, err
}

// ofText is what cicc makes of the text in which a variant is carried out.
func (b *Workbench) ofText(ctx context.Context, d draft, text []byte, sliced bool) (*ptx.Module,
	error) {
	if sliced {
		var err error
		if text, err = source.Slice(text, d.v.entry); err != nil {
			return nil, err
		}
	}
	content, err := b.cicc(ctx, d.t, d.call, text, d.v.entry)
	if err != nil {
		return nil, err
	}
	m, err := ptx.Parse(content)
	if err != nil {
		return nil, fmt.Errorf("read the variant's PTX: %w", err)
	}
	return m, nil
}

// oneSet makes the copies in a variant's PTX share their static shared arrays.
func (b *Workbench) oneSet(unit *source.Unit, own, variant *ptx.Module,
	v variantOf) (*ptx.Module, error) {
	if v.alone {
		return variant, nil // one copy
	}
	variant, err := unit.MergeShared(v.entry, v.terms, own, variant)
	if err != nil {
		return nil, fmt.Errorf("give the copies one set of shared arrays: %w", err)
	}
	return variant, nil
}

// cicc runs the translation's cicc on another text.
func (b *Workbench) cicc(ctx context.Context, t *record.Translation, call *toolcmd.Cicc,
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

// ErrUnproven says why a recipe for the source is not carried out whose result nobody has looked
// at. A place or a value in a recipe counts in the source, and identity is that of the PTX: one PTX
// has many sources.
var ErrUnproven = errors.New(
	"the code that was measured is not on record (an earlier gnvcc decided): tune again")

// prove compares what cicc gave with what was measured.
func (b *Workbench) prove(v variantOf, m compiledVariant) error {
	if b.Normals == nil { // the tuner, which measures
		return nil
	}
	of, known := b.Normals[v.entry]
	if !known { // apply: see recipesOf; of what stands for a kernel wanted has seen to it
		return nil
	}
	switch want := of[v.String()]; {
	case want == "":
		return ErrUnproven
	case m.normal != want:
		return fmt.Errorf(
			"%s gives other code here (%.8s) than was measured (%.8s): it is another source of the same kernel", v, m.normal, want)
	}
	return nil
}
