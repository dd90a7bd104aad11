package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// A Python wheel (the binary distribution format of PyPA's specifications). Programs lie in
// data/scripts, from where pip puts them into bin as they are: a build starts gnvcc many times, and
// no Python is started with it.

// platforms are the tags by Go's name of the machine; a static program runs with any C library.
var platforms = map[string]string{
	"amd64": "manylinux2014_x86_64.musllinux_1_1_x86_64",
	"arm64": "manylinux2014_aarch64.musllinux_1_1_aarch64",
}

const summary = "nvcc, with kernels made faster by recipes that were measured"

func wheel(r release) (string, []byte, error) {
	info := "gnvcc-" + r.version + ".dist-info/"
	tag := "py3-none-" + platforms[r.arch]
	var tags strings.Builder
	for _, p := range strings.Split(platforms[r.arch], ".") {
		fmt.Fprintf(&tags, "Tag: py3-none-%s\n", p)
	}
	var toolkit strings.Builder
	for _, p := range []string{"nvcc", "crt", "runtime", "cccl", "cupti", "cuobjdump", "nvdisasm"} {
		fmt.Fprintf(&toolkit, "Requires-Dist: nvidia-cuda-%s >= 13.3; extra == \"cuda\"\n", p)
	}
	toolkit.WriteString("Requires-Dist: nvidia-nvvm >= 13.3; extra == \"cuda\"\n")
	files := []file{
		{info + "METADATA", 0o644, []byte("Metadata-Version: 2.4\nName: gnvcc\nVersion: " + r.version +
			"\nSummary: " + summary + "\nLicense-Expression: Apache-2.0\n" +
			"License-File: LICENSE\nLicense-File: NOTICE\n" +
			"Provides-Extra: cuda\n" + toolkit.String() +
			"\nA drop-in for nvcc: gnvcc help, and README.md of the project.\n")},
		{info + "WHEEL", 0o644, []byte("Wheel-Version: 1.0\nGenerator: gnvcc\nRoot-Is-Purelib: false\n" +
			tags.String())},
	}
	for _, f := range r.programs {
		files = append(files, file{"gnvcc-" + r.version + ".data/scripts/" + f.path, f.mode, f.body})
	}
	for _, f := range r.docs {
		if f.path == "LICENSE" || f.path == "NOTICE" {
			files = append(files, file{info + "licenses/" + f.path, 0o644, f.body})
		}
	}
	var record strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.body)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.path, base64.RawURLEncoding.EncodeToString(sum[:]),
			len(f.body))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	files = append(files, file{info + "RECORD", 0o644, []byte(record.String())})
	name := "gnvcc-" + r.version + "-" + tag + ".whl"
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.path, Method: zip.Deflate, Modified: epoch}
		h.SetMode(f.mode)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = io.Copy(w, bytes.NewReader(f.body))
		}
		if err != nil {
			return name, nil, err
		}
	}
	err := z.Close()
	return name, b.Bytes(), err
}
