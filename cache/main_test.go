package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The test binary is also the processes that tests start and kill: with roleEnv set it plays that
// part and ends.
const roleEnv = "GNVCC_CACHE_TEST_ROLE"

var roles = map[string]func(dir string) error{}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		play, ok := roles[role]
		if !ok {
			fmt.Fprintf(os.Stderr, "no role %q\n", role)
			os.Exit(2)
		}
		if err := play(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func newStore(t testing.TB) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func own(t testing.TB, s *Store) *Owner {
	t.Helper()
	o, err := s.Own(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

func snapshot(t testing.TB, s *Store) *Snapshot {
	t.Helper()
	sn, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sn.Close() })
	return sn
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wants(t testing.TB, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error %v, want one that is %v", err, kind)
	}
}

// hashKey is a key as they are: a hash.
func hashKey(i int) string { return Hash(fmt.Append(nil, i)) }

func decision(i int) Decision {
	return Decision{Identity: hashKey(i), Kernel: fmt.Sprintf("_Z6kernel%d", i), Target: "sm_90",
		Recipe: fmt.Sprintf("maxnreg=%d", 24+i%232)}
}

// fill puts n decisions and publishes them.
func fill(t testing.TB, s *Store, n int) {
	t.Helper()
	o, err := s.Own(context.Background())
	ok(t, err)
	for i := range n {
		raw, err := encodeRecord(Decisions, hashKey(i), decision(i))
		ok(t, err)
		o.merge(&spooled{Bucket: Decisions, Key: hashKey(i), Stamp: 1, Record: raw})
	}
	ok(t, o.Publish())
	ok(t, o.Close())
}

func get(t testing.TB, sn *Snapshot, i int) {
	t.Helper()
	var d Decision
	found, err := sn.Get(Decisions, hashKey(i), &d)
	if err != nil || !found || d.Recipe != decision(i).Recipe {
		t.Fatalf("record %d: found %v, %q, error %v", i, found, d.Recipe, err)
	}
}
