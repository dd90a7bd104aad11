package compile

import (
	"context"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
)

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
		"__global__ void boxes" + begin + " __shared__ float4 p[32], q[32];\n" +
		" p[t] = make_float4(a[t], b[t], x, a[t + 32]);\n q[t] = make_float4(b[t], x, a[t], b[t + 32]);\n" +
		" __syncthreads();\n float s = 0;\n for (int i = 0; i < n; i++)\n" +
		"  s += p[t].w + q[i].w - (p[t].x * q[i].x + p[t].y * q[i].y);\n o[t] = s;\n}\n" +
		"int main() {\n"
	for _, k := range []string{"chosen", "signed_", "weight", "halved", "used", "below", "divided",
		"mean", "boxes"} {
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
		{"_Z5boxes" + end, "unroll=8", ""}, // two variables, whose x are no y
	}
	for _, version := range []string{"12.4", "13.0", "13.5"} {
		t.Run(version, func(t *testing.T) { tryRecipes(t, version, text+"}\n", attempts) })
	}
}

// TestScaled: of a product times a power of two ptxas makes one instruction, which rounds once,
// where nothing comes between the two. It must not do so in a variant alone.
func TestScaled(t *testing.T) {
	const begin = "(float *o, const float *x, float s, int n) {\n int t = threadIdx.x;\n"
	text := "__global__ void chain" + begin + " float a = x[t], b = x[t + 1];\n" +
		" for (int i = 0; i < 8; i++)\n  b = b * s * a;\n o[t] = b;\n}\n" +
		"__global__ void turns" + begin + " float b = x[t + 1];\n for (int i = 0; i < n; i++)\n" +
		"  b = b * 0.5f * x[t + i];\n o[t] = b;\n}\n" +
		"__global__ void quarter" + begin + " for (int i = 0; i < n; i++)\n" +
		"  o[t + i * 32] = x[t + i] * x[t + 2 * i] * 0.25f;\n}\n" +
		"int main() { chain<<<1, 1>>>(0, 0, 0, 0); turns<<<1, 1>>>(0, 0, 0, 0);" +
		" quarter<<<1, 1>>>(0, 0, 0, 0); }\n"
	for _, version := range []string{"11.8", "13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			tryRecipes(t, version, text, []attempt{
				{"_Z5chainPfPKffi", "spec{s=0.5}", ""}, // products that name their rounding: left.go
				{"_Z5turnsPfPKffi", "unroll=4", "in some places"},
				// turns that were unrolled are scaled, but for the last, and the remainder's are not
				{"_Z5turnsPfPKffi", "unroll=1", "scale"},
				{"_Z7quarterPfPKffi", "unroll=2", ""}, // scaled in both
			})
			p := drivertest.NewProject(t, version, map[string]string{"k.cu": text})
			p.Gnvcc("-arch=sm_80", "k.cu", "-o", "app")
			c := New(p.Store, t.TempDir())
			s, r := named(t, c, p.Cubin("app", "sm_80"), "_Z5chainPfPKffi", "spec{s=0.5}")
			cand, err := c.Compile(context.Background(), s, r)
			if err != nil {
				t.Fatal(err)
			}
			count := 0
			for op, n := range floatsIn(t, cand.Path, cand.Entry) {
				if strings.HasPrefix(op, "FMUL") {
					count += n
				}
			}
			if count != 16 { // scaled, nine would do
				t.Errorf("%d products, not 16", count)
			}
		})
	}
}
