// SPDX-License-Identifier: Apache-2.0

package apply

import "testing"

// TestMoved: a folder is found wherever a command names it, and only where it is the whole name.
func TestMoved(t *testing.T) {
	m := Move{"/usr/local/cuda", "/new"}
	for word, want := range map[string]string{
		"/usr/local/cuda":                                    "/new",
		"/usr/local/cuda/include":                            "/new/include",
		"-I/usr/local/cuda/include":                          "-I/new/include",
		"-Wall,-I/usr/local/cuda/x":                          "-Wall,-I/new/x",
		"-isystem=/usr/local/cuda":                           "-isystem=/new",
		"PATH=/bin:/usr/local/cuda/b":                        "PATH=/bin:/new/b",
		"/usr/local/cuda-12.4/bin":                           "/usr/local/cuda-12.4/bin",
		"here/usr/local/cuda":                                "here/usr/local/cuda",
		"-Idir/usr/local/cuda":                               "-Idir/usr/local/cuda",
		"/usr/local/cuda:/usr/local/cuda/x,/usr/local/cudax": "/new:/new/x,/usr/local/cudax",
	} {
		if got := moved(word, m); got != want {
			t.Errorf("%s: %s, not %s", word, got, want)
		}
	}
}
