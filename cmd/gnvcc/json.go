package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What verbs print as JSON: an object that begins with its format and version, with keys in one
// spelling (likeThis), whatever the store calls its fields. docs/formats.md describes the formats,
// docs/schema has a schema of each, which tests hold against what is printed.

// formats are the versions of what verbs print. A version rises when a key changes its meaning, or
// one that is always there goes; new keys don't change it.
var formats = map[string]int{"report": 2, "status": 1,
	"compare": 1, "judge": 1}

// tellJSON prints what a verb has to say; v is a struct.
func tellJSON(verb string, v any) error {
	text, err := formatted(verb, v)
	if err != nil {
		return fmt.Errorf("write as JSON: %w", err)
	}
	_, err = console.Write(text)
	return err
}

func formatted(verb string, v any) ([]byte, error) {
	text, err := formattedLine(verb, v)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// formattedLine is the same in one line.
func formattedLine(verb string, v any) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"format":"gnvcc-%s","version":%d`, verb, formats[verb])
	if err := writeFields(&b, reflect.Indirect(reflect.ValueOf(v)), true); err != nil {
		return nil, err
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}

// A key is a field of a struct as JSON has it.
type key struct {
	name  string
	index int
	may   bool // it is left out where it says nothing
}

// keysOf are those of a struct.
func keysOf(t reflect.Type) []key {
	var out []key
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = spelled(f.Name)
		}
		out = append(out, key{name, i, strings.Contains(options, "omit")})
	}
	return out
}

// spelled begins a name of Go with a small letter: "PTXHash" becomes "ptxHash".
func spelled(name string) string {
	r := []rune(name)
	for i := range r {
		if i > 0 && i+1 < len(r) && unicode.IsLower(r[i+1]) || !unicode.IsUpper(r[i]) {
			break
		}
		r[i] = unicode.ToLower(r[i])
	}
	return string(r)
}

func writeFields(b *bytes.Buffer, v reflect.Value, begun bool) error {
	top := begun // where the format's version stands already
	for _, k := range keysOf(v.Type()) {
		f := v.Field(k.index)
		if k.may && (f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0 ||
			f.Kind() == reflect.Map && f.Len() == 0) || top && k.name == "version" {
			continue
		}
		if begun {
			b.WriteByte(',')
		}
		begun = true
		fmt.Fprintf(b, "%q:", k.name)
		if err := writeValue(b, f); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

func writeValue(b *bytes.Buffer, v reflect.Value) error {
	if k := v.Kind(); (k == reflect.Pointer || k == reflect.Interface) && v.IsNil() {
		b.WriteString("null")
		return nil
	}
	switch v.Interface().(type) {
	case json.Marshaler, encoding.TextMarshaler:
		return writePlain(b, v)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return writeValue(b, v.Elem())
	case reflect.Struct:
		b.WriteByte('{')
		if err := writeFields(b, v, false); err != nil {
			return err
		}
		b.WriteByte('}')
		return nil
	case reflect.Slice, reflect.Array:
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeValue(b, v.Index(i)); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case reflect.Map:
		return writeMap(b, v)
	}
	return writePlain(b, v)
}

// writeMap writes a map by its keys, which are the user's and stay as they are.
func writeMap(b *bytes.Buffer, v reflect.Value) error {
	names := v.MapKeys()
	slices.SortFunc(names, func(a, b reflect.Value) int {
		return strings.Compare(a.String(), b.String())
	})
	b.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writePlain(b, name); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := writeValue(b, v.MapIndex(name)); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func writePlain(b *bytes.Buffer, v reflect.Value) error {
	text, err := json.Marshal(v.Interface())
	b.Write(text)
	return err
}

// oneOf makes a verb refuse two of these options at once, which each say what is to come out.
func oneOf(c *cobra.Command, names ...string) {
	args := c.Args
	c.Args = func(c *cobra.Command, words []string) error {
		var given []string
		c.Flags().Visit(func(f *pflag.Flag) {
			if slices.Contains(names, f.Name) {
				given = append(given, "--"+f.Name)
			}
		})
		if len(given) > 1 {
			return fmt.Errorf("%s can't be combined: ask for one of them",
				strings.Join(given, " and "))
		}
		return args(c, words)
	}
}
