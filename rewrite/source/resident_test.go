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
