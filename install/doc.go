// Package install holds no Go code to call: next to it lie the scripts that put CUDA toolkits onto a
// machine (toolkit, and toolkit-debian that it reads). The tests here are theirs. No package imports
// this package; make and CI run the scripts.
package install
