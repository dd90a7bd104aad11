package compile

import "testing"

// TestOwnChoice: which product a compiler contracts with a sum depends on what else it knows: on a
// weight that is 1 in one turn or on one way, on how often a product is used. Each of these was
// taken with other bits than the kernel's.
func TestOwnChoice(t *testing.T) {
	const begin = "(float *o, const float *__restrict__ a, const float *__restrict__ b, int n, float x)" +
		" {\n int t = threadIdx.x;\n"
	text := "__global__ void chosen" + begin +
		" float y = n ? 1.f : -1.f;\n o[t] = a[t] * b[t] * y + b[t + 32];\n}\n" +
		"__global__ void signed_" + begin + " float y = 1.f, s = b[t + 1];\n" +
		" for (int i = 0; i < n; i++) {\n  s += a[t + i] * b[t + i] * y;\n  y = -y;\n }\n o[t] = s;\n}\n" +
		"__global__ void weight" + begin + " float y = 1.f, s = b[t + 1];\n" +
		" for (int i = 0; i < n; i++) {\n  s += a[t + i] * b[t + i] * y;\n  y *= x;\n }\n o[t] = s;\n}\n" +
		"__global__ void halved" + begin + " float s = b[t + 1];\n for (int i = 2; i < n; i++)\n" +
		"  s += a[t + i] * b[t + i] * (float)(i >> 1);\n o[t] = s;\n}\n" +
		"__global__ void used" + begin + " float p = a[t] * b[t], q = a[t + 32] * b[t + 32];\n" +
		" o[t] = p + q;\n if (n)\n  o[t + 64] = p;\n}\n" +
		"__global__ void below" + begin + " float y = n ? -0.f : 1.f;\n" +
		" o[t] = (a[t] * b[t] + y) + b[t + 32];\n}\n" +
		"__global__ void divided" + begin + " float y = n ? 0.5f : 3.f;\n o[t] = a[t] / y + b[t];\n}\n" +
		"__global__ void mean" + begin + " for (int i = 0; i < n; i++)\n" +
		"  o[t * 64 + i] = a[t + i] * x + a[t + i + 1] * x;\n}\n" +
		"int main() {\n"
	for _, k := range []string{"chosen", "signed_", "weight", "halved", "used", "below", "divided",
		"mean"} {
		text += k + "<<<1, 1>>>(0, 0, 0, 0, 0);\n"
	}
	const end, no = "PfPKfS1_if", "is not shown"
	attempts := []attempt{
		{"_Z6chosen" + end, "spec{n=1}", no},
		{"_Z7signed_" + end, "spec{n=4}", no},
		{"_Z7signed_" + end, "unroll=2", no},
		{"_Z6weight" + end, "spec{n=4}", no},
		{"_Z6weight" + end, "unroll=4", ""},
		{"_Z6halved" + end, "spec{n=6}", no},
		{"_Z4used" + end, "spec{n=0}", no},
		{"_Z5below" + end, "spec{n=1}", no},
		{"_Z7divided" + end, "spec{n=1}", no},
		{"_Z4mean" + end, "unroll=4", ""},
	}
	for _, version := range []string{"12.4", "13.0", "13.5"} {
		t.Run(version, func(t *testing.T) { tryRecipes(t, version, text+"}\n", attempts) })
	}
}
