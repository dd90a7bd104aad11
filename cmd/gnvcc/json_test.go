package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/policy/compare"
	"gnvcc/policy/judge"
	"gnvcc/policy/report"
)

var update = flag.Bool("update", false, "rewrite docs/schema: read the diff")

// printed are the verbs that print JSON, with a value of what they print in which as much as
// possible is filled in.
func printed() map[string]any {
	d := cache.Decision{Identity: "i", Kernel: "_Z1kPf", Target: "sm_90", Recipe: "maxnreg=64",
		Time: time.Unix(0, 0), For: []string{"/a/"}, Evidence: cache.Evidence{
			Untried: map[string]string{"unroll": "no loop"}, Names: map[string]string{"#1": "n"},
			Locked: &cache.Locked{Gain: 1.2}, Rest: &cache.Rest{},
			Launches: []cache.Launch{{Values: map[string]string{"n": "1"}, Cost: &cache.Cost{},
				Counts: &cache.Counts{}}},
			Tried: []cache.Trial{{Recipe: "maxnreg=64", Ratio: 0.5}}}}
	return map[string]any{
		"report": reported{"/folder", []report.Entry{report.NewEntry(d)}},
		"status": standings{Folder: "/folder", Outputs: []apply.Output{{Why: "edited",
			Kernels: []apply.Kernel{{Kernel: "k", From: "x", Reason: "y", Refused: "z"}}}}},
		"judge": &judge.Judgement{File: "/e.cu", Of: "/k.cu", Error: "e", Kernels: []judge.JudgedKernel{{
			Kernel: "k", Verdict: judge.Verdict{How: judge.Different, Why: "w", Where: "l",
				Difference: &judge.Difference{Argument: "#0", Relative: 1, Absolute: 1, NaN: true}}}}},
		"compare": compared{Before: "CUDA 13.0.88", After: "CUDA 13.5.37", Losses: 1,
			Kernels: []*compare.Kernel{{Kernel: "k", Source: "k.cu", Assumed: "a", Why: "w",
				Launches: []*compare.Launch{{Capture: "c",
					Fails: "f", Unrun: "u", Measured: &compare.Measured{Where: "w", Words: 1}}}}},
			Failed: []compare.Failure{{Command: "k.cu", Kernels: []string{"k"}}}},
	}
}

// TestFormats: docs/schema has the schema of what each verb prints, and what is printed is valid by
// it; docs/formats.md tells of each, with its version.
func TestFormats(t *testing.T) {
	text, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	values := printed()
	if len(values) != len(formats) {
		t.Errorf("%d verbs print JSON, and %d have a version", len(values), len(formats))
	}
	for verb, v := range values {
		s := schemaOf(reflect.TypeOf(v), map[reflect.Type]bool{})
		s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		s["title"] = "gnvcc " + verb + " --json, version " + fmt.Sprint(formats[verb])
		s["properties"].(map[string]any)["format"] = map[string]any{"const": "gnvcc-" + verb}
		s["properties"].(map[string]any)["version"] = map[string]any{"const": formats[verb]}
		s["required"] = append([]string{"format", "version"}, s["required"].([]string)...)
		want, err := json.MarshalIndent(s, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, '\n')
		path := filepath.Join("../../docs/schema", verb+".json")
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(path)
		if err != nil || string(have) != string(want) {
			t.Errorf("%s is not the schema of what gnvcc %s prints (%v): if a key has gone or changed its meaning, raise the version;"+
				" go test ./cmd/gnvcc -run TestFormats -update writes it", path, verb, err)
		}
		out, err := formatted(verb, v)
		if err != nil {
			t.Fatal(err)
		}
		var schema, value any
		if err := json.Unmarshal(have, &schema); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &value); err != nil {
			t.Fatalf("gnvcc %s: %v\n%s", verb, err, out)
		}
		if err := valid(schema.(map[string]any), value, "$"); err != nil {
			t.Errorf("gnvcc %s: %v", verb, err)
		}
		if !strings.Contains(string(text), fmt.Sprintf("(schema/%s.json), version %d", verb,
			formats[verb])) {
			t.Errorf("docs/formats.md does not tell of gnvcc %s, version %d", verb, formats[verb])
		}
	}
}

