package buildsystems

// The table of build systems and toolkits, SYSTEMS.md. Every test here is a row of it.
// GNVCC_TESTS=longer tries all toolkits and writes the table; an ordinary run tries one, and fails
// where the table says otherwise than what it found.

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"gnvcc/install/kits"
)

const tableFile = "SYSTEMS.md"

// toolkits are the columns. The main one is tried by every run.
var toolkits = []string{"11.8", "12.4", "13.0", "13.3", "13.5"}

const mainKit = "13.0"

// usualWays are tried where not every test is to run: what most people build with.
var usualWays = []string{"make", "newest cmake with ninja and CUDACXX", "ccache"}

// notes say why it fails with nvcc itself, by toolkit or by way.
var notes = map[string]string{
	"sccache": "sccache 0.16 takes nvcc apart by what its `--dryrun` prints, and does not understand that of 13.3 and later, nor that of 11.8 as `install/toolkit` lays it out.",
}

func note(way, version string) string {
	if notes[way] != "" {
		return notes[way]
	}
	return notes[version]
}

// What a cell says.
const (
	alike   = "alike"
	nvccNot = "fails with nvcc itself"
	refused = "refused by PyTorch"
	absent  = "not to be had"
	untried = "not tried yet"
	differs = "**differs**"
)

// ways are the rows: a name, and what is done there.
func ways() [][2]string {
	var rows [][2]string
	for _, y := range systems {
		rows = append(rows, [2]string{y.name, "configured, built, built again, built after a change"})
	}
	return append(rows, [][2]string{
		{"Bear",
			"`compile_commands.json` is nvcc's, where gnvcc is called nvcc (a link): Bear knows compilers by their names"},
		{"Bazel",
			"in its sandbox; with a store that it may write to, and the snapshot's hash in the actions' environment, a changed recipe is built and nothing else is"},
		{"Bazel's way of calling",
			"bare environment, no HOME, links to read-only sources, a store that can't be"},
		{"PyTorch's cpp_extension",
			"`PYTORCH_NVCC` and `CUDA_HOME`, with the real PyTorch where it can be imported"},
		{"CMake's launcher", "`CMAKE_CUDA_COMPILER_LAUNCHER` in front of gnvcc"},
		{"ccache",
			"`CCACHE_COMPILERCHECK='gnvcc doctor --key'`: a changed recipe, lock file or toolkit is never served stale"},
		{"sccache", "runs cicc and ptxas by itself: nvcc's own result, never a stale recipe"},
		{"any name", "gnvcc, nvcc (a link), nvcc-13, a name with a space; found in PATH as nvcc"},
		{"a chain", "gnvcc above gnvcc, above a script that calls gnvcc, above itself"},
	}...)
}

func full() bool { return kits.Longer() }

var (
	foundLock sync.Mutex
	found     = map[string]string{} // way and version -> cell
)

func cell(way, version string) string { return way + "\x00" + version }

// onKits tries a way on the main toolkit, or on all.
func onKits(t *testing.T, way string, try func(s *site)) {
	if !slices.Contains(usualWays, way) {
		kits.Long(t, "make, CMake and ccache call gnvcc as most others do")
	}
	versions := []string{mainKit}
	if full() {
		versions = toolkits
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			s := newSite(t, version, kits.Need(t, version).Dir)
			s.way = way
			defer func() {
				got := alike
				switch {
				case t.Failed():
					got = differs
				case s.why != nil && *s.why != "":
					got = *s.why
				case t.Skipped():
					got = absent
				}
				if full() {
					foundLock.Lock()
					defer foundLock.Unlock()
					found[cell(way, version)] = got
					if err := writeTable(); err != nil { // at once: a full run takes long, and may be cut short
						t.Error(err)
					}
				}
				if was := readTable()[cell(way, version)]; !full() && got != was && got != absent &&
					was != absent && was != untried {
					t.Errorf("%s says %q of %s with %s, and it is %q: make it anew with GNVCC_TESTS=longer",
						tableFile, was, way, version, got)
				}
			}()
			try(s)
		})
	}
}

