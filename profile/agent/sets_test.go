package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What comes back is told apart, however it is mixed with what never does; no launch is lost when
// sets are joined; one that was looked up before is found after.
func TestSets(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("SKIPPED, NOT TESTED: no gcc")
	}
	dir := t.TempDir()
	program := `#include "sets.h"
#include <stdio.h>
#include <stdlib.h>
static int failed;
#define CHECK(x) do { if (!(x)) { printf("line %d: %s (n = %u)\n", __LINE__, #x, s.n); failed = 1; } } while (0)
static uint64_t total(const struct sets *s) { uint64_t n = 0; for (uint32_t i = 0; i < s->n; i++) n += s->set[i].count; return n; }
static struct set *launch(struct sets *s, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t args[3] = {a, b, c};
  struct set *x = sets_add(s, args);
  x->count++;
  x->seconds += a;
  x->timed++;
  return x;
}
int main(void) {
  struct sets s;
  sets_open(&s, 12); // five sizes, in turns
  for (int i = 0; i < 1000; i++) launch(&s, 64u << i % 5, 7, 7);
  CHECK(s.n == 5 && total(&s) == 1000 && s.set[0].count == 200 && s.set[4].seconds == 1024 * 200);
  CHECK(launch(&s, 64, 7, 7) == &s.set[0]);
  sets_free(&s);
  sets_open(&s, 10); // a step in time, in a type of 8 bytes that begins at a word: bytes of its last word are not all there
  for (uint32_t i = 0; i < 5000; i++) launch(&s, 3, i * 2654435761u, 0);
  CHECK(s.n == 1 && total(&s) == 5000 && s.set[0].seconds == 15000 && s.set[0].timed == 5000);
  CHECK(s.mask[0] == 0xffffffff && s.mask[1] == 0 && s.set[0].again > 0);
  sets_free(&s);
  sets_open(&s, 12); // three sizes, each with steps of its own and a seed that is never the same
  for (uint32_t i = 0; i < 5000; i++) launch(&s, 10 + i % 3, i / 3, i * 2654435761u);
  CHECK(s.n == 3 && total(&s) == 5000 && s.mask[0] && !s.mask[1] && !s.mask[2]);
  uint32_t args[3] = {11, 123456, 9}, none[3] = {13, 0, 0};
  CHECK(sets_find(&s, args) && sets_find(&s, args)->count == 1667 && !sets_find(&s, none));
  sets_ignore(&s, 0);
  CHECK(s.n == 1 && total(&s) == 5000 && sets_find(&s, none) == &s.set[0]);
  sets_ignore(&s, 99);
  sets_free(&s);
  sets_open(&s, 12); // more than there is room for, all of which come back: some are joined, none is lost
  for (uint32_t i = 0; i < 6400; i++) launch(&s, i % 8, i / 8 % 8, 1);
  CHECK(s.n >= 1 && s.n <= MOST_SETS && total(&s) == 6400);
  sets_free(&s);
  sets_open(&s, 0); // no arguments
  for (int i = 0; i < 10; i++) sets_add(&s, NULL)->count++;
  CHECK(s.n == 1 && total(&s) == 10);
  sets_free(&s);
  srand(1);
  for (int round = 0; round < 200; round++) { // whatever comes: what sets_add gives, sets_find gives
    sets_open(&s, 12);
    for (int i = 1; i < 300; i++) {
      uint32_t a[3] = {(uint32_t)rand() % 4, (uint32_t)rand() % 40, (uint32_t)rand() % (round + 1)};
      struct set *x = sets_add(&s, a);
      x->count++;
      CHECK(sets_find(&s, a) == x && total(&s) == (uint64_t)i);
    }
    sets_free(&s);
  }
  return failed;
}
`
	if err := os.WriteFile(filepath.Join(dir, "main.c"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror",
		"-fsanitize=address,undefined", "-Isource"}
	out, err := exec.Command("gcc", append(flags, "-o", filepath.Join(dir, "sets"),
		filepath.Join(dir, "main.c"), "source/sets.c")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err = exec.Command(filepath.Join(dir, "sets")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
