#!/usr/bin/env python3
# rounding.py SEED KERNELS RECIPES: a file of random kernels in which rounding matters, and recipes for each of them.
# SEED.cu is the file, SEED.flags its options for nvcc, SEED.recipes has a line for each recipe: KERNEL RECIPE; SEED.launches one
# for each kernel: KERNEL BLOCK DYNAMIC GRIDS NAME=VALUES..., GRIDS and VALUES lists of which the first is the usual one.
# What a kernel is made of is drawn anew for each: a type, its functions, and which kinds of statements it may have.
import random
import re
import sys

seed = int(sys.argv[1])
KERNELS, RECIPES = int(sys.argv[2]), int(sys.argv[3])
r = random.Random(seed)

# A type: what a literal looks like, and the functions of one, two and three values.
FLOAT = dict(
    lit=lambda v: repr(v) + 'f',
    one=['fabsf', 'fabsf', 'sqrtf(fabsf(%s))', 'rsqrtf', 'sinf', 'cosf', 'expf', 'exp2f', 'logf', 'log2f', 'tanhf',
         'floorf', 'rintf', 'truncf', 'ceilf', 'cbrtf', 'erff', 'expm1f', 'log1pf', '__sinf', '__cosf', '__expf',
         '__logf', '__frcp_rn', '__fsqrt_rn', '__saturatef', 'sinpif', 'atanf', 'tanf', 'roundf', '-',
         '(float)(double)', '(float)(int)', '__int2float_rn(__float2int_rn(%s))', '__uint2float_rz(__float2uint_rz(%s))',
         '__int_as_float(__float_as_int(%s) & 0xfffff000)', '__int_as_float(__float_as_int(%s) ^ (i32 << 9))',
         '(float)sqrt((double)%s)', '(float)(long long)', '(float)(short)'],
    two=['fminf', 'fmaxf', 'powf', 'fmodf', 'hypotf', 'atan2f', 'copysignf', '__fdividef', '__fdiv_rn', '__fmul_rn',
         '__fadd_rn', 'fdimf', 'remainderf', '__powf', '__fsub_rz', 'ldexpf(%s, (int)(t & 7) - 3 + (%s > 0))'],
    three=['fmaf', 'fmaf', '__fmaf_rn', 'norm3df'])
DOUBLE = dict(
    lit=repr,
    one=['fabs', 'fabs', 'sqrt(fabs(%s))', 'rsqrt', 'sin', 'cos', 'exp', 'log', 'tanh', 'floor', 'rint', 'cbrt', 'erf',
         'expm1', 'log1p', '-', '(double)(float)', '(double)(int)', '__drcp_rn', '__dsqrt_rn', 'exp2', 'sinpi',
         '(double)(long long)', '__longlong_as_double(__double_as_longlong(%s) & ~0xffll)'],
    two=['fmin', 'fmax', 'pow', 'fmod', 'hypot', 'copysign', '__ddiv_rn', '__dmul_rn', '__dadd_rn', 'fdim'],
    three=['fma', 'fma', '__fma_rn'])
HALF = dict(
    lit=lambda v: 'T(%rf)' % v,
    one=['__habs', 'hsqrt(__habs(%s))', 'hrsqrt', 'hsin', 'hcos', 'hexp', 'hlog', 'hfloor', 'hrint', 'hrcp', '-',
         'T(float(%s))', 'T(float(%s) * 1.5f)', 'T((float)(int)float(%s))', 'hexp2', 'htrunc'],
    two=['__hmin', '__hmax', '__hadd', '__hmul', '__hsub', '__hdiv', '__hadd_rn', '__hmul_rn', 'T(float(%s) * float(%s))'],
    three=['__hfma', '__hfma', 'T(float(%s) * float(%s) + float(%s))', '__low2half(__hfma2(two(%s), two(%s), two(%s)))',
           'T(fmaf(float(%s), float(%s), float(%s)))'])
VALUES = [0.0, 1.0, -1.0, 2.0, 0.5, 3.75, 0.1, -0.25, 0.001, 1024.0]


