// SPDX-License-Identifier: Apache-2.0

package compare

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"gnvcc/policy/page"
)

//go:embed page.html
var pageHTML string

// A comparison as a page, for a review: one file that needs no network. All text goes through
// html/template, which escapes it: kernels' names and compilers' messages are other people's words.

// Page writes it; version is gnvcc's.
func (p *Pair) Page(w io.Writer, version string) error {
	t, err := template.New("compare").Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("the page's own text: %w", err)
	}
	type kernel struct {
		*Kernel
		Cells cells
		Notes []string
		Lost  bool
		Loop  []line
	}
	in := struct {
		Pair            *Pair
		CSS             template.CSS
		Version         string
		Summary, Legend string
		Kernels         []kernel
		Failed          []string
	}{Pair: p, CSS: template.CSS(page.CSS), Version: version, Summary: p.summary(), Legend: p.legend()}
	for _, k := range p.rows() {
		in.Kernels = append(in.Kernels, kernel{k, k.cells(), k.notes(), lost(k.Verdict), k.sideBySide()})
	}
	for _, f := range p.Failed {
		in.Failed = append(in.Failed, f.title(p)+": "+f.Command+": "+f.Why)
	}
	return t.Execute(w, in)
}