// readTable gives the cells of the committed table.
func readTable() map[string]string {
	text, _ := os.ReadFile(tableFile)
	cells := map[string]string{}
	var versions []string
	for _, line := range strings.Split(string(text), "\n") {
		parts := strings.Split(strings.Trim(line, "|"), " | ")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		switch {
		case !strings.HasPrefix(line, "| ") || len(parts) < 3:
		case versions == nil:
			versions = parts[1 : len(parts)-1]
		default:
			for i, v := range versions {
				if i+1 < len(parts) {
					cells[cell(parts[0], v)] = parts[i+1]
				}
			}
		}
	}
	return cells
}

// writeTable writes what a full run found.
func writeTable() error {
	var b strings.Builder
	b.WriteString("# Build systems in which gnvcc was put in nvcc's place\n\n" +
		"Made by `GNVCC_TESTS=longer go test ./examples/buildsystems`; an ordinary run tries " + mainKit +
		" and fails where this table is not true. `alike`: the cubins are nvcc's own, byte for byte, and nothing is built that nvcc would\n" +
		"not have built. Beside 13.0 a toolkit is tried for shorter: configured and built. Command lines by themselves are in [driver/MATRIX.md](../../driver/MATRIX.md).\n\n| build system | " + strings.Join(toolkits, " | ") + " | what is done |\n|---" + strings.Repeat("|---", len(toolkits)+1) + "|\n")
	before := readTable()        // of what this run did not try
	because := map[string]bool{} // the notes that are needed
	refusals := false
	without, later := false, false
	for _, row := range ways() {
		b.WriteString("| " + row[0])
		for _, v := range toolkits {
			what := found[cell(row[0], v)]
			if old := before[cell(row[0], v)]; what == "" || what == absent && old != "" && old != untried {
				what = old
			}
			if what == "" {
				what = untried
			}
			refusals = refusals || what == refused
			if what == nvccNot {
				because[note(row[0], v)] = true
			}
			without = without || what == absent
			later = later || what == untried
			b.WriteString(" | " + what)
		}
		b.WriteString(" | " + row[1] + " |\n")
	}
	b.WriteString("\n")
	var reasons []string
	for reason := range because {
		if reason == "" {
			return fmt.Errorf("something fails with nvcc itself, and no note says why")
		}
		reasons = append(reasons, reason)
	}
	sort.Strings(reasons)
	for _, reason := range reasons {
		fmt.Fprintf(&b, "- `%s`: %s\n", nvccNot, reason)
	}
	if refusals {
		fmt.Fprintf(&b,
			"- `%s`: a PyTorch is built for one major version of CUDA (the one tried: 13) and refuses to build extensions with another.\n", refused)
	}
	if without {
		fmt.Fprintf(&b,
			"- `%s`: the machine of the run had no such tool; the test runs where there is one.\n", absent)
	}
	if later {
		fmt.Fprintf(&b, "- `%s`: the next full run fills it in.\n", untried)
	}
	return os.WriteFile(tableFile, []byte(b.String()), 0o644)
}

// TestTable keeps the table's rows and columns in step with the tests.
func TestTable(t *testing.T) {
	if full() {
		t.Skip("SKIPPED: the table is being made anew")
	}
	cells := readTable()
	n := 0
	for _, row := range ways() {
		for _, v := range toolkits {
			switch cells[cell(row[0], v)] {
			case alike, absent, refused, untried:
				n++
			case nvccNot:
				n++
				if note(row[0], v) == "" {
					t.Errorf("%s with %s: nvcc itself fails, and no note says why", row[0], v)
				}
			case "":
				t.Errorf("%s has no cell for %s with %s: make it anew with GNVCC_TESTS=longer", tableFile,
					row[0], v)
			default:
				t.Errorf("%s with %s: %s", row[0], v, cells[cell(row[0], v)])
			}
		}
	}
	if n != len(cells) {
		t.Errorf("%s has %d cells, of which %d are of tests that there are", tableFile, len(cells), n)
	}
}
