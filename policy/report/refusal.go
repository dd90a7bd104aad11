package report

import (
	"regexp"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/policy/lever"
	"gnvcc/rewrite/recipe"
)

// What is said of a recipe that was refused, wherever one is shown: which of its terms, where in the
// source, why, and what would help.

// advice is what helps against reasons, by a part of their text.
var advice = sync.OnceValue(func() (out []struct {
	reason *regexp.Regexp
	help   string
}) {
	for _, x := range [][2]string{
		{`blocks of \d+ threads could no`, "__launch_bounds__ with the largest block that is launched makes room for it"},
		{`^different bits`, "gnvcc tune --within=E accepts floating-point results that differ by less"},
		{`it is for a second entry`, "write for which launches: spec{host(block)=256x1x1} in front of it"},
		{`#pragma unroll of its own`, "without the pragma gnvcc may choose the factor"},
		{`limits its registers, which is kept|__launch_bounds__.* is kept`, "gnvcc tune without --keep-directives may change them"},
		{`arrays in local memory`, "indices that are known at compile time keep an array in registers"},
		{`-rdc|relocatable`, "built without -rdc=true it could be had"},
		{`no longer in the store|not built here`, "build the file again with gnvcc"},
		{`compiles to different code here`, "gnvcc tune measures the code of this compiler"},
	} {
		out = append(out, struct {
			reason *regexp.Regexp
			help   string
		}{regexp.MustCompile(x[0]), x[1]})
	}
	return out
})

// Refusal says why a recipe was refused. place is where a term acts ("loop at k.cu:31"), "" where
// that is not known; nil: none is known.
func Refusal(text, reason string, place func(recipe.Term) string) string {
	reason = strings.TrimPrefix(reason, "it does not compile: ")
	at := ""
	r, err := recipe.Parse(text)
	for _, t := range r.Terms {
		rest, failed := strings.CutPrefix(reason, t.String()+": ")
		if err != nil || !failed && lever.Of(r) != t.Lever {
			continue
		}
		if failed && len(r.Terms) > 1 {
			at = t.String() + ", "
		}
		if reason = rest; place != nil {
			at += place(t)
		}
		break
	}
	if rest, ok := strings.CutPrefix(reason, "source: kernel "); ok {
		_, reason, _ = strings.Cut(rest, " is left alone: ")
	}
	if at = strings.TrimSuffix(at, ", "); at != "" {
		reason = "(" + at + ") " + reason
	}
	for _, a := range advice() {
		if a.reason.MatchString(reason) {
			return reason + "; " + a.help
		}
	}
	return reason
}

// Refusal is it of one of the kernel's candidates.
func (e Entry) Refusal(t cache.Trial) string { return Refusal(t.Recipe, t.Refused, e.site) }
