package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"strings"

	"github.com/google/rpmpack"
)

// Packages for systems: what make install puts below /usr, and the documents.

const about = `gnvcc stands where nvcc stands in a Makefile or in CMake, builds what nvcc
builds, and makes kernels faster by recipes that were measured on the program's
own launches. It needs a CUDA toolkit, from wherever that comes.`

// installed are the files of a system's package.
func (r release) installed() []file {
	var files []file
	for _, f := range r.programs {
		files = append(files, file{"usr/bin/" + f.path, f.mode, f.body})
	}
	for _, f := range r.pages {
		files = append(files, file{"usr/" + f.path, f.mode, f.body})
	}
	for _, f := range r.docs {
		p := "usr/share/doc/gnvcc/" + f.path
		switch f.path {
		case "LICENSE":
			p = "usr/share/doc/gnvcc/copyright"
			files = append(files, file{"usr/share/doc/gnvcc/LICENSE", f.mode, f.body})
		case "install/gnvcc.cmake":
			files = append(files, file{"usr/share/cmake/gnvcc/gnvcc.cmake", f.mode, f.body})
		}
		files = append(files, file{p, f.mode, f.body})
	}
	return files
}

// deb is an archive of ar with three members, as dpkg-deb writes it.
func deb(r release) (string, []byte, error) {
	name := fmt.Sprintf("gnvcc_%s_%s.deb", r.version, r.arch)
	files := r.installed()
	var sums strings.Builder
	size := 0
	for _, f := range files {
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.body), f.path)
		size += len(f.body)
	}
	control := fmt.Sprintf("Package: gnvcc\nVersion: %s\nArchitecture: %s\nMaintainer: the gnvcc authors\n"+
		"Installed-Size: %d\nSection: devel\nPriority: optional\nSuggests: nvidia-cuda-toolkit\n"+
		"Description: %s\n", r.version, r.arch, (size+1023)/1024, summary)
	for _, line := range strings.Split(about, "\n") {
		control += " " + line + "\n"
	}
	meta, err := tarred([]file{{"control", 0o644, []byte(control)},
		{"md5sums", 0o644, []byte(sums.String())}})
	if err != nil {
		return name, nil, err
	}
	data, err := tarred(files)
	if err != nil {
		return name, nil, err
	}
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, member := range []file{{"debian-binary", 0, []byte("2.0\n")}, {"control.tar.gz", 0, meta},
		{"data.tar.gz", 0, data}} {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", member.path, epoch.Unix(), 0, 0, "100644",
			len(member.body))
		b.Write(member.body)
		if b.Len()%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return name, b.Bytes(), nil
}

// rpm is for Red Hat's relatives and openSUSE.
func rpm(r release) (string, []byte, error) {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[r.arch]
	name := fmt.Sprintf("gnvcc-%s-1.%s.rpm", r.version, arch)
	p, err := rpmpack.NewRPM(rpmpack.RPMMetaData{Name: "gnvcc", Version: r.version, Release: "1",
		Arch: arch, Summary: summary, Description: about, Licence: "Apache-2.0", BuildHost: "localhost",
		BuildTime: epoch, Compressor: "gzip"})
	if err != nil {
		return name, nil, err
	}
	for _, f := range r.installed() {
		p.AddFile(rpmpack.RPMFile{Name: "/" + f.path, Body: f.body, Mode: uint(f.mode) | 0o100000,
			Owner: "root", Group: "root", MTime: uint32(epoch.Unix())})
	}
	var b bytes.Buffer
	err = p.Write(&b)
	return name, b.Bytes(), err
}