class Kernel:
    def __init__(self, n, kind):
        self.n, self.kind = n, kind
        self.t = {'float': FLOAT, 'double': DOUBLE}.get(kind, HALF)
        self.type = {'half': '__half', 'bf16': '__nv_bfloat16'}.get(kind, kind)
        self.arg = 'float' if self.t is HALF else kind  # of scalar arguments
        self.syncs = r.random() < .3
        self.returns = not self.syncs and r.random() < .3
        self.slow = r.choice([0, .15, .4])  # how often functions are called
        self.far = r.random() < .08  # a label at the end
        self.ints = {'m': r.choice([1, 2, 3, 4, 5, 8, 16]), 'w': r.choice([1, 2, 3, 7]), 'flag': r.choice([0, 1, 2])}
        self.reals = {'p': r.choice(VALUES), 'q': r.choice(VALUES[1:]), 's': r.choice(VALUES)}
        self.struct = {'z.n': r.choice([1, 2, 4]), 'z.u': r.choice(VALUES), 'z.h': r.choice([-1, 3])}
        self.bound = r.choice(['', '', '', '__launch_bounds__(256)', '__launch_bounds__(256, 2)', '__launch_bounds__(512)'])
        self.template = r.choice(['', '', '', 'template <int M>', 'template <class R>'])
        self.plain = r.random() < .65  # sums and products alone, where contraction is all there is
        self.vars, self.loops, self.loop = ['a', 'b', 'c', 'd', 'e'], 0, []
        self.body = self.statements(r.choice([1, 1, 2, 2, 3, 3, 5]), 0, True)
        if not self.loops:
            self.body += ' ' + self.for_loop(0, True)

    # Expressions

    def lit(self, v):
        return self.t['lit'](v)

    def index(self):
        return r.choice(self.loop) if self.loop else r.choice(['m', 'w', '1'])

    def atom(self):
        k = r.random()
        if k < .46: return r.choice(self.vars)
        if k < .62: return 'T(%s)' % r.choice(['p', 'q', 's', 'z.u'])
        if k < .7: return self.lit(r.choice([.5, 2.0, 1.0, 3.0, .3, 1.7, -1.0, 0.0]))
        if k < .82: return 'x[(t * %d + %s) & 4095]' % (r.choice([1, 1, 3, 5]), self.index())
        if k < .86: return 'x[(%s * 64 + t) & 4095]' % self.index()
        if k < .9: return 'L[%s & 3]' % self.index()
        if k < .93: return 'tab%d[%s & 7]' % (self.n, self.index())
        if k < .97:
            return 'T((float)%s)' % r.choice([
                self.index(), self.index(), 'm', 'z.n', 'z.h', '(%s + 1)' % self.index(), '(t & 15)', '(t % w)', '(t & (w - 1))',
                '(threadIdx.x / blockDim.x)', '(threadIdx.x & 31)', 'blockIdx.x', '(gridDim.x - 15)', '(blockDim.x >> 8)',
                '(((size_t)x >> 2) & 3)', '(m > w)', '(%s & 1)' % self.index(), '(t / m)', '(flag << 1)'])
        if k < .985 and self.t is not HALF: return 'clamp%d(%s, T(p), T(q))' % (self.n, r.choice(self.vars))
        return '%s.v' % r.choice(['g', 'g'])

    def product(self):
        a, b, c = self.atom(), self.atom(), self.atom()
        return r.choice(['%s * %s' % (a, b)] * 3 + ['%s * %s * %s' % (a, b, c), '(%s + %s) * %s' % (a, b, c), a])

    def function(self):
        k = r.random()
        n = 1 if k < .6 else 2 if k < .85 else 3
        f = r.choice(self.t[{1: 'one', 2: 'two', 3: 'three'}[n]])
        args = tuple('(%s)' % self.product() for _ in range(n))
        if self.kind == 'bf16' and 'two(' in f: f = '__hfma'
        return f % args if '%s' in f else '%s(%s)' % (f, ', '.join(args))

    def expr(self):
        k = r.random()
        if k < .3: return '%s + %s' % (self.product(), self.atom())
        if k < .5: return '%s %s %s' % (self.product(), r.choice('+-'), self.product())
        if k < .58: return '%s / %s' % (self.product(), r.choice(['T(q)', 'T((float)(%s + 1))' % self.index(), self.lit(3.0), r.choice(self.vars)]))
        if k < .68: return '%s - %s' % (self.atom(), self.product())
        if k < .76: return 'f%d%s(%s, %s)' % (self.n, r.choice(['i', 'n', 't<2>', 't<5>']), self.product(), self.atom())
        if k < .8: return '(%s ? %s : %s)' % (self.condition(), self.product(), self.product())
        if not self.plain and r.random() < max(self.slow, .1): return self.function()
        return self.product()

    def condition(self):
        return r.choice([
            'flag == 1', '(t & 1)', 'a < b', 'm > 2', 'flag', 'w == 1', 'c > T(p)', 'z.n > 1', 'a != a', 'b == T(0.f)', 't > 1000',
            '(%s & 1)' % self.index(), '%s == 0' % self.index(), '%s < 2' % self.index(), '%s == T(q)' % r.choice(self.vars),
            '%s != T(s)' % r.choice(self.vars), 'a >= T(q) && a <= T(q)', 'a == b', '(int)(t & 7) == m', 'c == T(2.f) || m > 1',
            'x[t & 4095] == T(z.u)', '(int)float(b) == w', 't %% 4 == %s' % r.choice(['w', 'flag', 'z.n']), '!(a < T(p)) && !(a > T(p))'])

    # Statements. uniform: all threads of a block come here.

    def statements(self, n, depth, uniform):
        return ' '.join(self.statement(depth, uniform) for _ in range(n))

    def statement(self, depth, uniform):
        k, v, deep = r.random(), r.choice(self.vars), depth < 3
        if r.random() < .03:
            return 'for (int u = 0; u < 20 && %s > T(1.f); u++) %s = %s * T(.5f) + T(p);' % (v, v, v)
        if r.random() < .03 and self.kind == 'float':
            return 'asm%s("fma.rn.f32 %%0, %%1, %%2, %%0;" : "+f"(%s) : "f"(%s), "f"(p));' % (r.choice(['', ' volatile']), v, r.choice(self.vars))
        if r.random() < .05 and self.kind == 'float' and depth < 2: return self.path(v)
        if r.random() < .06: return self.weighed(v)
        if k < .3: return '%s = %s;' % (v, self.expr())
        if k < .48: return '%s = %s %s %s;' % (v, v, r.choice('+-*+'), self.product())
        if k < .54:
            o, u = r.choice(self.vars), r.choice(self.vars)
            return '{ T h = %s; %s = %s + h; %s = %s %s h; }' % (self.product(), o, o, u, u, r.choice('-*+'))
        if k < .58: return '{ T re = a * c - b * d, im = a * d + b * c; a = re; b = im; }'
        if k < .63: return 'L[%s & 3] = %s;' % (self.index(), self.product())
        if k < .66: return 'g = V{%s} %s g;' % (self.product(), r.choice('+*'))
        if k < .75 and deep:
            return 'if (%s) { %s } else { %s }' % (self.condition(), self.statements(r.randint(1, 2), depth + 1, False), self.statements(r.randint(0, 2), depth + 1, False))
        if k < .78 and deep:
            arms = ' '.join('case %d: %s %s' % (i, self.statements(1, depth + 2, False), r.choice(['break;', 'break;', ''])) for i in range(3))
            return 'switch (%s) { %s default: %s }' % (r.choice(['flag', 'w', '(int)(t & 3)', 'z.n']), arms, self.statements(1, depth + 2, False))
        if k < .82 and self.syncs and uniform:
            return r.choice([
                'S[threadIdx.x] = float(%s); __syncthreads(); %s = T(S[(threadIdx.x * %d + %d) & 255]); __syncthreads();' % (v, r.choice(self.vars), r.choice([1, 3, 33]), r.choice([0, 1, 7])),
                '%s = %s + T(__shfl_xor_sync(~0u, float(%s), %d));' % (v, v, r.choice(self.vars), r.choice([1, 2, 16])),
                'S[threadIdx.x] = float(%s); __syncthreads(); for (int u = 0; u < m; u++) %s = %s + T(S[u & 255]) * x[(u * 256 + threadIdx.x) & 4095]; __syncthreads();' % (v, v, v)])
        if k < .84 and self.returns and depth:
            return 'if (%s) { out[t] = %s; return; }' % (r.choice(['t == 77', 'flag == 7', 'a > T(900.f)']), v)
        if k < .855 and self.far and depth: return 'if (%s) goto end;' % self.condition()
        if deep: return self.for_loop(depth, uniform)
        return '%s = %s;' % (v, self.expr())

    # Products with a weight that is 1 or -1 in one turn or on one way, and two products of which one
    # has a second use behind a branch.
    def weighed(self, v):
        a, b, o = r.choice(self.vars), r.choice(self.vars), r.choice(self.vars)
        x = lambda: 'x[(t * %d + %s) & 4095]' % (r.choice([1, 3]), r.choice([self.index(), 'u', '5']).replace('u', '9'))
        return r.choice([
            '{ T y = T(1.f);\n  for (int u = 0; u < %s; u++) {\n  %s = %s %s %s * x[(t + u) & 4095] * y;\n  y = %s;\n  } }' % (
                r.choice(['m', 'w', '4']), v, v, r.choice('+-'), a, r.choice(['-y', 'y * T(p)', 'y * ' + b])),
            '%s = %s * %s * (flag ? T(%s) : T(%s)) %s %s;' % (v, a, x(), r.choice(['1.f', '1.f', '0.f', '-0.f']), r.choice(['-1.f', '2.f', '.5f']), r.choice('+-'), b),
            '%s = %s / (%s ? T(2.f) : T(%s)) + %s;' % (v, a, r.choice(['flag', 'm > 2', 'w == 1']), r.choice(['.5f', '3.f', '1.f']), b),
            '{ T h = %s * %s, l = %s * %s;\n  %s = h %s l;\n  if (%s) %s = %s; }' % (a, x(), b, x(), v, r.choice('+-'), r.choice(['flag', 'm > 2', 'w == 1', 't & 1']), o, r.choice('hl')),
            '{ T h = %s * %s - (%s ? T(0.f) : T(1.f));\n  %s = h + %s; }' % (a, x(), r.choice(['flag', 'm > 2']), v, b)])

    # Arrays that begin with numbers, and become registers where the loops' ends are known: functions
    # of these numbers, of what other rounds left, and of differences that are contracted or not.
    def path(self, v):
        f = lambda: r.choice(['__fdividef(g1 * Q[u], T(1.f) + p * Q[u])', '__fdividef(Q[u], P[u])', '__fdividef(q, T(1.f) + Q[u])', 'Q[u] / (p + P[u])'])
        e = r.choice(['__expf', '__expf', '__sinf', 'expf', '-'])
        return ('{ T P[24], Q[24]; for (int u = 0; u < m + 4 && u < 24; u++) { P[u] = T(.3f); Q[u] = T(%s); } '
                'for (int o = 0; o < w; o++) { T h = T(0.f), y0 = P[o] * %s; for (int u = o + 1; u < m + 4 && u < 24; u++) { T l0 = x[(u - o) & 4095], g1 = p * l0; '
                'h += %s; Q[u] = Q[u] * %s(g1 * h + l0 * (y0 - T(%s) * g1)); %s } } %s = %s + Q[m + 3 & 15] * P[w] - Q[w]; }'
                % (r.choice(['.05f', '.05f', '1.f', '0.f', '.5f']), v, f(), e, r.choice(['.5f', '.3f']), r.choice(['', 'P[u] = Q[u] - P[u] * g1;', 'P[u - 1] = -Q[u];']), v, v))

    def for_loop(self, depth, uniform):
        self.loops += 1
        i = 'ijkl'[len(self.loop)] if len(self.loop) < 4 else 'z.n'
        bound = r.choice(['m', 'm', 'm', 'w', 'm + w', '4', '8', '3', 'z.n', '(int)(t & 7)'])
        self.loop.append(i)
        inside = self.statements(r.randint(1, 4 if depth == 0 else 2), depth + 1, uniform and '&' not in bound)
        if r.random() < .25:
            v = r.choice(self.vars)
            inside = '%s = %s + %s * x[(%s * %d + t) & 4095]; ' % (v, v, r.choice(self.vars + ['T(p)']), i, r.choice([1, 64])) + (inside if r.random() < .5 else '')
        if not (uniform and self.syncs) and r.random() < .1:
            inside += ' if (%s) %s;' % (self.condition(), r.choice(['break', 'continue']))
        self.loop.pop()
        pragma = r.choice([''] * 8 + ['\n#pragma unroll 1\n', '\n#pragma unroll\n'])
        form = r.choice(['for (int {i} = 0; {i} < {n}; {i}++)', 'for (int {i} = 0; {i} < {n}; {i}++)', 'for (int {i} = 0; {i} < {n}; ++{i})',
                         'for (int {i} = {n}; {i} > 0; {i}--)', 'for (unsigned {i} = 1; {i} <= {n}; {i} += 1)', 'for (int {i} = 0; {i} < 2 * ({n}); {i} += 2)'])
        return pragma + form.format(i=i, n=bound) + ' { ' + inside + ' }'

    # The program's text

    def text(self):
        n, self.loop = self.n, []
        keep, self.vars = self.vars, ['a', 'b']
        names = ['T(p)', 'T(q)', 'T(s)', 'T(z.u)']
        def small():
            a, b = r.choice(['a', 'b', 'a * b', self.lit(.5)]), r.choice(['a', 'b', 'b * b', self.lit(3.0)])
            return r.choice(['%s * %s + a' % (a, b), '%s - %s * b' % (a, b), '(%s) * (%s)' % (a, b)])
        fs = '''__device__ T clamp%d(T v, T lo, T hi) { return %s; }
__device__ T f%di(T a, T b) { return %s; }
__device__ __noinline__ T f%dn(T a, T b) { for (int i = 0; i < 3; i++) a = %s; return a; }
template <int N> __device__ T f%dt(T a, T b) { for (int i = 0; i < N; i++) { a = %s; b = b * T((float)i); } return a + b; }
__device__ const T tab%d[8] = {%s};
''' % (n, {'float': 'fminf(fmaxf(v, lo), hi)', 'double': 'fmin(fmax(v, lo), hi)'}.get(self.kind, 'v'), n, small(), n, small(), n, small(), n, ', '.join(self.lit(v) if self.t is not HALF else repr(v) for v in (0.0, 1.0, .5, -2.0, .1, 3.0, 1.0, 0.0)))
        if self.t is HALF: fs = fs.replace('__device__ const T tab', '__device__ const float tab')
        self.vars = keep
        body = self.body
        if self.t is HALF:
            body = re.sub(r'tab%d\[([^\]]*)\]' % n, r'T(tab%d[\1])' % n, body)
        shared = 'S[threadIdx.x] = 0; __syncthreads();' if self.syncs else ''
        body = re.sub(r'; (?!i|j|k|l|\+\+|z.n|u )', ';\n  ', body)
        return '''namespace {{ }}
#define T {type}
#define V V{n}
struct V {{ T v; __device__ V operator+(V o) const {{ return V{{v + o.v}}; }} __device__ V operator*(V o) const {{ return V{{v * o.v - o.v}}; }} }};
struct Z{n} {{ short h; int n; {arg} u; }};
{fs}{template}
__global__ void {bound} k{n}(T *{r}out, const T *{r}x, int m, int w, int flag, {arg} p, {arg} q, {arg} s, Z{n} z)
{{
  {decl}
  int t = blockIdx.x * blockDim.x + threadIdx.x, i32 = t & 7;
  T a = x[t & 4095], b = x[(t + 1) & 4095], c = x[(t * 7 + 3) & 4095], d = T(0.f), e = {e};
  T L[4] = {{a, b, T(0.f), T(1.f)}};
  V g{{a}};
  {shared}
  {body}
{end}  out[t] = a; out[t + 4096] = b; out[t + 8192] = c; out[t + 12288] = d; out[t + 16384] = e{tail}; out[t + 20480] = g.v;
  (void)i32;
}}
#undef V
#undef T
'''.format(type=self.type, n=n, r=r.choice(['', '__restrict__ ']), arg=self.arg, fs=fs, template=self.template, bound=self.bound, decl='__shared__ float S[256];' if self.syncs else '',
           e=r.choice(['T(1.f)', 'T(0.f)', 'x[(t ^ 1) & 4095]']), shared=shared, body=body, end='end:\n' if 'goto end' in body else '',
           tail=r.choice(['', ' + L[0]', ' + L[3] * a']))

    def name(self):
        return 'k%d' % self.n + ('<4>' if 'int M' in self.template else '<float>' if self.template else '')

    # An instance of a template is made by a use of its address.
    def use(self):
        return '' if not self.template else 'void u%d() { auto *p = &%s; (void)p; }\n' % (self.n, self.name())

    def launches(self):
        others = dict(m=[1, 2, 3, 4, 5, 7, 8, 16], w=[1, 2, 3, 7], flag=[0, 1, 2], p=VALUES + [1.7, -3.3], q=VALUES[1:] + [1.7, -3.3],
                      s=VALUES + [1.7, -3.3], **{'z.n': [1, 2, 4], 'z.h': [-1, 3], 'z.u': VALUES + [1.7, -3.3]})
        usual = dict(self.ints, **self.reals, **self.struct)
        values = ' '.join('%s=%s' % (k, ','.join('%g' % v for v in [usual[k]] + others[k])) for k in usual)
        return '%s 256x1x1 0 16x1x1,16x1x1,7x1x1,12x1x1 %s\n' % (self.name(), values)

    # Recipes

    def recipe(self):
        names = dict(self.ints, **self.reals, **{k: v for k, v in self.struct.items()})
        cond = lambda k: '%s=%g' % (k, names[k])
        ints, reals = ['m', 'w', 'flag', 'z.n', 'z.h'], ['p', 'q', 's', 'z.u']
        k, out = r.random(), []
        if r.random() < .2: # several blocks' work in one
            out = ['spec{host(block)=256x1x1,host(dynamic)=0%s} coarsen=%s' % (
                r.choice(['', '', ',' + cond('m'), ',' + cond(r.choice(ints)), ',' + cond(r.choice(reals))]),
                r.choice(['2x1x1', '2x1x1', '4x1x1', '8x1x1', '3x1x1']))]
        elif k < .2: pass
        elif k < .45: out = ['spec{%s}' % cond(r.choice(ints))]
        elif k < .65: out = ['spec{%s}' % ','.join(cond(c) for c in r.sample(ints, r.randint(2, 4)))]
        elif k < .73: out = ['spec{%s}' % cond(r.choice(reals))]
        elif k < .85: out = ['spec{%s}' % ','.join(cond(c) for c in r.sample(ints + reals, r.randint(2, 5)))]
        elif k < .89: out = ['spec{align(x)=%d%s}' % (r.choice([8, 16, 16, 32]), r.choice(['', ',align(out)=16', ',' + cond('m')]))]
        elif k < .95: out = ['spec{%s%s}' % (r.choice(['blockDim.x=256', 'blockDim.x=256,blockDim.y=1,blockDim.z=1', 'gridDim.x=16', 'blockDim.x=256,gridDim.x=16']), r.choice(['', ',' + cond('m')]))]
        elif not self.syncs: out = ['spec{host(block)=256x1x1%s} shape=%dx1x1' % (r.choice(['', ',host(dynamic)=0', ',' + cond('m')]), r.choice([32, 64, 128, 512, 1024]))]
        if not out or r.random() < .35:
            sites = ['', '', ''] + ['@%d' % (i + 1) for i in range(min(self.loops, 3))]
            sites += ['@f%d%s.1' % (self.n, f) for f in 'nt' if 'f%d%s' % (self.n, f) in self.body]
            out.append('unroll%s=%d' % (r.choice(sites), r.choice([1, 1, 2, 2, 3, 4, 8])))
        if r.random() < .2: out.append(self.lever())
        return ' '.join(out)

    def lever(self):
        return r.choice(['maxnreg=%d' % r.choice([24, 32, 40, 64, 128]), 'inorder=on', 'early=%s' % r.choice(['on', 2, 4]),
                         'repeat@%d=%d' % (r.choice([1, 1, 2, 3]), r.choice([2, 3, 4, 8]))])