// TestKeys: one spelling, whatever Go calls a field; maps keep the user's keys; what is printed can
// be read again.
func TestKeys(t *testing.T) {
	for name, want := range map[string]string{"Kernel": "kernel", "PTX": "ptx", "PTXHash": "ptxHash",
		"OtherBits": "otherBits", "N": "n", "ID": "id"} {
		if got := spelled(name); got != want {
			t.Errorf("%s becomes %s, want %s", name, got, want)
		}
	}
	out, err := formatted("report", printed()["report"])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"#1": "n"`, `"otherBits"`, `"version": 2`, `"registers": 0`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	all, err := report.Read(out)
	if err != nil || len(all) != 1 || all[0].Identity != "i" || all[0].Evidence.Names["#1"] != "n" {
		t.Errorf("%v, %+v", err, all)
	}
	for _, text := range []string{`{}`, `{"format": "gnvcc-status", "version": 1}`,
		`{"format": "gnvcc-report", "version": 9}`, `[]`} {
		if _, err := report.Read([]byte(text)); err == nil {
			t.Errorf("%s is taken for a report", text)
		}
	}
}

// schemaOf makes a schema of a type, as writeValue writes its values.
func schemaOf(t reflect.Type, above map[reflect.Type]bool) map[string]any {
	switch t {
	case reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem(), above)
	case reflect.Struct:
		if above[t] {
			return map[string]any{"type": "object"}
		}
		above[t] = true
		defer delete(above, t)
		properties, required := map[string]any{}, []string{}
		for _, k := range keysOf(t) {
			f := t.Field(k.index).Type
			p := schemaOf(f, above)
			if f.Kind() == reflect.Pointer && !k.may {
				p = map[string]any{"anyOf": []any{p, map[string]any{"type": "null"}}}
			}
			properties[k.name] = p
			if !k.may {
				required = append(required, k.name)
			}
		}
		return map[string]any{"type": "object", "properties": properties, "required": required}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), above)}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem(), above)}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64, reflect.Float32:
		return map[string]any{"type": "number"}
	case reflect.Interface:
		return map[string]any{}
	}
	return map[string]any{"type": "integer"}
}

// valid judges a value by a schema of those that schemaOf makes; a key that the schema does not
// have is wrong, too.
func valid(s map[string]any, v any, at string) (err error) {
	if some, ok := s["anyOf"].([]any); ok {
		if v == nil {
			return nil
		}
		s = some[0].(map[string]any)
	}
	is := map[string]string{"map[string]interface {}": "object", "[]interface {}": "array",
		"string": "string", "bool": "boolean", "float64": "number"}[fmt.Sprintf("%T", v)]
	if f, ok := v.(float64); ok && s["type"] == "integer" && f == float64(int64(f)) {
		is = "integer"
	}
	if c, ok := s["const"]; ok && !reflect.DeepEqual(c, v) || s["type"] != nil && s["type"] != is {
		return fmt.Errorf("%s is %v, of type %q; the schema has %v", at, v, is, s)
	}
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			err = errors.Join(err, valid(s["items"].(map[string]any), x, fmt.Sprintf("%s[%d]", at, i)))
		}
	case map[string]any:
		properties, known := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		for _, name := range required {
			if _, ok := v[name.(string)]; !ok {
				err = errors.Join(err, fmt.Errorf("%s has no %s", at, name))
			}
		}
		for name, x := range v {
			p := s["additionalProperties"]
			if q, ok := properties[name]; ok {
				p = q
			} else if known && p == nil {
				return fmt.Errorf("%s.%s is not in the schema", at, name)
			}
			q, _ := p.(map[string]any)
			err = errors.Join(err, valid(q, x, at+"."+name))
		}
	}
	return err
}
