package source

import "testing"

// TestResident: what the user's text asks for is found, and what headers declare is not.
func TestResident(t *testing.T) {
	header := "# 1 \"/usr/local/cuda/include/cuda_runtime_api.h\" 1 3\n" +
		"extern int cudaLaunchCooperativeKernel(const void *f);\n# 2 \"a.cu\" 2\n"
	for text, want := range map[string]string{
		"__attribute__((global)) void k(int *p) { *p = 1; }\n":                                      "",
		"int main() { return cudaLaunchCooperativeKernel((void *)k); }\n":                           "cudaLaunchCooperativeKernel",
		"void f(cudaLaunchAttribute *a) { a->id = cudaLaunchAttributeClusterDimension; }\n":         "cudaLaunchAttributeClusterDimension",
		"const char *say = \"cudaLaunchCooperativeKernel\"; // cudaLaunchCooperativeKernel\n":       "",
		"template <class T> void g(T t) { auto f = &cudaLaunchCooperativeKernel; f((void *)t); }\n": "cudaLaunchCooperativeKernel",
	} {
		u, err := Parse([]byte("# 0 \"a.cu\"\n# 1 \"a.cu\"\n" + header + text))
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Resident(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestAsked: in host code what any header but the toolkit's own asks for is found, and where.
func TestHostResident(t *testing.T) {
	header := "# 1 \"/cuda/bin/../include/cuda_runtime_api.h\" 1 3\nextern int cudaLaunchCooperativeKernel(const void *f);\n" +
		"# 9 \"/cuda/include/cooperative_groups/x.h\"\nint y = cudaLaunchAttributeCooperative;\n"
	for text, want := range map[string]string{
		"# 2 \"a.cu\" 2\nint main() { return 0; }\n":                                                "",
		"# 2 \"a.cu\" 2\nint f() { return cudaLaunchCooperativeKernel(k); }\n":                      "cudaLaunchCooperativeKernel",
		"# 7 \"/usr/lib/sys.h\" 1 3\nint g() { return cudaLaunchAttributeClusterDimension; }\n":     "cudaLaunchAttributeClusterDimension",
		"# 7 \"/cudas/sys.h\"\nint my_cudaLaunchCooperativeKernel, cudaLaunchCooperativeKernel2;\n": "",
	} {
		if got := HostResident([]byte(header + text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := HostResident([]byte("int x = cudaLaunchCooperativeKernel(k);\n")); got == "" {
		t.Error("without a line that names its file it is nobody's")
	}
}
