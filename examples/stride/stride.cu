// Known strides: exchanging axes of a five-dimensional array of any shape, with indices of 64 bits as array libraries have them.
//
// A thread has one element; where it comes from takes four divisions, four remainders and eight products, because the shape arrives as
// arguments. Rows stay whole, so that the memory is soon done: the time is that of the index arithmetic, a division by an
// unknown number being some twenty instructions and more. Every launch has the same shape: with the numbers known a division is a
// multiplication and a shift, and so small that 32 bits of it are enough.
#include "example.h"

using Extent = long long;

// From the place of an element in an array of shape n3, n2, n1, n0, n4 to its place in one of shape n0, n1, n2, n3, n4.
__host__ __device__ inline Extent exchanged(Extent at, Extent n0, Extent n1, Extent n2, Extent n3, Extent n4) {
    Extent i4 = at % n4, row = at / n4;
    Extent i0 = row % n0, i1 = row / n0 % n1, i2 = row / (n0 * n1) % n2, i3 = row / (n0 * n1 * n2);
    return (((i0 * n1 + i1) * n2 + i2) * n3 + i3) * n4 + i4;
}

__global__ void exchange_axes(const short *__restrict__ in, short *__restrict__ out, Extent n0, Extent n1, Extent n2, Extent n3, Extent n4) {
    Extent at = Extent(blockIdx.x) * blockDim.x + threadIdx.x; // of the output
    if (at < n0 * n1 * n2 * n3 * n4) out[at] = in[exchanged(at, n0, n1, n2, n3, n4)];
}

int main() {
    example::Example ex("stride");
    const Extent n0 = 12, n1 = 10, n2 = 14, n3 = 36, n4 = 96, n = n0 * n1 * n2 * n3 * n4;
    const int block = 256;
    example::Array<short> in(n), out(n);
    for (Extent i = 0; i < n; i++) in[i] = static_cast<short>(32768 * example::noise(static_cast<uint32_t>(i)));
    in.up();

    ex.time("exchange_axes", [&] {
        exchange_axes<<<static_cast<unsigned>((n + block - 1) / block), block>>>(in.device, out.device, n0, n1, n2, n3, n4);
    });

    out.down();
    for (Extent i = 0; i < n; i++) ex.check("out", i, out[i], in[exchanged(i, n0, n1, n2, n3, n4)], 0);
    return ex.finish();
}
