// Command build measures what gnvcc costs who builds with it; no GPU is needed:
//
//	build overhead -gnvcc bin/gnvcc -nvcc NVCC examples      builds without recipes, against nvcc's
//	build apply -gnvcc bin/gnvcc -nvcc NVCC FILE.cu ...      gnvcc apply, against nvcc's builds
package main

import (
	"gnvcc/bench/build/apply"
	"gnvcc/bench/build/overhead"
	"gnvcc/bench/lab"
)

func main() {
	lab.Verbs("build", lab.Verb{Name: "overhead", Run: overhead.Run}, lab.Verb{Name: "apply", Run: apply.Run})
}
