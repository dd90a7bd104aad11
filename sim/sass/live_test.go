package sass

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	liveSection = regexp.MustCompile(`^\.text\.(\S+):`)
	liveLine    = regexp.MustCompile(
		`^\s+/\*([0-9a-f]{4,})\*/.*// \|\s*(\d*)\s*\|\s*(\d*)\s*\|\s*(\d*)\s*`)
)

// A liveCount is what nvdisasm -lrm count says of one instruction.
type liveCount struct{ general, uniform int }

func readLive(text string) map[string]map[int]liveCount {
	out := map[string]map[int]liveCount{}
	var now map[int]liveCount
	for _, line := range strings.Split(text, "\n") {
		if m := liveSection.FindStringSubmatch(line); m != nil {
			now = map[int]liveCount{}
			out[m[1]] = now
			continue
		}
		m := liveLine.FindStringSubmatch(line)
		if m == nil || now == nil {
			continue
		}
		at, _ := strconv.ParseInt(m[1], 16, 64)
		g, _ := strconv.Atoi(m[2])
		u, _ := strconv.Atoi(m[4])
		now[int(at)] = liveCount{g, u}
	}
	return out
}

// plain reports whether nvdisasm's count can be had: of calls, and of the parts of a warp that
// WARPSYNC.COLLECTIVE gathers, it assumes other things than we do.
func plain(f *Function) bool {
	for k := range f.Insts {
		if i := &f.Insts[k]; i.op == nil || i.op.code == 0x143 || i.op.code == 0x144 ||
			i.op.code == 0x148 && i.bit(86) || i.op.class == Texture {
			return false
		}
	}
	return true
}

// A liveTally counts what a comparison found.
type liveTally struct{ functions, insts, wrong, uniform int }

func (t *liveTally) add(test *testing.T, code []byte, text, name string) {
	test.Helper()
	functions, err := Read(code)
	if err != nil {
		test.Fatal(err)
	}
	theirs := readLive(text)
	for _, f := range functions {
		want := theirs[f.Name]
		if want == nil || !plain(f) {
			continue
		}
		t.functions++
		general, uniform := f.Live(f.Flow())
		shown := false
		for k := range f.Insts {
			w, ok := want[f.Insts[k].Offset]
			if !ok {
				continue
			}
			t.insts++
			if uniform[k] != w.uniform { // nvdisasm leaves out unused ones, and sm_80's descriptors
				t.uniform++
			}
			if general[k] == w.general {
				continue
			}
			if t.wrong++; !shown {
				shown = true
				test.Logf("%s %s+%#x %s: %d and %d live, nvdisasm: %d and %d", name, f.Name, f.Insts[k].Offset,
					f.Insts[k].Name(), general[k], uniform[k], w.general, w.uniform)
			}
		}
	}
}

func TestKeptLive(t *testing.T) {
	dir := os.Getenv("GNVCC_SASS")
	if dir == "" {
		t.Skip("SKIPPED: GNVCC_SASS names no folder of cubins and what nvdisasm says of them")
	}
	all, _ := filepath.Glob(filepath.Join(dir, "lrm", "*.txt"))
	var sum liveTally
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		code, err := os.ReadFile(filepath.Join(dir, "cub", name))
		if err != nil {
			t.Fatal(err)
		}
		sum.add(t, code, string(text), name)
	}
	t.Logf("%+v", sum)
	if sum.functions < 100 || sum.wrong*1000 > sum.insts {
		t.Error("more than one count in a thousand differs, or too few were compared")
	}
}
