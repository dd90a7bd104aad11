package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
)

var variable = regexp.MustCompile(
	`(?m)^(?:\.(?:visible|extern|weak|common)\s+)*\.(?:global|const)\b[^;=]*?\s([A-Za-z_$%][\w$]*)(?:\[\d*\])*\s*(?:=|;)`)

func main() {
	text, err := os.ReadFile(os.Args[1])
	check(err)
	var counts map[string]map[string][]uint64
	check(json.Unmarshal(text, &counts))
	src, err := os.ReadFile(os.Args[3])
	check(err)
	m, err := ptx.Parse(src)
	check(err)
	base := strings.TrimSuffix(os.Args[3], ".ptx")
	var names []string
	for _, v := range variable.FindAllStringSubmatch(string(src), -1) {
		if strings.Contains(v[0], "visible") || !strings.HasSuffix(v[0], "=") {
			names = append(names, v[1])
		}
	}
	freq, wait, both := m.Clone(), m.Clone(), m.Clone()
	var list strings.Builder
	for i, f := range m.Funcs {
		if !f.Entry || !f.Body {
			continue
		}
		blocks, err := f.Blocks()
		if err != nil {
			continue
		}
		has := 0
		if c := counts[os.Args[2]][f.Name]; len(c) >= len(blocks) && slices.Max(c) > 0 {
			has = 1
			scale := max(1, slices.Max(c)/1000000)
			for b := range blocks {
				at := blocks[b].First
				if b == 0 {
					at = f.First()
				}
				if f.Stmts[at].Kind == ptx.Label {
					at++
				}
				if at < len(f.Stmts) {
					freq.Funcs[i].Insert(at, fmt.Sprintf(".pragma \"frequency %d\";", max(1, c[b]/scale)))
				}
			}
		}
		wait.Funcs[i].Insert(f.First(), "griddepcontrol.wait;")
		both.Funcs[i].Insert(f.First(), "griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;")
		for _, v := range []*ptx.Module{freq, wait, both} {
			check(v.Funcs[i].Commit())
		}
		fmt.Fprint(&list, f.Name, " ", has)
		for _, v := range names {
			if regexp.MustCompile(`(^|[^\w$])` + regexp.QuoteMeta(v) + `($|[^\w$])`).Match(f.Text()) {
				fmt.Fprint(&list, " ", v)
			}
		}
		fmt.Fprintln(&list)
	}
	for name, v := range map[string]*ptx.Module{"freq": freq, "wait": wait, "both": both} {
		check(os.WriteFile(base+"."+name+".ptx", v.Bytes(), 0o600))
	}
	check(os.WriteFile(base+".list", []byte(list.String()), 0o600))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "hints:", err)
		os.Exit(1)
	}
}
