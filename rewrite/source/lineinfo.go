package source

// Line information of PTX: `.loc 2 107 3, function_name $L__info_string0, inlined_at 1 7 37` speaks of the module's
// `.file 2 "path"` and of a label in its .debug_str section. An entry that moves to another module needs that module's
// numbers and labels.

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

type lineTable struct {
	byNumber map[int]string // what stands behind the number: "path", perhaps with time and size
	byFile   map[string]int
	most     int
	labels   map[string]string // $L__info_string0: its .b8 bytes, squashed
	byString map[string]string
	end      int // offset of the .debug_str section's }, -1 if there is none
	newFiles []string
	newText  []string
}

var (
	fileDirective = regexp.MustCompile(`(?m)^\s*\.file\s+(\d+)\s+("[^\n]*)$`)
	debugStr      = regexp.MustCompile(`(?s)\.section\s+\.debug_str\s*\{(.*?)\}`)
	infoLabel     = regexp.MustCompile(`(?s)(\$L__info_string\d+):(.*?)(?:(\$L__info_string\d+):|$)`)
	locDirective  = regexp.MustCompile(`^\.loc(\s+)(\d+)(\s+\d+\s+\d+)(.*)$`)
	locFunction   = regexp.MustCompile(`function_name\s+(\$L__info_string\d+)`)
	locInlined    = regexp.MustCompile(`inlined_at\s+(\d+)`)
)

func readLines(text []byte) (*lineTable, error) {
	t := &lineTable{byNumber: map[int]string{}, byFile: map[string]int{}, labels: map[string]string{}, byString: map[string]string{}, end: -1}
	if !bytes.Contains(text, []byte(".file")) {
		return t, nil
	}
	for _, m := range fileDirective.FindAllSubmatch(text, -1) {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			return nil, fmt.Errorf("a .file of number %s", m[1])
		}
		file := strings.TrimSpace(string(m[2]))
		t.byNumber[n] = file
		if _, ok := t.byFile[file]; !ok {
			t.byFile[file] = n
		}
		t.most = max(t.most, n)
	}
	at := debugStr.FindSubmatchIndex(text)
	if at == nil {
		return t, nil
	}
	t.end = at[3]
	body := text[at[2]:at[3]]
	for len(body) > 0 {
		m := infoLabel.FindSubmatchIndex(body)
		if m == nil {
			break
		}
		label, s := string(body[m[2]:m[3]]), squash(string(body[m[4]:m[5]]))
		t.labels[label] = s
		if _, ok := t.byString[s]; !ok {
			t.byString[s] = label
		}
		if m[6] < 0 {
			break
		}
		body = body[m[6]:]
	}
	return t, nil
}

// translate turns a .loc of another module into one of this module. Other line statements stay.
func (t *lineTable) translate(line string, from *lineTable) (string, error) {
	m := locDirective.FindStringSubmatch(line)
	if m == nil {
		return line, nil
	}
	n, err := t.file(m[2], from)
	if err != nil {
		return "", err
	}
	rest := m[4]
	if f := locFunction.FindStringSubmatch(rest); f != nil {
		s, ok := from.labels[f[1]]
		if !ok {
			return "", fmt.Errorf("its line information names %s, which is not there", f[1])
		}
		label, ok := t.byString[s]
		if !ok {
			label = fmt.Sprintf("$L__info_string_gnvcc%d", len(t.newText))
			t.byString[s] = label
			t.newText = append(t.newText, label+":\n"+strings.ReplaceAll(s, " .b8", "\n.b8")+"\n")
		}
		rest = strings.Replace(rest, f[1], label, 1)
	}
	if f := locInlined.FindStringSubmatchIndex(rest); f != nil {
		n, err := t.file(rest[f[2]:f[3]], from)
		if err != nil {
			return "", err
		}
		rest = rest[:f[2]] + strconv.Itoa(n) + rest[f[3]:]
	}
	return ".loc" + m[1] + strconv.Itoa(n) + m[3] + rest, nil
}

func (t *lineTable) file(number string, from *lineTable) (int, error) {
	n, err := strconv.Atoi(number)
	file, ok := from.byNumber[n]
	if err != nil || !ok {
		return 0, fmt.Errorf("its line information names file %s, which is not there", number)
	}
	if own, ok := t.byFile[file]; ok {
		return own, nil
	}
	t.most++
	t.byFile[file], t.byNumber[t.most] = t.most, file
	t.newFiles = append(t.newFiles, fmt.Sprintf("\t.file\t%d %s\n", t.most, file))
	return t.most, nil
}

// files is what to add at the module's end.
func (t *lineTable) files() string {
	s := strings.Join(t.newFiles, "")
	if len(t.newText) > 0 && t.end < 0 {
		s += "\t.section\t.debug_str\n\t{\n" + strings.Join(t.newText, "") + "\n\t}\n"
	}
	return s
}

// strings is what to add in the .debug_str section, and where.
func (t *lineTable) strings() (uint32, string, bool) {
	if len(t.newText) == 0 || t.end < 0 {
		return 0, "", false
	}
	return uint32(t.end), strings.Join(t.newText, ""), true
}
