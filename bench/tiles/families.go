package main

import "fmt"

// Kernels as programs have them: the eight that Han and Abdelrahman tried their model on (Table 3),
// written anew. All have the signature of the made-up ones, and parameters of their own are taken
// from n, m and other. A name with a number is about the array of that number.

// A family is one kernel, about one of its arrays.
type family struct {
	name, of string
	index    int // of the array: in the order in which the loop first reads them
	body     string
	loops    [][2]int
	// rows and columns of in that a launch reads, for its loops and its threads
	extent func(n, m, w, h int) (rows, columns int)
	apron  int // rows and columns around
	// written by each thread
	outs func(n, m int) int
}

var families = []family{
	{name: "transpose", of: "transpose", loops: [][2]int{{1, 32}, {1, 64}, {1, 128}}, body: `
    for (int j = 0; j < m; j++) out[(y * m + j) * width + x] = in[x * pitch + y * m + j];
`, extent: func(n, m, w, h int) (int, int) { return w, h * m },
		outs: func(n, m int) int { return m }},
	{name: "matrixMul0", of: "matrixMul", loops: inner, body: product,
		extent: func(n, m, w, h int) (int, int) { return h, m }},
	{name: "matrixMul1", of: "matrixMul", loops: inner, index: 1, body: product,
		extent: func(n, m, w, h int) (int, int) { return h, m }},
	{name: "convolutionRow", of: "convolution", loops: taps, body: `
    float v = 0;
    for (int j = 0; j < m; j++) v += in[y * pitch + x + j] * other[j];
    out[own] = v;
`, extent: func(n, m, w, h int) (int, int) { return h, w + m }},
	{name: "convolutionColumn", of: "convolution", loops: taps, body: `
    float v = 0;
    for (int j = 0; j < m; j++) v += in[(y + j) * pitch + x] * other[j];
    out[own] = v;
`, extent: func(n, m, w, h int) (int, int) { return h + m, w }},
	{name: "mvt", of: "MVT", loops: inner, body: `
    float v = other[own];
    for (int j = 0; j < m; j++) v += in[own * pitch + j] * other[j];
    out[own] = v;
`, extent: func(n, m, w, h int) (int, int) { return w * h, m }},
	{name: "mvtVector", of: "MVT", loops: inner, index: 1, body: `
    float v = 0;
    for (int j = 0; j < m; j++) v += in[own * pitch + j] * other[j];
    out[own] = v;
`, extent: func(n, m, w, h int) (int, int) { return w * h, m }},
	{name: "mvtTransposed", of: "MVT", loops: inner, index: 1, body: `
    float v = other[own];
    for (int j = 0; j < m; j++) v += in[j * pitch + own] * other[j];
    out[own] = v;
`, extent: func(n, m, w, h int) (int, int) { return m, w * h }},
	{name: "sgemm0", of: "SGEMM", loops: inner, body: general,
		extent: func(n, m, w, h int) (int, int) { return m, h }},
	{name: "sgemm1", of: "SGEMM", loops: inner, index: 1, body: general,
		extent: func(n, m, w, h int) (int, int) { return m, h }},
	{name: "sad0", of: "SAD", loops: blocksOf, body: search,
		extent: func(n, m, w, h int) (int, int) { return h + n, w + m }},
	{name: "sad1", of: "SAD", loops: blocksOf, index: 1,
		body: search, extent: func(n, m, w, h int) (int, int) { return h + n, w + m }},
	{name: "tpacf", of: "TPACF", loops: inner, body: `
    float a = other[own], b = other[own + 262144], c = other[own + 524288];
    int bins[4] = {0, 0, 0, 0};
    for (int j = 0; j < m; j++) {
        float dot = a * in[j] + b * in[j + pitch] + c * in[j + 2 * pitch];
        bins[0] += dot > 0.25f;
        bins[1] += dot > 0.5f;
        bins[2] += dot > 0.75f;
        bins[3] += dot > 1.0f;
    }
    out[own] = bins[0] + 64.0f * bins[1] + 4096.0f * bins[2] + 262144.0f * bins[3];
`, extent: func(n, m, w, h int) (int, int) { return 3, m }},
	{name: "gridding", of: "MRI-GRIDDING", loops: inner, body: `
    float px = other[own], py = other[own + 262144], re = 0;
    for (int j = 0; j < m; j++) {
        float dx = in[j] - px, dy = in[j + pitch] - py, d = dx * dx + dy * dy;
        float w = 1.0f + d * (-2.5f + d * (2.1f + d * (-0.8f + d * 0.12f)));
        re += d < 0.3f ? w * in[j + 2 * pitch] : 0.0f;
    }
    out[own] = re;
`, extent: func(n, m, w, h int) (int, int) { return 3, m }},
}

var (
	inner = [][2]int{{1, 32}, {1, 64}, {1, 128}, {1, 256}, {1, 512}}
	taps  = [][2]int{{1, 33}, {1, 65}, {1, 129}}
	// of a search: rows and columns of what is searched for
	blocksOf = [][2]int{{4, 32}, {8, 32}, {16, 32}, {32, 32}, {16, 128}}
)

const (
	product = `
    float v = 0;
    for (int k = 0; k < m; k++) v += in[y * pitch + k] * other[k * width + x];
    out[own] = v;
`
	general = `
    float v = 0;
    for (int k = 0; k < m; k++) v += in[k * pitch + y] * other[k * width + x];
    out[own] = 0.5f * v + 0.25f * other[own];
`
	search = `
    float v = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) v += fabsf(in[(y + i) * pitch + x + j] - other[i * m + j]);
    out[own] = v;
`
)

// subject is a family as the maker wants it.
func (f *family) subject() subject {
	s := subject{name: f.name, pattern: f.of, loops: f.loops, index: f.index, margin: f.apron,
		extent: f.extent, outs: f.outs}
	s.source = fmt.Sprintf(`extern "C" __global__ void %s(const float *__restrict__ in, const float *__restrict__ other,
    float *__restrict__ out, int n, int m, int pitch, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int own = y * width + x;%s}

`, f.name, f.body)
	return s
}
