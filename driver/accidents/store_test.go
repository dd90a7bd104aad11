package accidents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/install/kits"
)

// Accidents that befall the store. Builds go on with exit code 0 and without a word.

// What a build gives after an accident.
const (
	nvccs   = 1 << iota // nvcc's own cubin
	recipes             // that of the recipe
	either  = nvccs | recipes
)

// An accident happens to a store in which a unit is known, decided and built. Afterwards the unit
// is built twice.
type accident struct {
	name          string
	first, second int // what the two builds may give
	happen        func(t *testing.T, p *place)
}

// files calls fn for each file below a part of the store.
func (p *place) files(t *testing.T, part string, fn func(path string)) {
	t.Helper()
	n := 0
	ok(t, filepath.WalkDir(filepath.Join(p.store, part), func(path string, d fs.DirEntry,
		err error) error {
		if err == nil && d.Type().IsRegular() {
			fn(path)
			n++
		}
		return err
	}))
	if n == 0 {
		t.Fatalf("no files in %s", part)
	}
}

// each makes an accident of one that befalls every file of a part of the store.
func each(part string, fn func(t *testing.T, path string)) func(t *testing.T, p *place) {
	return func(t *testing.T, p *place) { p.files(t, part, func(path string) { fn(t, path) }) }
}

func cut(t *testing.T, path string) {
	info, err := os.Stat(path)
	ok(t, err)
	ok(t, os.Truncate(path, info.Size()/2))
}

func empty(t *testing.T, path string) { ok(t, os.Truncate(path, 0)) }

func flip(t *testing.T, path string) {
	b, err := os.ReadFile(path)
	ok(t, err)
	b[len(b)/2] ^= 4
	ok(t, os.WriteFile(path, b, 0o600))
}

// huge is a terabyte that takes no space.
func huge(t *testing.T, path string) { ok(t, os.Truncate(path, 1<<40)) }

func pipe(t *testing.T, path string) {
	ok(t, os.Remove(path))
	ok(t, syscall.Mkfifo(path, 0o600))
}

func endless(t *testing.T, path string) {
	ok(t, os.Remove(path))
	ok(t, os.Symlink("/dev/zero", path))
}

func folder(t *testing.T, path string) {
	ok(t, os.Remove(path))
	ok(t, os.Mkdir(path, 0o700))
}

// exchanged gives each file of a kind the content of another one.
func exchanged(t *testing.T, p *place) {
	var last string
	p.files(t, "memo", func(path string) {
		if last != "" {
			b, err := os.ReadFile(last)
			ok(t, err)
			ok(t, os.WriteFile(path, b, 0o600))
		}
		last = path
	})
}

func snapshotOf(fn func(t *testing.T, path string)) func(t *testing.T, p *place) {
	return func(t *testing.T, p *place) { fn(t, filepath.Join(p.store, "decisions.snapshot")) }
}

// forgotten takes away what was built, so that the build has to write again.
func forgotten(t *testing.T, p *place) { ok(t, os.RemoveAll(filepath.Join(p.store, "memo"))) }

func rooted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("LOUD SKIP: takes root")
	}
}

