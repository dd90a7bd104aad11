package stage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/driver/environment"
	"gnvcc/driver/job"
	"gnvcc/driver/record"
	"gnvcc/driver/standing"
	"gnvcc/driver/toolcmd"
)

// FuzzMemos reads what builds leave for each other in the store, as somebody else could have
// written it: memos, commands, records.
func FuzzMemos(f *testing.F) {
	f.Add(
		[]byte(
			`{"Kernels":[{"Name":"k","Identity":"1"}],"Cubin":"x","Messages":[{"Text":"\u0000in\u0000, line 3"}],"Whole":true}`))
	f.Add(
		[]byte(
			`{"Args":["-c","k.cu","-o"],"Dir":"/d","Env":["NVCC_APPEND_FLAGS=-v \"a"],"Nvcc":"/bin/true"}`))
	f.Add(
		[]byte(
			`{"Cubin":"","Kernels":null,"Choices":[{"Entry":"k","Second":"k2","Args":[{"Index":-1,"Offset":1,"Bytes":"AA=="}]}]}`))
	f.Add(
		[]byte(
			`{"Cicc":"/bin/true","Args":["-arch","compute_90","in.ii","-o","out.ptx"],"Input":"x","Names":["a"],"Outputs":[""],"Inputs":[{"Path":"x"}],"Error":"e"}`))
	store, err := cache.Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	stubText :=
		"#include \"crt/host_runtime.h\"\n#include \"a.fatbin.c\"\n__cudaLaunchPrologue(1);__cudaLaunch(((char *)f));__cudaRegisterEntry(__T0, f, k, (-1));\n"
	call, err := toolcmd.ReadPtxas([]string{"-arch=sm_90", "in.ptx", "-o", "out.cubin"})
	if err != nil {
		f.Fatal(err)
	}
	base := filepath.Join(f.TempDir(), toolcmd.Temporary+"a")
	if err := os.WriteFile(base+".cudafe1.stub.c", []byte(stubText), 0o600); err != nil {
		f.Fatal(err)
	}
	stub, err := compile.FindStub(base + ".ptx")
	if err != nil {
		f.Fatal(err)
	}
	kinds := []string{"standard", "translation", string(memoBuild), string(memoStep)}
	key := cache.Hash([]byte("key"))
	put := func(t testing.TB, text []byte) {
		for _, kind := range kinds {
			if err := store.PutMemo(kind, key, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(f, []byte(`{"Cubin":"x","PTX":"`+key+`"}`))
	if _, ok := (&job.Job{Call: call, Key: key}).LoadDefault(store); !ok {
		f.Fatal("the memo of a default compile is not read: is its kind another one now?")
	}
	if _, ok := record.LoadTranslation(store, key); !ok {
		f.Fatal("the memo of a translation is not read: is its kind another one now?")
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		put(t, text)
		hash, err := store.PutObject(text)
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(store.ObjectPath(hash))
		j := &job.Job{Call: call, Key: key, Hash: key}
		s := &stage{store: store, log: zerolog.Nop()}
		if std, ok := j.LoadDefault(store); ok {
			job.Spills(std.Kernels, std.Messages)
			noteText(j, std.Cubin, std.Kernels)
			standing.Recipes(nil, std.Kernels, standing.AskerOf(store, hash, environment.Of(nil)))
		}
		s.loadBuild(key, j, func() (*compile.HostStub, error) { return stub, nil })
		if tr, ok := record.LoadTranslation(store, key); ok {
			if call, err := toolcmd.ReadCicc(tr.Args); err == nil {
				call.Template()
				call.Slice("/d")
				call.Lower("/d")
			}
		}
		s.load(&reuse{key: key, names: []string{"name"}, outputs: []string{"out"}})
		if c, err := record.LoadCommand(store, hash); err == nil {
			record.IsLast(store, hash, c)
			record.HasHost(c)
			environment.Of(c.Env).Again(environment.Run{Recorded: c.Env})
		}
	})
}
