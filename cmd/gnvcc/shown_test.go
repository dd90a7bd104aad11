// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"gnvcc/cache"
	"gnvcc/policy/report"
)

// What others write must not steer the terminal of who reads it.

// hostile has escape sequences of both kinds, turns a line around, and would be a script in a page.
const hostile = "\x1b]0;owned\a\u009b2J\r\b\x7f\u202e<script>alert(1)</script>|`\"'"

// spoil puts it behind all texts of a value that may be anything; keep names fields that may not.
func spoil(v reflect.Value, keep ...string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem(), keep...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			kept := false
			for _, name := range keep {
				kept = kept || f.Name == name
			}
			if f.IsExported() && !kept {
				spoil(v.Field(i), keep...)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i), keep...)
		}
	case reflect.Map:
		for _, name := range v.MapKeys() {
			if name.Kind() == reflect.String && v.Type().Elem().Kind() == reflect.String {
				v.SetMapIndex(reflect.ValueOf(name.String()+hostile).Convert(name.Type()),
					reflect.ValueOf(v.MapIndex(name).String()+hostile).Convert(v.Type().Elem()))
			}
		}
	case reflect.String:
		v.SetString(v.String() + hostile)
	}
}

// TestHostile takes a report, and has a remote, whose every text is hostile, and looks at what
// each verb prints, and at its pages.
func TestHostile(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	gnvcc := filepath.Join(dir, "gnvcc")
	if err := os.Symlink(self, gnvcc); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../examples/recorded-h200.json")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := report.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	var own []map[string]any
	var theirs []cache.Arrived
	for i := range recorded {
		d := recorded[i]
		d.Evidence.Note = "a note"
		if i%2 == 0 { // --take takes what has the words of this version
			spoil(reflect.ValueOf(&d), "Identity", "Recipe", "Exactness")
			own = append(own, map[string]any{"decision": d})
			continue
		}
		spoil(reflect.ValueOf(&d), "Identity")
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		theirs = append(theirs, cache.Arrived{Decision: d, Raw: raw})
	}
	text, err = json.Marshal(map[string]any{"format": "gnvcc-report", "version": 1, "kernels": own})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "report.json"), text, 0o600)
	}
	remote := filepath.Join(dir, "store", "remotes", "theirs")
	if err == nil {
		err = os.MkdirAll(remote, 0o700)
	}
	if err == nil {
		err = cache.PublishOther(remote, theirs)
	}
	if err != nil {
		t.Fatal(err)
	}
	steers := regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{202a}-\x{202e}\x{2066}-\x{2069}]`)
	shown := 0
	run := func(words ...string) {
		cmd := exec.Command(gnvcc, words...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GNVCC_STORE="+filepath.Join(dir, "store"), "LC_ALL=C.UTF-8")
		out, _ := cmd.CombinedOutput()
		if at := steers.FindIndex(out); at != nil {
			t.Errorf("gnvcc %s prints %q", strings.Join(words, " "),
				out[max(0, at[0]-60):min(len(out), at[1]+20)])
		}
		if strings.Contains(string(out), "owned") {
			shown++
		}
	}
	run("lock", "--take", "report.json")
	for _, line := range []string{"report --all", "report --all --json",
		"explain .", "explain median", "explain nosuchkernel", "status", "doctor --store", "doctor", "doctor --captures",
		"export", "pin nosuchkernel maxnreg=32", "predict nosuchkernel", "__complete explain m",
		"report --all --html page.html", "explain . --html why.html"} {
		run(strings.Fields(line)...)
	}
	if shown < 3 {
		t.Errorf("%d verbs showed the texts", shown)
	}
	for _, name := range []string{"page.html", "why.html"} {
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(page), "owned") {
			t.Fatalf("%s does not show the texts: %v", name, err)
		}
		if strings.Contains(string(page), "<script>alert") {
			t.Errorf("%s has the script of a text", name)
		}
		if strings.ContainsFunc(string(page), func(c rune) bool {
			return c != '\n' && c != '\t' && unicode.IsControl(c)
		}) {
			t.Errorf("%s has control characters", name)
		}
	}
}
