// The kernels of Li's chapter 6 (Table 6.6) whose sources were not fetched, written anew: what each computes with the functions that
// the table names. black-scholes, lavaMD, backprop and clenergy (cp) are programs of HeCBench. gnvcc tune --exact=approximate --within 1e-3.
#include "each.h"

#define KERNEL(NAME, ...)                                   \
    struct NAME {                                           \
        const float *v;                                     \
        BOTH float operator()(int i) const {                \
            float a = v[i], b = v[i + 1], c = v[i + 2], s = 0; \
            (void)b, (void)c; __VA_ARGS__ return s;                           \
        }                                                   \
    };
#define TURNS(n) for (int k = 0; k < n; k++)

KERNEL(Single, TURNS(16) s += sqrtf(a + k) * expf(-0.1f * b * k);)                                    // single: sqrt, exp
KERNEL(MonteCarlo, TURNS(16) { float x = 90 * expf(0.2f * a * (b - 0.1f * k)) - 80; s += x > 0 ? x : 0; }) // exp
KERNEL(Cutcp, TURNS(32) { float x = a - 0.03f * k, r = x * x + b * b + 0.01f, t = 1 - r * 0.2f;        // rsqrt
                          s += r < 4 ? c * t * t * rsqrtf(r) : 0; })
KERNEL(Nbody, TURNS(64) { float x = v[k] - a, y = v[k + 1] - b, z = v[k + 2] - c, r = rsqrtf(x * x + y * y + z * z + 0.01f); // rsqrt
                          s += x * r * r * r; })
KERNEL(Ocean, TURNS(8) { float q = sqrtf(a * a + b * b + 0.01f * k + 0.01f), w = q * c * 4;             // rcp, sqrt, sin, cos
                         s += sinf(w) / q + cosf(w); })
KERNEL(Nn, s = sqrtf((a - 0.3f) * (a - 0.3f) + (b - 0.4f) * (b - 0.4f));)                              // sqrt
KERNEL(Corr, TURNS(8) { float d = sqrtf(v[i + k] * v[i + k] + 0.1f); s += (v[i + k] - b) / d; })         // div, sqrt
KERNEL(Gaussian, TURNS(8) s += v[i + k] / (b + 0.5f + k);)                                               // div
KERNEL(Mersenne, TURNS(8) { float r = sqrtf(-2 * logf(a * 0.9f + 0.01f * k + 0.01f)), t = 6.2831853f * b; // log, sqrt, sin, cos
                            s += r * cosf(t) + 0.5f * r * sinf(t); })
KERNEL(Cfd, TURNS(4) { float m = a * a + b * b, d = v[i + k] + 1, p = 0.4f * (3 - 0.5f * m / d);        // sqrt, rcp, div
                       s += 0.5f / (sqrtf(m + k) * (sqrtf(m) / d + sqrtf(1.4f * p / d)) + 0.1f); })
KERNEL(S3d, TURNS(16) { float f = a + 0.1f * k, g = b * c + 0.3f; s += f * g / (f + g) + 1 / (1 + f); }) // div
KERNEL(Mriq, TURNS(64) { float e = 6.2831853f * (v[k] * a + v[k + 1] * b + v[k + 2] * c); s += v[k] * cosf(e) + v[k + 1] * sinf(e); }) // sin, cos
KERNEL(Bilateral, float sum = 0; TURNS(25) { float d = v[i + k] - a, f = expf(-2 * d * d) * expf(-0.01f * k); s += f * v[i + k]; sum += f; } s /= sum;) // div, exp
KERNEL(Srad, TURNS(4) { float g = v[i + k] - a, q = (0.5f * g * g - 0.06f * g) / ((1 + 0.25f * g) * (1 + 0.25f * g)); // rcp, div
                        s += 1 / (1 + (q - 0.1f) / (0.1f * 1.1f)); })
KERNEL(Grabcut, TURNS(8) { float d = a - 0.1f * k, e = b - 0.05f * k; s += -logf(0.3f * expf(-d * d - e * e) + 0.01f); }) // log, exp
KERNEL(Denoise, float w = 0; TURNS(49) { float d = v[i + k] - c, f = expf(-(d * d * 3 + 0.02f * k)); s += f * v[i + k]; w += f; } s *= 1 / w;) // exp, rcp

int main() {
    example::Example ex("functions");
    const int n = 1 << 20;
    Numbers v(n + 64);
    const float *d = v.all.device, *h = v.all.host.data();
#define RUN(NAME) run<float>(ex, #NAME, n, NAME{d}, NAME{h}, 1e-2);
    RUN(Single) RUN(MonteCarlo) RUN(Cutcp) RUN(Nbody) RUN(Ocean) RUN(Nn) RUN(Corr) RUN(Gaussian)
    RUN(Mersenne) RUN(Cfd) RUN(S3d) RUN(Mriq) RUN(Bilateral) RUN(Srad) RUN(Grabcut) RUN(Denoise)
    return ex.finish();
}
