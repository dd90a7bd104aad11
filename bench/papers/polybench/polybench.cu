// PolyBench's kernels of Li's thesis (chapters 3 and 5: atax, bicg, gesummv, mvt, syrk, syr2k), written anew from what they compute.
// A thread has a row (its loads lie apart, and its lines are its own as long as the L1 has room) or a column (all lanes side by
// side). The size is the first argument: at which does the L1, of 256 KB here and of 16 to 48 KB there, become too small?
#include "each.h"

struct Row { // y = A x: first half of atax and of mvt, second of bicg
    const float *a, *x;
    int n;
    BOTH float operator()(int i) const {
        float sum = 0;
        for (int j = 0; j < n; j++) sum += a[static_cast<size_t>(i) * n + j] * x[j];
        return sum;
    }
};
struct Column { // y = A^T x
    const float *a, *x;
    int n;
    BOTH float operator()(int i) const {
        float sum = 0;
        for (int j = 0; j < n; j++) sum += a[static_cast<size_t>(j) * n + i] * x[j];
        return sum;
    }
};
struct Gesummv { // alpha A x + beta B x
    const float *a, *b, *x;
    int n;
    BOTH float operator()(int i) const {
        float p = 0, q = 0;
        for (int j = 0; j < n; j++) {
            p += a[static_cast<size_t>(i) * n + j] * x[j];
            q += b[static_cast<size_t>(i) * n + j] * x[j];
        }
        return 1.5f * p + 1.2f * q;
    }
};
struct Syrk { // C = alpha A A^T + beta C
    const float *a, *c;
    int n;
    BOTH float operator()(int at) const {
        int i = at / n, j = at % n;
        float sum = 1.2f * c[at];
        for (int k = 0; k < n; k++) sum += 1.5f * a[i * n + k] * a[j * n + k];
        return sum;
    }
};
struct Syr2k {
    const float *a, *b, *c;
    int n;
    BOTH float operator()(int at) const {
        int i = at / n, j = at % n;
        float sum = 1.2f * c[at];
        for (int k = 0; k < n; k++) sum += 1.5f * (a[i * n + k] * b[j * n + k] + b[i * n + k] * a[j * n + k]);
        return sum;
    }
};

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 4096, small = n / 4;
    if (n < 64 || n > 16384) {
        std::fprintf(stderr, "polybench: a size of 64 to 16384 was expected\n");
        return 2;
    }
    example::Example ex("polybench");
    Numbers a(static_cast<size_t>(n) * n), b(static_cast<size_t>(n) * n), x(n);
    const float *da = a.all.device, *db = b.all.device, *dx = x.all.device;
    const float *ha = a.all.host.data(), *hb = b.all.host.data(), *hx = x.all.host.data();
    run<float>(ex, "row (atax, bicg, mvt)", n, Row{da, dx, n}, Row{ha, hx, n}, 1e-4);
    run<float>(ex, "column (atax, bicg, mvt)", n, Column{da, dx, n}, Column{ha, hx, n}, 1e-4);
    run<float>(ex, "gesummv", n, Gesummv{da, db, dx, n}, Gesummv{ha, hb, hx, n}, 1e-4);
    run<float>(ex, "syrk", small * small, Syrk{da, db, small}, Syrk{ha, hb, small}, 1e-4);
    run<float>(ex, "syr2k", small * small, Syr2k{da, db, db, small}, Syr2k{ha, hb, hb, small}, 1e-4);
    return ex.finish();
}
