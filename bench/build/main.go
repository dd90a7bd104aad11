// Command build measures what gnvcc costs who builds with it; no GPU is needed:
//
//	build overhead -gnvcc bin/gnvcc -nvcc NVCC examples      builds without recipes, against nvcc's
//	build apply -gnvcc bin/gnvcc -nvcc NVCC FILE.cu ...      gnvcc apply, against nvcc's builds
//	build store                                              look-ups of 64 processes at once
package main

import (
	"gnvcc/bench/build/apply"
	"gnvcc/bench/build/overhead"
	"gnvcc/bench/build/store"
	"gnvcc/bench/lab"
)

func main() {
	store.Builder() // the processes that `build store` starts
	lab.Verbs("build", lab.Verb{Name: "overhead", Run: overhead.Run}, lab.Verb{Name: "apply", Run: apply.Run},
		lab.Verb{Name: "store", Run: store.Run})
}
