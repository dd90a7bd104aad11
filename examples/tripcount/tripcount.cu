// A known trip count: how unlike a pattern of n letters the text behind every position is, n being a number that the program reads at its start.
//
// The edit distance is computed column by column, and a column is a small array of each thread. As long as n is unknown its loop
// cannot be unrolled away, an array that is indexed by a loop counter cannot be in registers, and every step reads and writes (cached)
// memory. All launches have n = 16: in a copy of the kernel made for 16 the loop vanishes and the column becomes sixteen
// registers. All of it is integers: the results are the same whatever the compiler makes of it.
#include "example.h"

constexpr int most = 32; // letters of the pattern, at most

// Least number of letters to change, to drop or to put in that makes a stretch of text, from its first letter to any of the window, the pattern.
__host__ __device__ inline int unlike(const unsigned char *__restrict__ text, const unsigned char *__restrict__ pattern, int n, int window) {
    int column[most];
    for (int i = 0; i < n; i++) column[i] = i + 1;
    int least = n;
    for (int t = 0; t < window; t++) {
        int letter = text[t], diagonal = t, above = t + 1;
        for (int i = 0; i < n; i++) {
            int left = column[i];
            int changed = diagonal + (pattern[i] != letter ? 1 : 0);
            int shifted = (left < above ? left : above) + 1;
            diagonal = left;
            above = column[i] = changed < shifted ? changed : shifted;
        }
        least = least < above ? least : above;
    }
    return least;
}

__global__ void search(const unsigned char *__restrict__ text, const unsigned char *__restrict__ pattern, unsigned char *__restrict__ out,
                       int positions, int n, int window) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < positions) out[at] = static_cast<unsigned char>(unlike(text + at, pattern, n, window));
}

int main(int argc, char **argv) {
    example::Example ex("tripcount");
    const int positions = 1 << 20, block = 256, window = 24;
    const int n = argc > 1 ? std::min(std::max(std::atoi(argv[1]), 1), most) : 16;
    example::Array<unsigned char> text(positions + window), pattern(most), out(positions);
    for (size_t i = 0; i < text.size(); i++) text[i] = static_cast<unsigned char>("acgt"[static_cast<int>(4 * example::noise(static_cast<uint32_t>(i)))]);
    for (int i = 0; i < most; i++) pattern[i] = static_cast<unsigned char>("acgt"[static_cast<int>(4 * example::noise(i + 4242))]);
    text.up(), pattern.up();

    ex.time("search", [&] { search<<<positions / block, block>>>(text.device, pattern.device, out.device, positions, n, window); });

    out.down();
    for (int i = 0; i < positions; i += 7) ex.check("out", i, out[i], unlike(&text[i], pattern.host.data(), n, window), 0);
    return ex.finish();
}
