package cache

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// kill -9 at random moments. Each child says on its standard output what has been confirmed to it;
// after the kill all of that must be there. GNVCC_CACHE_TEST_ROUNDS sets the number of rounds, 100
// by default.

const roundsEnv = "GNVCC_CACHE_TEST_ROUNDS"

func init() {
	roles["spool"] = playSpooler
	roles["own"] = playOwner
	roles["read"] = playReader
}

// confirm prints a key, in one write, so that a kill leaves a whole line or none. Between the
// store's word and this line a kill may come; then nobody was promised anything.
func confirm(kind, key string) { os.Stdout.WriteString(kind + " " + key + "\n") }

func playSpooler(dir string) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		key := fmt.Sprintf("s-%d-%d", os.Getpid(), i)
		bucket := []string{Decisions, Assemblies}[i%2]
		if err := s.Spool(bucket, key, key); err != nil {
			return err
		}
		confirm(bucket, key)
		hash, err := s.PutObject([]byte(key))
		if err != nil {
			return err
		}
		confirm("object", hash)
		if err := s.PutMemo("test", key, []byte(key)); err != nil {
			return err
		}
		confirm("memo", key)
	}
}

func playOwner(dir string) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	for i := 0; ; {
		o, err := s.Own(context.Background())
		if errors.Is(err, ErrOwned) {
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		if notes := o.Notes(); len(notes) > 0 {
			// A kill damages nothing: whatever has to be mended is an error of ours.
			return fmt.Errorf("mended: %q", notes)
		}
		for range 5 {
			key := fmt.Sprintf("o-%d-%d", os.Getpid(), i)
			i++
			if err := o.Put(Decisions, key, key); err != nil {
				return err
			}
			if _, err := o.Merge(); err != nil {
				return err
			}
			if err := o.Publish(); err != nil {
				return err
			}
			confirm("published", key)
		}
		if err := o.Close(); err != nil {
			return err
		}
	}
}

// playReader reads for ever; it must never see anything but sound snapshots, and never lose what it
// saw before.
func playReader(dir string) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	most := 0
	for {
		sn, err := s.Snapshot()
		if errors.Is(err, ErrNone) && most == 0 {
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		n := 0
		err = sn.Each(Decisions, "", func(key string, raw []byte) error {
			var text string
			if err := json.Unmarshal(raw, &text); err != nil || text != key {
				return fmt.Errorf("record %q is %s", key, raw)
			}
			n++
			return nil
		})
		sn.Close()
		if err != nil {
			return err
		}
		if n < most {
			return fmt.Errorf("%d records, there were %d", n, most)
		}
		most = n
		time.Sleep(time.Millisecond)
	}
}

// start runs a player; each line that it prints goes to line.
func start(t testing.TB, role, dir string, line func(kind, key string)) *child {
	t.Helper()
	self, err := os.Executable()
	ok(t, err)
	cmd := exec.Command(self, dir)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	return startChild(t, role, cmd, func(text string) {
		kind, key, _ := strings.Cut(text, " ")
		line(kind, key)
	})
}

// A child is a process that plays a role until it is killed.
type child struct {
	role   string
	cmd    *exec.Cmd
	stderr strings.Builder
	done   chan struct{} // its output was read to the end
}

// startChild starts the command, which must be set up to play the role; each whole line that it prints
// goes to line, from another goroutine. One that is left is killed when the test ends.
func startChild(t testing.TB, role string, cmd *exec.Cmd, line func(string)) *child {
	t.Helper()
	p := &child{role: role, cmd: cmd, done: make(chan struct{})}
	cmd.Stderr = &p.stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	go func() {
		defer close(p.done)
		in := bufio.NewReader(out)
		for {
			text, err := in.ReadString('\n')
			if err != nil {
				return
			}
			line(strings.TrimSpace(text))
		}
	}()
	return p
}

// kill ends it by SIGKILL; all that it printed has gone to line then. It must not have
// ended by itself.
func (p *child) kill(t testing.TB) {
	t.Helper()
	p.cmd.Process.Kill()
	<-p.done
	if err := p.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("the %s ended by itself: %v: %s", p.role, err, p.stderr.String())
	}
}

