package driver

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
)

// BenchmarkFace is the time from gnvcc's start until nvcc runs, on the usual path and for a command
// seen before: gnvcc in front of a program that does nothing, less that program alone
// (BenchmarkNothing). The goal is 5 ms.
func BenchmarkFace(b *testing.B) {
	gnvcc := filepath.Join(b.TempDir(), "gnvcc")
	build := exec.Command("go", "build", "-trimpath", "-o", gnvcc, "../cmd/gnvcc")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	// A program that does nothing, but says in a dry run what nvcc would.
	nothing := drivertest.Program(b, filepath.Join(b.TempDir(), "nvcc"),
		`#!/bin/sh
case "$*" in *--dryrun*)
	for word; do
		case $option in
		--cicc-prefix) echo "#$ $word cicc -x" ;;
		--cudafe-prefix) echo "#$ $word cudafe++ -x" ;;
		--ptxas-prefix) echo "#$ $word ptxas -x" ;;
		--nvlink-prefix) echo "#$ nvlink $word -m64" ;;
		esac
		option=$word
	done ;;
esac
`)
	env := append(os.Environ(), "GNVCC_NVCC="+nothing, "GNVCC_STORE="+filepath.Join(b.TempDir(),
		"store"))
	dir := b.TempDir()
	for _, bench := range []struct{ name, program, args string }{
		{"Nothing", nothing, "-O3 -arch=sm_90 -c k.cu -o k.o"},
		{"Compile", gnvcc, "-O3 -arch=sm_90 -c k.cu -o k.o"},
		{"Query", gnvcc, "--version"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command(bench.program, strings.Fields(bench.args)...)
				cmd.Dir, cmd.Env = dir, env
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
