// Known strides: reversing the axes of a four-dimensional array of any shape.
//
// A thread has one element; where it goes takes three divisions, three remainders and four products, because the shape arrives as arguments.
// A division by an unknown number is some twenty instructions, which is more than the memory needs for the element.
// Every launch has the same shape: with the numbers known a division is one multiplication and a shift.
#include "example.h"

__host__ __device__ inline int reversed(int at, int n0, int n1, int n2, int n3) {
    int i3 = at % n3, i2 = at / n3 % n2, i1 = at / (n2 * n3) % n1, i0 = at / (n1 * n2 * n3);
    return ((i3 * n2 + i2) * n1 + i1) * n0 + i0;
}

__global__ void reverse_axes(const float *__restrict__ in, float *__restrict__ out, int n0, int n1, int n2, int n3) {
    int at = blockIdx.x * blockDim.x + threadIdx.x; // of the output: its writes are in order
    if (at < n0 * n1 * n2 * n3) out[at] = in[reversed(at, n3, n2, n1, n0)];
}

int main() {
    example::Example ex("stride");
    const int n0 = 24, n1 = 66, n2 = 50, n3 = 84, n = n0 * n1 * n2 * n3, block = 256;
    example::Array<float> in(n), out(n);
    for (int i = 0; i < n; i++) in[i] = example::noise(i);
    in.up();

    ex.time("reverse_axes", [&] { reverse_axes<<<(n + block - 1) / block, block>>>(in.device, out.device, n0, n1, n2, n3); });

    out.down();
    for (int i = 0; i < n; i++) ex.check("out", i, out[reversed(i, n0, n1, n2, n3)], in[i], 0);
    return ex.finish();
}
