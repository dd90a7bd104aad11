package lab

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGather(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	nvcc := write("nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'\n")
	write("nvidia-smi", "echo 'NVIDIA H200, 580.159.04, 345 MHz, 3201 MHz'\necho 'second, x, y, z'\n")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	f := Gather(context.Background(), nvcc, "/x/gnvcc", "abc")
	if f.Toolkit != "13.0, V13.0.88" || f.GPU != "NVIDIA H200" || f.Driver != "580.159.04" ||
		f.Clocks != "345 MHz, 3201 MHz" || f.Commit != "abc" || f.Cores < 1 || f.Kernel == "" {
		t.Errorf("%+v", f)
	}
	if s := f.String(); !strings.Contains(s,
		"NVIDIA H200, driver 580.159.04; CUDA 13.0, V13.0.88; gnvcc abc") {
		t.Error(s)
	}
	write("nvidia-smi", "exit 9\n")
	if f := Gather(context.Background(), "/no/nvcc", "", "abc"); f.GPU != "" || f.Toolkit != "" {
		t.Errorf("guessed: %+v", f)
	}
}

func TestToolkit(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/kit/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/kit/bin/nvcc", nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir+"/kit/bin/nvcc", dir+"/nvcc"); err != nil {
		t.Fatal(err)
	}
	if got := Toolkit(dir + "/nvcc"); got != dir+"/kit" {
		t.Error(got)
	}
}
