package source

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Which kernels can be rewritten in one text, and that such a text holds what each of them has
// alone.
func TestTogetherInOneText(t *testing.T) {
	text := []byte(`# 1 "k.cu"
# 1 "/kit/include/cuda_runtime.h" 1 3
float sinf(float x); float cosf(float x);` + strings.Repeat(" int x();", 10000) + `
# 1 "k.cu" 2
static __attribute__((device)) float norm(const float *p, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) s += p[i];
  return sinf(s) + cosf(s); }
__attribute__((global)) void first(float *p, int n) { for (int i = 0; i < n; i++) p[i] = sinf(i); }
__attribute__((global)) void second(float *p, int n) { p[0] = norm(p, n); }
__attribute__((global)) void third(float *p, int n) { p[0] = 2 * norm(p, n); }
template <class T> __attribute__((global)) void fourth(T *p, int n) { for (int i = 0; i < n; i++) p[i] = n; }
`)
	u, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	const first, second, third, float, double = "_Z5firstPfi", "_Z6secondPfi", "_Z5thirdPfi",
		"_Z6fourthIfEvPT_i", "_Z6fourthIdEvPT_i"
	signature := []string{".u64", ".u32"}
	for _, c := range []struct {
		requests string // entry: recipe
		want     string // indices, text by text
	}{
		{first + ": unroll=8; " + second + ": spec{n=7}", "[[0 1]]"},
		{second + ": unroll=2; " + third + ": unroll=2", "[[0 1]]"},
		{second + ": unroll=2; " + third + ": unroll=4", "[[0] [1]]"},
		// norm's loop would be unrolled for third as well
		{second + ": unroll=2; " + third + ": spec{n=7}", "[[0] [1]]"},
		{second + ": unroll=2; " + third + ": unroll@norm.1=2", "[[0 1]]"},
		{first + ": spec{n=3}; " + first + ": spec{n=4}; " + second + ": unroll=2", "[[0 2] [1]]"},
		{first + ": spec{n=3}; " + first + ": unroll=2", "[[0] [1]]"},
		{float + ": spec{n=3}; " + double + ": spec{n=3}", "[[0 1]]"},
		{float + ": spec{n=3}; " + double + ": spec{n=4}", "[[0] [1]]"},
		{float + ": unroll=2; " + double + ": unroll=4", "[[0] [1]]"},
		{first + ": unroll=8; " + second + ": unroll@99=2; nowhere: unroll=2", "[[0]]"},
		{first + ": fastmath=sin; " + second + ": unroll=2", "[[0 1]]"},
		{first + ": fastmath=sin; " + second + ": fastmath=sin", "[[0 1]]"},
		// one set of functions a text
		{first + ": fastmath=sin; " + second + ": fastmath=all", "[[0] [1]]"},
		{second + ": fastmath=sin; " + third + ": unroll=2", "[[0] [1]]"},
		{second + ": unroll=2; " + third + ": unroll=4; " + first + ": unroll=8; " + float + ": unroll=3",
			"[[0 2 3] [1]]"},
	} {
		var requests []Request
		for _, r := range strings.Split(c.requests, "; ") {
			entry, text, _ := strings.Cut(r, ": ")
			requests = append(requests, Request{entry, termsOf(t, text), signature})
		}
		joints := u.Together(requests)
		var got [][]int
		for _, j := range joints {
			got = append(got, j.Requests)
			if len(j.Requests) == 1 {
				i := j.Requests[0]
				if alone, err := u.Rewrite(requests[i].Entry, requests[i].Terms,
					requests[i].Signature); err != nil || string(alone) != string(j.Text) {
					t.Errorf("%s: one alone is not what Rewrite gives: %v", c.requests, err)
				}
			}
			for _, i := range j.Requests { // every edit of each is there
				alone, err := u.Rewrite(requests[i].Entry, requests[i].Terms, requests[i].Signature)
				if err != nil {
					t.Fatal(err)
				}
				for _, mark := range []string{"#pragma unroll", "if ("} {
					if strings.Count(string(j.Text), mark) < strings.Count(string(alone), mark) {
						t.Errorf("%s: the text for all lacks some of %s's:\n%s", c.requests, requests[i].Entry,
							j.Text)
					}
				}
			}
			if _, err := Parse(j.Text); err != nil {
				t.Errorf("%s: %v", c.requests, err)
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", c.requests, got, c.want)
		}
		if !reflect.DeepEqual(joints, u.Together(requests)) {
			t.Errorf("%s: not the same when repeated", c.requests)
		}
	}
}