func TestKill(t *testing.T) {
	rounds := 100
	if text := os.Getenv(roundsEnv); text != "" {
		var err error
		rounds, err = strconv.Atoi(text)
		ok(t, err)
	}
	s := newStore(t)
	var mu sync.Mutex
	confirmed := map[string][]string{}
	line := func(kind, key string) {
		mu.Lock()
		confirmed[kind] = append(confirmed[kind], key)
		mu.Unlock()
	}
	random := rand.New(rand.NewPCG(11, uint64(time.Now().UnixNano())))
	var children []*child
	for _, role := range []string{"spool", "spool", "own", "own", "read"} {
		children = append(children, start(t, role, s.dir, line))
	}
	for round := range rounds {
		time.Sleep(time.Duration(random.IntN(40_000)) * time.Microsecond)
		i := random.IntN(len(children))
		if random.IntN(3) == 0 {
			i = 2 + random.IntN(2) // owners more often
		}
		children[i].kill(t)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
		children[i] = start(t, children[i].role, s.dir, line)
		if round%25 == 24 {
			// What was published is there now, while the others go on.
			mu.Lock()
			keys := confirmed["published"]
			mu.Unlock()
			if len(keys) > 0 {
				sn, err := s.Snapshot()
				ok(t, err)
				for _, key := range keys {
					if hit, err := sn.Get(Decisions, key, nil); !hit || err != nil {
						t.Fatalf("round %d: published record %s: %v %v", round, key, hit, err)
					}
				}
				sn.Close()
			}
		}
	}
	for _, c := range children {
		c.kill(t)
	}
	children = nil
	o, err := s.Own(context.Background())
	ok(t, err)
	defer o.Close()
	if notes := o.Notes(); len(notes) > 0 {
		t.Errorf("mended: %q", notes)
	}
	waiting, err := o.Merge()
	ok(t, err)
	ok(t, o.Publish())
	sn := snapshot(t, s)
	for _, bucket := range []string{Decisions, Assemblies} {
		for _, key := range confirmed[bucket] {
			var text string
			if hit, err := sn.Get(bucket, key, &text); !hit || err != nil || text != key {
				t.Errorf("lost: %s %s: %v %v", bucket, key, hit, err)
			}
		}
	}
	for _, hash := range confirmed["object"] {
		if _, err := s.Object(hash); err != nil {
			t.Errorf("lost: %v", err)
		}
	}
	for _, key := range confirmed["memo"] {
		if b, hit := s.Memo("test", key); !hit || string(b) != key {
			t.Errorf("lost: memo %s", key)
		}
	}
	if bad, _ := filepath.Glob(filepath.Join(s.dir, spoolName, "*"+badExt)); len(bad) > 0 {
		t.Errorf("torn spool files: %v", bad)
	}
	if broken, _ := filepath.Glob(filepath.Join(s.dir, "*"+brokenMark+"*")); len(broken) > 0 {
		t.Errorf("damaged snapshots: %v", broken)
	}
	t.Logf(
		"%d kills; confirmed: %d decisions, %d assemblies, %d objects, %d publications; %d files waited",
		rounds,
		len(confirmed[Decisions]), len(confirmed[Assemblies]), len(confirmed["object"]),
		len(confirmed["published"]), waiting)
	for _, kind := range []string{Decisions, Assemblies, "object", "memo", "published"} {
		if len(confirmed[kind]) == 0 {
			t.Errorf("no %s was confirmed: the test tested nothing", kind)
		}
	}
}

// 64 readers while somebody publishes: each sees whole snapshots, in order, and nobody waits.
func TestReadersWhilePublishing(t *testing.T) {
	s := newStore(t)
	const records = 200
	o := own(t, s)
	state := func(version int) {
		for i := range records {
			raw, err := encodeRecord(Decisions, hashKey(i), version)
			ok(t, err)
			o.merge(&spooled{Bucket: Decisions, Key: hashKey(i), Stamp: int64(version), Record: raw})
		}
		ok(t, o.Publish())
	}
	state(0)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	errs := make(chan error, 64)
	var reads sync.Map
	for r := range 64 {
		readers.Go(func() {
			last, n := -1, 0
			defer func() { reads.Store(r, n) }()
			for {
				select {
				case <-stop:
					return
				default:
				}
				version, err := oneVersion(s, records)
				if err == nil && version < last {
					err = fmt.Errorf("version %d after %d", version, last)
				}
				if err != nil {
					errs <- err
					return
				}
				last = version
				n++
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	for version := 1; version <= 25; version++ {
		state(version)
	}
	close(stop)
	readers.Wait()
	select {
	case err := <-errs:
		t.Fatal(err)
	default:
	}
	reads.Range(func(r, n any) bool {
		if n.(int) == 0 {
			t.Errorf("reader %v read nothing", r)
		}
		return true
	})
}

// oneVersion opens the snapshot and checks that all of it is of one version.
func oneVersion(s *Store, records int) (int, error) {
	sn, err := s.Snapshot()
	if err != nil {
		return 0, err
	}
	defer sn.Close()
	version := -1
	n := 0
	err = sn.Each(Decisions, "", func(key string, raw []byte) error {
		v, err := strconv.Atoi(string(raw))
		if err != nil || version >= 0 && v != version {
			return fmt.Errorf("%s has version %s, others %d", key, raw, version)
		}
		version = v
		n++
		return nil
	})
	if err == nil && n != records {
		err = fmt.Errorf("%d records", n)
	}
	return version, err
}
