package main

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

// TestChart: a bar a program, the fastest first, from 1 on, and the mean.
func TestChart(t *testing.T) {
	one := func(name string, before, after int64) Result {
		return Result{Program: name, Before: []int64{before}, After: []int64{after}}
	}
	text := chart([]Result{one("slower", 80, 100), one("a<b", 400, 100), one("same", 100, 100)})
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
	first, last := strings.Index(text, "a&lt;b"), strings.Index(text, "slower")
	if first < 0 || last < first || !strings.Contains(text[first:last], ">4.000<") {
		t.Errorf("the order, or a figure:\n%s", text)
	}
	// 0.8 * 4 * 1 is 1.474 cubed
	for _, want := range []string{"3 programs, 1.474 times", `width="0.0"`, "#c55", ">0.800<"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}
