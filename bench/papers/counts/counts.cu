// Six kernels of Li's chapter 4 (Table 4.2) whose sources were not fetched, written anew with the same loop: hotspot, leukocyte
// (IMGVF), ray-tracing, dxtc, mri-gridding, sgemm.
#include "each.h"

struct Hotspot { // temperatures of a chip of 1024 x 1024
    const float *t, *power;
    BOTH float operator()(int i) const {
        const int n = 1024;
        int x = i % n, y = i / n;
        float c = t[i], north = t[y > 0 ? i - n : i], south = t[y + 1 < n ? i + n : i], west = t[x > 0 ? i - 1 : i],
              east = t[x + 1 < n ? i + 1 : i];
        return c + 0.1f * (power[i] + (south + north - 2 * c) * 0.3f + (east + west - 2 * c) * 0.3f + (0.8f - c) * 0.05f);
    }
};
struct Leukocyte { // gradient vector flow: steps through the heaviside function towards eight neighbours
    const float *v;
    BOTH static float step(float x) { return atanf(x * 10000) * (1 / 3.14159265f) + 0.5f; }
    BOTH float operator()(int i) const {
        const int n = 512;
        if (i < n + 1 || i >= n * n - n - 1) return 0;
        float c = v[i], out = c;
        const int side[8] = {1, -1, n, -n, n + 1, n - 1, 1 - n, -1 - n};
        for (int k = 0; k < 8; k++) {
            float d = v[i + side[k]] - c;
            out += 0.05f * step(d * (k + 1)) * d;
        }
        return out - 0.2f * c * (out - c);
    }
};
struct Ray { // the nearest of 32 spheres, with light
    const float *s;
    BOTH float operator()(int i) const {
        float x = (i % 1024) / 512.0f - 1, y = (i / 1024) / 512.0f - 1, best = 1e30f, light = 0;
        float len = rsqrtf(x * x + y * y + 1), dx = x * len, dy = y * len, dz = len;
        for (int k = 0; k < 32; k++) {
            float cx = 4 * s[4 * k] - 2, cy = 4 * s[4 * k + 1] - 2, cz = 3 + 4 * s[4 * k + 2], r = 0.2f + s[4 * k + 3];
            float b = cx * dx + cy * dy + cz * dz, q = b * b - (cx * cx + cy * cy + cz * cz) + r * r;
            if (q < 0) continue;
            float t = b - sqrtf(q);
            if (t > 0.1f && t < best) best = t, light = fabsf((dy * t - cy) / r);
        }
        return light;
    }
};
struct Dxtc { // 16 colours of a block, and the best two ends of 36 pairs
    const float *v;
    int n;
    BOTH float operator()(int i) const {
        float r[16], g[16], b[16], best = 1e30f;
        for (int k = 0; k < 16; k++) r[k] = v[k * n + i], g[k] = v[(k + 16) * n + i], b[k] = v[(k + 32) * n + i];
        for (int e = 0; e < 36; e++) {
            int p = e % 6, q = 6 + e / 6;
            float error = 0;
#pragma unroll
            for (int k = 0; k < 16; k++) {
                float x = r[q] - r[p], y = g[q] - g[p], z = b[q] - b[p];
                float t = ((r[k] - r[p]) * x + (g[k] - g[p]) * y + (b[k] - b[p]) * z) / (x * x + y * y + z * z + 0.01f);
                t = t < 0 ? 0 : t > 1 ? 1 : t;
                float dx = r[p] + t * x - r[k], dy = g[p] + t * y - g[k], dz = b[p] + t * z - b[k];
                error += dx * dx + dy * dy + dz * dz;
            }
            best = error < best ? error : best;
        }
        return best;
    }
};
struct Gridding { // samples near a grid point, weighed by a Kaiser-Bessel window
    const float *s;
    BOTH float operator()(int i) const {
        float re = 0, im = 0;
        for (int k = 0; k < 64; k++) {
            int at = 3 * ((i * 7 + k * 29) % 65536);
            float x = s[at] - 0.5f, y = s[at + 1] - 0.5f, z = 1 - 2 * (x * x + y * y);
            if (z <= 0) continue;
            float b = 4 * z, w = 1 + b * (1 + b * (0.25f + b * (0.0277778f + b * 0.00173611f)));
            re += w * s[at + 2], im += w * (1 - s[at + 2]);
        }
        return re - im;
    }
};
struct Sgemm { // 16 columns a thread, sums in registers
    const float *a, *b;
    BOTH float operator()(int at) const {
        const int n = 1024;
        int i = at % n, j = at / n * 16;
        float c[16] = {}, sum = 0;
        for (int k = 0; k < n; k++) {
            float x = a[k * n + i];
#pragma unroll
            for (int u = 0; u < 16; u++) c[u] += x * b[k * n + j + u];
        }
#pragma unroll
        for (int u = 0; u < 16; u++) sum += c[u] * (u + 1);
        return sum;
    }
};

int main() {
    example::Example ex("counts");
    const int n = 1 << 18;
    Numbers v(48 * n);
    const float *d = v.all.device, *h = v.all.host.data();
    run<float>(ex, "hotspot", 4 * n, Hotspot{d, d + n}, Hotspot{h, h + n}, 1e-3);
    run<float>(ex, "leukocyte", n, Leukocyte{d}, Leukocyte{h}, 1e-2, 320);
    run<float>(ex, "ray-tracing", 4 * n, Ray{d}, Ray{h}, 1e-2, 128);
    run<float>(ex, "dxtc", n, Dxtc{d, n}, Dxtc{h, n}, 1e-2, 64);
    run<float>(ex, "mri-gridding", n, Gridding{d}, Gridding{h}, 1e-3, 64);
    run<float>(ex, "sgemm", 1024 * 64, Sgemm{d, d + n}, Sgemm{h, h + n}, 1e-3, 128);
    return ex.finish();
}