FLAGS = [''] * 14 + ['-use_fast_math'] * 3 + ['-fmad=false', '-prec-div=false', '-prec-sqrt=false', '-ftz=true', '-prec-div=false -prec-sqrt=false', '-ftz=true -fmad=false',
                    '-Xptxas -O1', '-Xptxas -O2', '-lineinfo', '-maxrregcount=40', '-O1', '-std=c++17', '-gencode arch=compute_80,code=sm_90', '--default-stream per-thread',
                    '-extra-device-vectorization', '-Xptxas -dlcm=cg', '-dopt=on -lineinfo']

kinds = [r.choice(['float'] * 5 + ['double'] * 3)] * KERNELS if r.random() < .4 else [r.choice(['float'] * 5 + ['double'] * 2) for _ in range(KERNELS)]
if r.random() < .04: kinds = [r.choice(['half', 'bf16', 'float']) for _ in range(KERNELS)]
kernels = [Kernel(n, kind) for n, kind in enumerate(kinds)]
headers = '#include <cstdint>\n#include <cmath>\n'
if {'half', 'bf16'} & set(kinds):
    headers += '#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n__device__ static __half2 two(__half v) { return __half2half2(v); }\n'
open('%d.cu' % seed, 'w').write(headers + '\n'.join(k.text() + k.use() for k in kernels))
open('%d.flags' % seed, 'w').write(r.choice(FLAGS))
open('%d.recipes' % seed, 'w').write(''.join('%s %s\n' % (k.name(), k.recipe()) for k in kernels for _ in range(RECIPES)))
open('%d.launches' % seed, 'w').write(''.join(k.launches() for k in kernels))
