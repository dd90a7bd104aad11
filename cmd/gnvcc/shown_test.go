// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
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
	v := newSite(t, "", "LC_ALL=C.UTF-8")
	text, err := os.ReadFile("../../examples/recorded-h200.json")
	v.must(err)
	recorded, err := report.Read(text)
	v.must(err)
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
		v.must(err)
		theirs = append(theirs, cache.Arrived{Decision: d, Raw: raw})
	}
	text, err = json.Marshal(map[string]any{"format": "gnvcc-report", "version": 1, "kernels": own})
	v.must(err)
	v.write("report.json", string(text))
	remote := filepath.Join(v.store, "remotes", "theirs")
	v.must(os.MkdirAll(remote, 0o700))
	v.must(cache.PublishOther(remote, theirs))
	steers := regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{202a}-\x{202e}\x{2066}-\x{2069}]`)
	shown := 0
	run := func(words ...string) {
		out, _ := v.gnvcc(words...)
		if at := steers.FindStringIndex(out); at != nil {
			t.Errorf("gnvcc %s prints %q", strings.Join(words, " "),
				out[max(0, at[0]-60):min(len(out), at[1]+20)])
		}
		if strings.Contains(out, "owned") {
			shown++
		}
	}
	run("lock", "--take", "report.json")
	for _, line := range []string{"report --all", "report --all --json",
		"explain .", "explain median", "explain nosuchkernel", "status", "doctor --store", "doctor", "doctor --captures",
		"export", "pin nosuchkernel maxnreg=32", "predict nosuchkernel", "__complete explain m",
		"report --all --html page.html"} {
		run(strings.Fields(line)...)
	}
	if shown < 3 {
		t.Errorf("%d verbs showed the texts", shown)
	}
	for _, name := range []string{"page.html"} {
		page := v.read(name)
		if !strings.Contains(page, "owned") {
			t.Fatalf("%s does not show the texts", name)
		}
		if strings.Contains(page, "<script>alert") {
			t.Errorf("%s has the script of a text", name)
		}
		if strings.ContainsFunc(page, func(c rune) bool {
			return c != '\n' && c != '\t' && unicode.IsControl(c)
		}) {
			t.Errorf("%s has control characters", name)
		}
	}
}
