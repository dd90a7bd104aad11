// A copy that must not be adopted: it is fast, and whoever launches with other values would pay for it.
//
// A number goes through n residues, turn after turn, n being the same in most launches. In a copy of the kernel made for n = 96 all
// divisors are known and all keys are kept in registers: several times as fast, with some two hundred registers where the plain kernel has
// thirty. The program is built with -rdc=true, so that the host's launch stub cannot choose between two kernels: the copy would stand inside
// the kernel, behind a guard, and the plain path beside it would have all those registers too, hence few warps to hide its
// divisions behind, in every launch that has another n (every other one here). Unroll pragma and launch bounds are the author's and
// are kept. A tool that looks at the launches with 96 only would adopt it.
#include "example.h"

using Number = unsigned long long;
constexpr int most = 128;                    // keys at most
constexpr Number modulus = 0x123456789abull; // of the first; the next ones have the next numbers

__host__ __device__ inline Number residues(const Number *__restrict__ key, Number x, int n, int turns) {
    for (int t = 0; t < turns; t++) {
#pragma unroll
        for (int k = 0; k < n; k++) x = (x + key[k]) % (modulus + k);
    }
    return x;
}

__global__ void __launch_bounds__(256, 1) mix(const Number *__restrict__ key, Number *__restrict__ out, int n, int turns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = residues(key, i, n, turns);
}

int main() {
    example::Example ex("nocopy");
    const int block = 256, threads = 132 * 8 * block, usual = 96, other = 95, turns = 2;
    example::Array<Number> key(most), out(threads), rest(threads);
    for (int k = 0; k < most; k++) key[k] = static_cast<Number>(modulus * static_cast<double>(example::noise(k)));
    key.up();

    ex.time("mix(n=96)", [&] { mix<<<threads / block, block>>>(key.device, out.device, usual, turns); });
    ex.time("mix(n=95)", [&] { mix<<<threads / block, block>>>(key.device, rest.device, other, turns); });

    out.down(), rest.down();
    for (int i = 0; i < threads; i += 61) {
        ex.check("out", i, out[i] == residues(key.host.data(), i, usual, turns), 1, 0);
        ex.check("rest", i, rest[i] == residues(key.host.data(), i, other, turns), 1, 0);
    }
    return ex.finish();
}
