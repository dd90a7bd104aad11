package compile

import (
	"fmt"
	"testing"
)

// TestRoughCoordinates: a number that the compiler computed may say where a texture is read, or be
// stored and loaded as a constant.
func TestRoughCoordinates(t *testing.T) {
	const begin = "(cudaTextureObject_t x, float *o, const float *b, float p, int n) {\n" +
		" int t = threadIdx.x;\n float c = p * 1.3f + 0.7f;\n"
	text := "__global__ void place" + begin + " o[t] = tex1D<float>(x, c) * b[t];\n}\n" +
		"__global__ void lod" + begin + " o[t] = tex2DLod<float>(x, b[t], b[t + 1], c);\n}\n" +
		"__global__ void read" + begin + " o[t] = tex1D<float>(x, b[t]) * n;\n}\n" +
		"__global__ void again" + begin + " o[t + n] = c;\n float v = __ldg(o + t + 7);\n" +
		" o[t + 7] = b[t];\n if (v > 2.9f)\n  o[t + 90] = b[t + 1];\n}\n" +
		"int main() { place<<<1, 1>>>(0, 0, 0, 0, 0); lod<<<1, 1>>>(0, 0, 0, 0, 0);\n" +
		" read<<<1, 1>>>(0, 0, 0, 0, 0); again<<<1, 1>>>(0, 0, 0, 0, 0); }\n"
	for _, version := range []string{"13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			tryRecipes(t, version, text, []attempt{
				{"_Z5placeyPfPKffi", "spec{p=1.7}", "is not shown"},
				{"_Z3lodyPfPKffi", "spec{p=1.7}", "is not shown"},
				{"_Z4readyPfPKffi", "spec{p=1.7,n=7}", ""},
				{"_Z5againyPfPKffi", "spec{p=1.7,n=7}", "is not shown"},
			})
		})
	}
}

// TestStoredNumbers: a number that the compiler computed may be stored, loaded and compared, and
// the store be dead in the variant, so that nothing shows it. x * 1.3 + 0.7 is contracted in the
// kernel, and rounded twice where x is known.
func TestStoredNumbers(t *testing.T) {
	const sum, over, shared = "x * 1.3f + 0.7f", "if (v > 2.9f) o[t + 90] = b[t];",
		"__shared__ float a[128]; "
	var attempts []attempt
	text, calls := "__device__ void put(float *p, float v) { *p = v; }\n__device__ float d[999];\n", ""
	for n, k := range []struct {
		array, set, use, recipe string
		refused                 bool
	}{
		{"o", sum, over, "spec{x=1.7,n=7}", true},
		{"o", sum, "o[t + 90] = v;", "spec{x=1.7,n=7}", true},
		{"o", sum, "o[t + 90] = b[__float_as_int(v) & 15];", "spec{x=1.7,n=7}", true},
		{"o", "x", "if (v * 1.3f + 0.7f > 2.9f) o[t + 90] = b[t];", "spec{x=1.7,n=7}", true},
		{"o", "1.7f", "if (v * 1.3f + 0.7f > 2.9f) o[t + 90] = b[t];", "spec{n=7}", true},
		{"o", "x", "if (expf(v) > 1.7f) o[t + 90] = b[t];", "spec{x=1.7,n=7}", true},
		{"put", "x", "o[t + 90] = expf(v);", "spec{x=1.7,n=7}", true},
		{"sync", "x", "o[t + 90] = expf(v);", "spec{x=1.7,n=7}", true},
		{"a", sum, "o[t + 90] = b[t] * v;", "spec{x=1.7,n=7}", true},
		{"d", sum, "o[t + 90] = b[t] * v;", "spec{x=1.7,n=7}", true},
		{"o", "b[t + 3]", "if (v * x + 0.7f > 2.9f) o[t + 90] = b[t];", "spec{x=1.7,n=7}", false},
	} {
		name, array, declared, set := fmt.Sprint("stored", n+10), k.array, "", ""
		set = "[t + n] = " + k.set + ";\n "
		switch k.array {
		case "put":
			array, set = "o", "put(o + t + n, "+k.set+");\n "
		case "sync":
			array, set = "o", "o"+set+"__syncthreads();\n "
		case "a":
			declared, set = shared, "a"+set
		default:
			set = array + set
		}
		text += fmt.Sprintf("static __global__ void %s(float *__restrict__ o,"+
			" const float *__restrict__ b, float x, int n) { int t = threadIdx.x; %s%sfloat v = %s[t + 7];\n %s[t + 7] = b[t];\n %s }\n",
			name, declared, set, array, array, k.use)
		calls += name + "<<<1, 1>>>(0, 0, 0, 0); "
		refusal := ""
		if k.refused {
			refusal = "is not shown"
		}
		attempts = append(attempts, attempt{"_Z8" + name + "PfPKffi", k.recipe, refusal})
	}
	// In local memory ptxas contracts the sums, and the variant compares numbers.
	text += "__global__ void stored21(float *o, const float *b, float x, int n) { float a[8], s = 0;\n" +
		" for (int i = 0; i < n; i++) a[i] = x * 1.3f + i;\n" +
		" for (int i = 0; i < n; i++) s += a[i] > 4 ? b[i] : b[0];\n o[threadIdx.x] = s; }\n"
	attempts = append(attempts, attempt{"_Z8stored21PfPKffi", "spec{x=1.7,n=7}", "is not shown"})
	text += "int main() { " + calls + "stored21<<<1, 1>>>(0, 0, 0, 0); }\n"
	for _, version := range []string{"11.8", "13.0"} {
		t.Run(version, func(t *testing.T) { tryRecipes(t, version, text, attempts) })
	}
}
