// Package page draws what was decided as one HTML file that needs nothing else: no script, style,
// font or picture from elsewhere. It works in light and dark, at any width, and for thousands of
// kernels.
//
// cmd may call it. page.go gathers the values, why.go says in a sentence what a recipe changes,
// draw.go makes the pictures (SVG, by hand), page.html and page.css are the page.
// All text goes through html/template, which escapes it: kernels' names and notes are
// untrusted.
package page
