// Six kernels of RegDem's nine whose sources were not fetched, written anew with the same loop: cfd (fluxes over the faces of an
// unstructured grid), md (Lennard-Jones in double precision), gaussian (Deriche's recursive blur), nn and vp (nearest neighbours by a
// kd-tree and by a vantage-point tree), pc (two-point correlation). All want more registers than leave an SM full.
#include "each.h"

struct Cfd { // five conserved variables of a cell, fluxes from its four neighbours
    const float *v;
    int n;
    BOTH float at(int k, int i) const { return v[k * n + i]; }
    BOTH float operator()(int i) const {
        float d = at(0, i) + 1, mx = at(1, i), my = at(2, i), mz = at(3, i), e = at(4, i) + 3;
        float ux = mx / d, uy = my / d, uz = mz / d, s = ux * ux + uy * uy + uz * uz;
        float p = 0.4f * (e - 0.5f * d * s), c = sqrtf(1.4f * p / d), all = 0;
        for (int f = 0; f < 4; f++) {
            int j = (i * 7 + f * 1031 + 1) % n;
            float nx = at(1, (i + f) % n), ny = at(2, (i + 2 * f) % n), nz = at(3, (i + 3 * f) % n);
            float len = sqrtf(nx * nx + ny * ny + nz * nz) + 0.1f;
            float dj = at(0, j) + 1, xj = at(1, j), yj = at(2, j), zj = at(3, j), ej = at(4, j) + 3;
            float vx = xj / dj, vy = yj / dj, vz = zj / dj, t = vx * vx + vy * vy + vz * vz;
            float q = 0.4f * (ej - 0.5f * dj * t), cj = sqrtf(1.4f * q / dj);
            float factor = -0.1f * len * (sqrtf(s) + sqrtf(t) + c + cj);
            float fd = factor * (d - dj), fe = factor * (e - ej);
            float fx = factor * (mx - xj), fy = factor * (my - yj), fz = factor * (mz - zj);
            fd += 0.5f * (nx * (mx + xj) + ny * (my + yj) + nz * (mz + zj));
            fx += 0.5f * (nx * (mx * ux + p + xj * vx + q) + ny * (mx * uy + xj * vy) + nz * (mx * uz + xj * vz));
            fy += 0.5f * (ny * (my * uy + p + yj * vy + q) + nx * (my * ux + yj * vx) + nz * (my * uz + yj * vz));
            fz += 0.5f * (nz * (mz * uz + p + zj * vz + q) + nx * (mz * ux + zj * vx) + ny * (mz * uy + zj * vy));
            fe += 0.5f * (nx * (ux * (e + p) + vx * (ej + q)) + ny * (uy * (e + p) + vy * (ej + q)) + nz * (uz * (e + p) + vz * (ej + q)));
            all += fd + fx + fy + fz + fe;
        }
        return all;
    }
};
struct Md { // 128 neighbours of an atom
    const float *p;
    int n;
    BOTH float operator()(int i) const {
        double x = p[i], y = p[n + i], z = p[2 * n + i], fx = 0, fy = 0, fz = 0;
        for (int k = 0; k < 128; k++) {
            int j = (i + k * 37 + 1) % n;
            double dx = x - p[j], dy = y - p[n + j], dz = z - p[2 * n + j];
            double r = 1 / (dx * dx + dy * dy + dz * dz + 0.05), six = r * r * r, f = r * six * (1.5 * six - 2);
            fx += dx * f, fy += dy * f, fz += dz * f;
        }
        return static_cast<float>(fx + 2 * fy + 3 * fz) * 1e-6f;
    }
};
struct Deriche { // a row, forwards and backwards; four coefficients each way
    const float *p;
    int width;
    BOTH float operator()(int row) const {
        float a0 = 0.25f, a1 = 0.1f, a2 = 0.15f, a3 = -0.05f, b1 = 0.9f, b2 = -0.2f;
        float x1 = 0, y1 = 0, y2 = 0, sum = 0, z1 = 0, z2 = 0, w1 = 0, w2 = 0;
        for (int i = 0; i < width; i++) {
            float x = p[i * 4096 + row], y = a0 * x + a1 * x1 + b1 * y1 + b2 * y2;
            float u = p[(width - 1 - i) * 4096 + row], z = a2 * w1 + a3 * w2 + b1 * z1 + b2 * z2;
            x1 = x, y2 = y1, y1 = y, w2 = w1, w1 = u, z2 = z1, z1 = z;
            sum += y * z;
        }
        return sum;
    }
};
template <int dimensions, bool vantage>
struct Tree { // a complete tree of 2^14 - 1 points in an array; the queries' way down, eight levels of it with both children
    const float *t, *q;
    int n;
    BOTH float far(const float (&x)[dimensions], int node) const {
        float s = 0;
        for (int d = 0; d < dimensions; d++) {
            float e = x[d] - t[node * dimensions + d];
            s += e * e;
        }
        return s;
    }
    BOTH float operator()(int i) const {
        float x[dimensions], best = 1e30f;
        for (int d = 0; d < dimensions; d++) x[d] = q[(i * dimensions + d) % n];
        int stack[16], top = 0;
        stack[top++] = 0;
        while (top > 0) {
            int node = stack[--top];
            if (node >= 16383) continue;
            float s = far(x, node);
            best = s < best ? s : best;
            int depth = 31 - clz(node + 1), axis = depth % dimensions;
            float side = vantage ? sqrtf(s) - 0.8f : x[axis] - t[node * dimensions + axis];
            int near = 2 * node + (side < 0 ? 1 : 2), other = 4 * node + 3 - near;
            if (side * side < best && depth < 8 && top < 15) stack[top++] = other;
            stack[top++] = near;
        }
        return best;
    }
    BOTH static int clz(unsigned x) {
        int bits = 0;
        for (; !(x & 0x80000000u); x <<= 1) bits++;
        return bits;
    }
};
struct Pairs { // how many of 2,048 points lie near, in seven dimensions
    const float *q;
    int n;
    BOTH float operator()(int i) const {
        float x[7];
        for (int d = 0; d < 7; d++) x[d] = q[(i * 7 + d) % n];
        int count = 0;
        for (int j = 0; j < 2048; j++) {
            float s = 0;
            for (int d = 0; d < 7; d++) {
                float e = x[d] - q[j * 7 + d];
                s += e * e;
            }
            count += s < 0.5f;
        }
        return static_cast<float>(count);
    }
};

int main() {
    example::Example ex("spilling");
    const int n = 1 << 18;
    Numbers v(5 * n);
    const float *d = v.all.device, *h = v.all.host.data();
    run<float>(ex, "cfd", n, Cfd{d, n}, Cfd{h, n}, 1e-3, 192);
    run<float>(ex, "md", n, Md{d, n}, Md{h, n}, 1e-3);
    run<float>(ex, "gaussian", 4096, Deriche{d, 300}, Deriche{h, 300}, 1e-3, 64);
    run<float>(ex, "nn", n, Tree<7, false>{d, d, 5 * n}, Tree<7, false>{h, h, 5 * n}, 1e-3);
    run<float>(ex, "vp", n, Tree<7, true>{d, d, 5 * n}, Tree<7, true>{h, h, 5 * n}, 1e-3);
    run<float>(ex, "pc", n / 4, Pairs{d, 5 * n}, Pairs{h, 5 * n}, 0.02);
    return ex.finish();
}
