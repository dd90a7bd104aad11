package cubin

import (
	"os"
	"testing"
)

// lined is a cubin of 13.0 with line information: kernel k of driver/compile's TestOutcomes.
func lined(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/lines.bin")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReadLines(t *testing.T) {
	lines, err := readLines(lined(t), ".debug_line")
	if err != nil {
		t.Fatal(err)
	}
	rows := lines["k"]
	if len(lines) != 1 || len(rows) < 10 || rows[0] != (Row{0, 1}) || rows[1] != (Row{0x80, 5}) ||
		rows[len(rows)-1] != (Row{0x280, 0}) {
		t.Errorf("%v", lines)
	}
	for _, b := range seeds(t) {
		if rows, err := readLines(b, ".debug_line"); err == nil {
			t.Errorf("%d functions with lines in a cubin without", len(rows))
		}
	}
}

// FuzzReadLines also goes through every prefix of a file, and every byte turned over.
func FuzzReadLines(f *testing.F) {
	whole := lined(f)
	for n := range whole {
		f.Add(whole[:n])
		c := append([]byte(nil), whole...)
		c[n] ^= 0xff
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		lines, err := readLines(b, ".debug_line")
		n := 0
		for _, rows := range lines {
			n += len(rows)
		}
		if n > len(b) || err != nil && lines != nil {
			t.Errorf("%d rows from %d bytes, error %v", n, len(b), err)
		}
	})
}
