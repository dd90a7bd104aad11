package driver

import (
	"os"
	"testing"

	"github.com/rs/zerolog"

	"gnvcc/cache"
	"gnvcc/driver/toolcmd"
)

// Command lines, option files and dry runs are foreign bytes: reading them must not end a build.

// FuzzMemos reads what builds leave for each other in the store, as somebody else could have written it: memos, commands, records.
func FuzzMemos(f *testing.F) {
	f.Add([]byte(`{"Kernels":[{"Name":"k","Identity":"1"}],"Cubin":"x","Messages":[{"Text":"\u0000in\u0000, line 3"}],"Whole":true}`))
	f.Add([]byte(`{"Args":["-c","k.cu","-o"],"Dir":"/d","Env":["NVCC_APPEND_FLAGS=-v \"a"],"Nvcc":"/bin/true"}`))
	f.Add([]byte(`{"Cubin":"","Kernels":null,"Choices":[{"Entry":"k","Second":"k2","Args":[{"Index":-1,"Offset":1,"Bytes":"AA=="}]}]}`))
	f.Add([]byte(`{"Cicc":"/bin/true","Args":["-arch","compute_90","in.ii","-o","out.ptx"],"Input":"x","Names":["a"],"Outputs":[""],"Inputs":[{"Path":"x"}],"Error":"e"}`))
	store, err := cache.Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	stubText := "#include \"crt/host_runtime.h\"\n#include \"a.fatbin.c\"\n__cudaLaunchPrologue(1);__cudaLaunch(((char *)f));__cudaRegisterEntry(__T0, f, k, (-1));\n"
	f.Fuzz(func(t *testing.T, text []byte) {
		key := cache.Hash([]byte("key"))
		for _, kind := range []string{string(memoStandard), string(memoBuild), string(memoTranslation), string(memoCandidate), string(memoStep), string(memoManner)} {
			if err := store.PutMemo(kind, key, text); err != nil {
				t.Fatal(err)
			}
		}
		hash, err := store.PutObject(text)
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(store.ObjectPath(hash))
		call, err := toolcmd.ReadPtxas([]string{"-arch=sm_90", "in.ptx", "-o", "out.cubin"})
		if err != nil {
			t.Fatal(err)
		}
		j := &job{call: call, key: key, hash: key}
		s := &stage{store: store, log: zerolog.Nop()}
		if std, ok := j.loadStandard(store); ok {
			spills(std.Kernels, std.Messages)
			noteText(std.Cubin, std.Kernels)
			wanted(nil, std.Kernels, asker{files: func() []string { return nil }})
		}
		s.loadBuild(key, j, func() (*hostStub, error) { return &hostStub{"stub.c", []byte(stubText)}, nil })
		if tr, ok := loadTranslation(store, key); ok {
			if call, err := toolcmd.ReadCicc(tr.Args); err == nil {
				call.Template()
				call.Elsewhere("/d")
			}
		}
		(&Compiler{store: store}).kept(key)
		s.load(&reuse{key: key, names: []string{"name"}, outputs: []string{"out"}})
		if c, err := loadCommand(store, hash); err == nil {
			isLast(store, hash, c)
			hasHost(c)
			restored(c.Env, nil)
		}
	})
}
