// Seven kernels of Li's chapter 5 (Table 5.3) whose sources were not fetched, written anew with the same accesses.
#include "each.h"

BOTH int hash(int i, int k, int n) { return static_cast<int>((i * 2654435761u + k * 40503u) >> 8) % n; }

struct Bfs { // the least level of sixteen neighbours anywhere
    const float *level;
    int n;
    BOTH float operator()(int i) const {
        float least = 1e30f;
        for (int k = 0; k < 16; k++) {
            float x = level[hash(i, k, n)];
            least = x < least ? x : least;
        }
        return least + 1;
    }
};
struct Kmeans { // the nearest of 5 centres by 34 features; a point's lie side by side
    const float *points, *centres;
    BOTH float operator()(int i) const {
        float best = 1e30f;
        for (int c = 0; c < 5; c++) {
            float s = 0;
            for (int k = 0; k < 34; k++) {
                float d = points[i * 34 + k] - centres[c * 34 + k];
                s += d * d;
            }
            best = s < best ? s : best;
        }
        return best;
    }
};
struct Stencil { // seven points of a cube of 256
    const float *a;
    BOTH float operator()(int i) const {
        const int row = 256, plane = row * row, n = plane * row;
        int x = i % row, y = i / row % row, z = i / plane;
        if (x == 0 || y == 0 || z == 0 || x == row - 1 || y == row - 1 || z == row - 1 || i >= n) return 0;
        return 0.1f * (a[i - 1] + a[i + 1] + a[i - row] + a[i + row] + a[i - plane] + a[i + plane]) - 0.6f * a[i];
    }
};
struct Spmv { // a row of 48 each, columns near the diagonal and anywhere
    const float *a, *x;
    int n;
    BOTH float operator()(int i) const {
        float sum = 0;
        for (int k = 0; k < 48; k++) sum += a[i * 48 + k] * x[k < 24 ? (i + k * k) % n : hash(i, k, n)];
        return sum;
    }
};
struct Streamcluster { // what a new centre would save: 256 dimensions, a dimension's values side by side
    const float *points;
    int n;
    BOTH float operator()(int i) const {
        float s = 0;
        for (int k = 0; k < 256; k++) {
            float d = points[k * n + i] - points[k * n];
            s += d * d;
        }
        return s < 40 ? s - 40 : 0;
    }
};
struct Srad { // differences to four neighbours by arrays of indexes, here computed
    const float *a;
    int columns, rows;
    BOTH float operator()(int i) const {
        int x = i % columns, y = i / columns, n = y > 0 ? y - 1 : 0, s = y + 1 < rows ? y + 1 : y;
        int w = x > 0 ? x - 1 : 0, e = x + 1 < columns ? x + 1 : x;
        float c = a[i] + 0.5f, dn = a[n * columns + x] - c, ds = a[s * columns + x] - c, dw = a[y * columns + w] - c,
              de = a[y * columns + e] - c, g = (dn * dn + ds * ds + dw * dw + de * de) / (c * c), l = (dn + ds + dw + de) / c;
        float q = (0.5f * g - 0.0625f * l * l) / ((1 + 0.25f * l) * (1 + 0.25f * l) + 0.01f);
        return 1 / (1 + (q - 0.05f) / 0.0525f * 0.01f);
    }
};
struct Similarity { // two documents' product: of 512, vectors of 128
    const float *docs;
    BOTH float operator()(int at) const {
        int i = at / 512, j = at % 512;
        float p = 0, q = 0, r = 0;
        for (int k = 0; k < 128; k++) {
            float x = docs[i * 128 + k], y = docs[j * 128 + k];
            p += x * y, q += x * x, r += y * y;
        }
        return p / sqrtf(q * r);
    }
};

int main() {
    example::Example ex("caches");
    const int n = 1 << 18, cube = 1 << 24;
    Numbers v(cube * 4);
    const float *d = v.all.device, *h = v.all.host.data();
    run<float>(ex, "bfs", 4 * n, Bfs{d, 4 * n}, Bfs{h, 4 * n}, 1e-3, 512);
    run<float>(ex, "kmeans", n, Kmeans{d, d + 77}, Kmeans{h, h + 77}, 1e-3);
    run<float>(ex, "stencil", cube, Stencil{d}, Stencil{h}, 1e-3, 128);
    run<float>(ex, "spmv", n, Spmv{d, d, n}, Spmv{h, h, n}, 1e-3, 192);
    run<float>(ex, "streamcluster", n / 4, Streamcluster{d, n / 4}, Streamcluster{h, n / 4}, 1e-3, 512);
    run<float>(ex, "srad", n, Srad{d, 512, 512}, Srad{h, 512, 512}, 1e-3, 512);
    run<float>(ex, "similarityscore", n, Similarity{d}, Similarity{h}, 1e-3, 512);
    return ex.finish();
}