// mounted puts a file system of a size over the store, with the store's content.
func mounted(t *testing.T, p *place, size string, content bool) {
	rooted(t)
	old := p.store + ".old"
	ok(t, os.Rename(p.store, old))
	ok(t, os.Mkdir(p.store, 0o700))
	if err := syscall.Mount("tmpfs", p.store, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		t.Skipf("LOUD SKIP: mount: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(p.store, syscall.MNT_DETACH) })
	if content {
		out, err := exec.Command("cp", "-a", old+"/.", p.store).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

func fillUp(t *testing.T, p *place) {
	f, err := os.Create(filepath.Join(p.store, "filler"))
	ok(t, err)
	defer f.Close()
	for size := 1 << 16; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
}

var accidents = []accident{
	{"missing", nvccs, nvccs, func(t *testing.T, p *place) { ok(t, os.RemoveAll(p.store)) }},
	{"cannot be made", nvccs, nvccs, func(t *testing.T, p *place) {
		p.env = append(p.env, "GNVCC_STORE=/proc/nowhere/store")
	}},
	{"relative", nvccs, nvccs, func(t *testing.T, p *place) {
		p.env = append(p.env, "GNVCC_STORE=store")
	}},
	{"a file", nvccs, nvccs, func(t *testing.T, p *place) {
		ok(t, os.RemoveAll(p.store))
		ok(t, os.WriteFile(p.store, []byte("mine"), 0o600))
	}},
	{"below a file", nvccs, nvccs, func(t *testing.T, p *place) {
		ok(t, os.WriteFile(p.store+".file", nil, 0o600))
		p.env = append(p.env, "GNVCC_STORE="+p.store+".file/store")
	}},
	{"full", recipes, recipes, func(t *testing.T, p *place) { mounted(t, p, "8m", true); fillUp(t, p) }},
	// A lever for the source needs to know the cicc call, which can't be noted any more: nvcc's own.
	{"full, memos gone", nvccs, nvccs, func(t *testing.T, p *place) { mounted(t, p, "8m", true); forgotten(t, p); fillUp(t, p) }},
	{"full and empty", nvccs, nvccs, func(t *testing.T, p *place) { mounted(t, p, "16k", false) }},
	{"read-only mount", recipes, recipes, func(t *testing.T, p *place) {
		mounted(t, p, "64m", true)
		ok(t, syscall.Mount("", p.store, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	}},
	{"limit on file sizes", recipes, recipes, func(t *testing.T, p *place) {
		// What GNVCC_LOG names is already larger than the limit; nvcc's own files are not.
		log := filepath.Join(p.tmp, "log")
		ok(t, os.WriteFile(log, make([]byte, 9<<20), 0o600))
		p.env = append(p.env, "GNVCC_LOG="+log)
		forgotten(t, p)
		p.shell = "ulimit -f 8192; "
	}},
	{"of another user", nvccs, nvccs, func(t *testing.T, p *place) { rooted(t); ok(t, os.Chown(p.store, 12345, 12345)) }},
	{"everybody may write", nvccs, nvccs, func(t *testing.T, p *place) {
		ok(t, os.Chmod(p.store, 0o707))
	}},
	{"the group may write", nvccs, nvccs, func(t *testing.T, p *place) {
		ok(t, os.Chmod(p.store, 0o770))
	}},
	{"newer schema", nvccs, nvccs, func(t *testing.T, p *place) {
		// As a later gnvcc would leave it: its header has a seal that holds, and a schema that nobody
		// here knows.
		path := filepath.Join(p.store, "decisions.snapshot")
		b, err := os.ReadFile(path)
		ok(t, err)
		line, rest, _ := bytes.Cut(b[:512], []byte("\n"))
		stamp := string(line[bytes.LastIndexByte(line, ' ')+1:])
		body := bytes.Replace(bytes.TrimRight(rest, "\n"), []byte(`"Schema":1,`), []byte(`"Schema":2,`),
			1)
		body = append(body, '\n')
		sum := crc32.Checksum([]byte("snapshot\x00"+stamp+string(body)),
			crc32.MakeTable(crc32.Castagnoli))
		copy(b, fmt.Sprintf("gnvcc1 %08x", sum))
		copy(b[len(line)+1:], body)
		ok(t, os.WriteFile(path, b, 0o600))
		s, err := cache.Open(p.store)
		ok(t, err)
		if _, err := s.Snapshot(); !errors.Is(err, cache.ErrVersion) {
			t.Fatalf("it is not taken for a later gnvcc's: %v", err)
		}
	}},
	{"the clock went back", recipes, recipes, func(t *testing.T, p *place) {
		future := time.Now().AddDate(20, 0, 0)
		p.files(t, ".", func(path string) { ok(t, os.Chtimes(path, future, future)) })
		ok(t, os.Chtimes(filepath.Join(p.dir, p.units[0].name+".cu"), future, future))
	}},
	{"snapshot cut", nvccs, nvccs, snapshotOf(cut)},
	{"snapshot empty", nvccs, nvccs, snapshotOf(empty)},
	{"snapshot a pipe", nvccs, nvccs, snapshotOf(pipe)},
	{"snapshot endless", nvccs, nvccs, snapshotOf(endless)},
	{"snapshot a folder", nvccs, nvccs, snapshotOf(folder)},
	{"snapshot huge", either, either, snapshotOf(huge)},
	{"snapshot damaged", either, either, snapshotOf(func(t *testing.T, path string) {
		b, err := os.ReadFile(path)
		ok(t, err)
		for i := 0; i < len(b); i += 97 {
			b[i] ^= 255
		}
		ok(t, os.WriteFile(path, b, 0o600))
	})},
	{"memos cut", recipes, recipes, each("memo", cut)},
	{"memos empty", recipes, recipes, each("memo", empty)},
	{"memos damaged", recipes, recipes, each("memo", flip)},
	{"memos exchanged", recipes, recipes, exchanged},
	{"memos pipes", recipes, recipes, each("memo", pipe)},
	{"memos endless", recipes, recipes, each("memo", endless)},
	{"memos huge", recipes, recipes, each("memo", huge)},
	{"memos folders", nvccs, nvccs, each("memo", folder)},
	// The preprocessed source of the variant is among the objects: it is kept anew by the first build
	// or by the second.
	{"objects cut", either, recipes, each("objects", cut)},
	{"objects damaged", either, recipes, each("objects", flip)},
	{"objects pipes", either, recipes, each("objects", pipe)},
	{"objects endless", either, recipes, each("objects", endless)},
	{"objects huge", either, recipes, each("objects", huge)},
	{"objects damaged, memos gone", either, recipes, func(t *testing.T, p *place) { each("objects", flip)(t, p); forgotten(t, p) }},
	{"objects gone", recipes, recipes, func(t *testing.T, p *place) {
		ok(t, os.RemoveAll(filepath.Join(p.store, "objects")))
	}},
	{"a file for each folder", nvccs, nvccs, func(t *testing.T, p *place) {
		for _, name := range []string{"memo", "spool"} {
			ok(t, os.RemoveAll(filepath.Join(p.store, name)))
			ok(t, os.WriteFile(filepath.Join(p.store, name), nil, 0o600))
		}
	}},
}

// copied makes a place like p, with a store of its own.
func (p *place) copied(t *testing.T) *place {
	t.Helper()
	root := t.TempDir()
	q := &place{dir: p.dir, store: filepath.Join(root, "store"), tmp: filepath.Join(root, "tmp"),
		units: p.units}
	ok(t, os.Mkdir(q.tmp, 0o755))
	if out, err := exec.Command("cp", "-a", p.store, q.store).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	q.dir = filepath.Join(root, "project")
	if out, err := exec.Command("cp", "-a", p.dir, q.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	q.env = append(p.env[:len(p.env):len(p.env)], "GNVCC_STORE="+q.store, "TMPDIR="+q.tmp)
	return q
}

// one is a place with one unit, whose recipe is for source and PTX.
func one(t *testing.T) (*place, string) {
	t.Helper()
	p := newPlace(t)
	p.add(t, 1)
	p.units[0].recipe = "maxnreg=40 unroll=2"
	p.build(t, p.units[0])
	return p, p.decide(t)[p.units[0]]
}

func (p *place) gives(t *testing.T, which int, turn string) {
	t.Helper()
	u := p.units[0]
	p.build(t, u)
	switch got := p.cubin(t, u); {
	case bytes.Equal(got, u.nvcc) && which&nvccs != 0, bytes.Equal(got, u.tuned) && which&recipes != 0:
	case bytes.Equal(got, u.nvcc):
		t.Errorf("the %s build gave nvcc's cubin, not the recipe's", turn)
	case bytes.Equal(got, u.tuned):
		t.Errorf("the %s build gave the recipe's cubin, not nvcc's", turn)
	default:
		t.Errorf("the %s build gave a cubin that is neither nvcc's nor the recipe's", turn)
	}
	p.noStray(t)
}

func TestStore(t *testing.T) {
	t.Parallel()
	base, _ := one(t)
	// Subtests that go on in parallel need base's folders: Run ends when all of them have.
	t.Run("accident", func(t *testing.T) {
		for i, a := range accidents {
			t.Run(a.name, func(t *testing.T) {
				if i%6 != 0 {
					kits.Long(t, "each sixth accident happens")
				}
				t.Parallel()
				p := base.copied(t)
				a.happen(t, p)
				p.gives(t, a.first, "first")
				p.gives(t, a.second, "second")
			})
		}
	})
}

// TestPoisonedRecipes publishes decisions that nobody of ours would write. None may reach a tool.
func TestPoisonedRecipes(t *testing.T) {
	t.Parallel()
	p, id := one(t)
	s, err := cache.Open(p.store)
	ok(t, err)
	o, err := s.Own(t.Context())
	ok(t, err)
	defer o.Close()
	bait := filepath.Join(p.dir, "bait")
	for i, record := range []any{
		cache.Decision{Recipe: "maxnreg"}, cache.Decision{Recipe: "maxnreg=-1"},
		cache.Decision{Recipe: "maxnreg=99999999999999999999"},
		cache.Decision{Recipe: "ptxas=-o" + bait}, cache.Decision{Recipe: "ptxas=--output-file=" + bait},
		cache.Decision{Recipe: "ptxas=--options-file=/etc/passwd"},
		cache.Decision{Recipe: "ptxas=;touch " + bait}, cache.Decision{Recipe: "unroll=2;touch " + bait},
		cache.Decision{Recipe: "unroll=$(touch " + bait + ")"},
		cache.Decision{Recipe: "spec{n=`touch " + bait + "`}"},
		cache.Decision{Recipe: "spec{n=1);system(\"touch " + bait + "\"}"},
		cache.Decision{Recipe: "hint@ld=L2::256B\n.visible .entry x"}, cache.Decision{Recipe: "\x00"},
		cache.Decision{Recipe: strings.Repeat("unroll=2 ", 1<<17)},
		cache.Decision{Recipe: strings.Repeat("{", 1<<20)}, cache.Decision{Recipe: "../../../etc/passwd"},
		map[string]int{"Recipe": 5}, []string{"maxnreg=32"}, "maxnreg=32", nil,
	} {
		if i%6 != 0 && !kits.Every() {
			continue
		}
		ok(t, o.Put(cache.Decisions, id, record))
		ok(t, o.Publish())
		p.gives(t, nvccs, fmt.Sprintf("%.60v", record))
		if _, err := os.Lstat(bait); err == nil {
			t.Fatalf("%v: somebody made %s", record, bait)
		}
	}
	d, err := compile.Assume(t.Context(), s, id, p.units[0].recipe)
	ok(t, err)
	ok(t, o.Put(cache.Decisions, id, d))
	ok(t, o.Publish())
	p.gives(t, recipes, "last")
}

// TestClock has a decision stamped in the future, from before the clock was put right. One that is
// made now replaces it.
func TestClock(t *testing.T) {
	t.Parallel()
	p, id := one(t)
	s, err := cache.Open(p.store)
	ok(t, err)
	for _, turn := range []struct {
		stamp  time.Time
		recipe string
		gives  int
	}{{time.Now().AddDate(5, 0, 0), "", nvccs}, {time.Now(), p.units[0].recipe, recipes}} {
		d, err := compile.Assume(t.Context(), s, id, turn.recipe)
		ok(t, err)
		record, err := json.Marshal(d)
		ok(t, err)
		text, err := json.Marshal(map[string]any{"Schema": 1, "Bucket": cache.Decisions, "Key": id,
			"Stamp": turn.stamp.UnixNano(), "Record": json.RawMessage(record)})
		ok(t, err)
		if turn.recipe == "" { // what was decided before is not to stand against the one from the future
			o, err := s.Own(t.Context())
			ok(t, err)
			ok(t, o.Delete(cache.Decisions, id))
			ok(t, o.Publish())
			ok(t, o.Close())
		}
		ok(t, os.WriteFile(filepath.Join(p.store, "spool", cache.Hash(text)+".json"), text, 0o600))
		publish(t, s)
		p.gives(t, turn.gives, turn.stamp.Format("2006"))
	}
}

// TestTwoVersions has two versions of gnvcc build from one store, in turn.
func TestTwoVersions(t *testing.T) {
	kits.Long(t, "TestClock has a record of another time; cache has TestOtherVersion")
	t.Parallel()
	p, _ := one(t)
	other := filepath.Join(t.TempDir(), "gnvcc")
	ok(t, buildGnvcc(other, "accidents-2"))
	for i := range 6 {
		p.gnvcc = []string{other, gnvcc}[i%2]
		if i == 4 {
			forgotten(t, p)
		}
		p.gives(t, recipes, p.gnvcc)
	}
}
