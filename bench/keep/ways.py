#!/usr/bin/env python3
# ways.py SEED KERNELS RECIPES: as rounding.py, but kernels in which arguments and data decide what is computed, stored
# or chosen: loops of few turns, rows as a sparse matrix has them, switches between sums, selections, tables in constant
# memory, local arrays, stores that may meet, flags and factors in memory. Integers in memory are in a third
# of the kernels 0 to 3 in the launches of a check, and any later.
import random
import sys

seed = int(sys.argv[1])
KERNELS, RECIPES = int(sys.argv[2]), int(sys.argv[3])
r = random.Random(seed * 104729 + 5)
VALUES = [0.0, 1.0, 2.0, 0.5, 3.75, 0.1, -0.25]


class Kernel:
    def __init__(self, n):
        self.n, self.type = n, r.choice(['float', 'float', 'float', 'double'])
        self.loops = 0
        self.ints = {'m': r.choice([0, 1, 1, 2, 3, 3, 4, 5, 8]), 'mode': r.choice([0, 1, 2, 3]), 'w': r.choice([0, 1, 2, 4, 1000, 4096])}
        self.reals = {'p': r.choice(VALUES), 'q': r.choice(VALUES)}
        self.restrict = r.choice(['__restrict__ ', '__restrict__ ', ''])
        self.table = r.choice(['__constant__', '__constant__', '__device__'])
        self.power = r.random() < .6  # the table holds powers of two
        self.loop = []
        kinds = r.sample(['short', 'rows', 'switch', 'select', 'local', 'stores', 'moves', 'flags', 'data', 'scale', 'search'], r.randint(1, 3))
        self.body = '\n  '.join(getattr(self, k)() for k in kinds)
        if not self.loops: self.body += '\n  ' + self.short()

    def atom(self):
        k = r.random()
        i = r.choice(self.loop) if self.loop else r.choice(['1', '2', '5'])
        if k < .35: return r.choice('abcd')
        if k < .6: return 'x[(t * %d + %s) & 4095]' % (r.choice([1, 1, 3]), i)
        if k < .8: return 'tab%d[%s & 31]' % (self.n, i)
        return r.choice(['p', 'q', 'T(1.5)', 'T(.3)'])

    def product(self): return r.choice(['%s * %s'] * 4 + ['%s * %s * b']) % (self.atom(), self.atom())
    def sum(self): return r.choice(['%s + %s', '%s - %s', '%s + %s']) % (self.product(), r.choice([self.atom, self.product])())
    def var(self): return r.choice('abcd')

    def inside(self, i):
        self.loop.append(i)
        v = self.var()
        out = r.choice(['{v} += {p};', '{v} += {p};', '{v} = {v} * {a} + {p};', '{v} -= {p}; {u} += {v} * {a};', '{v} = {s};',
                        '{u} = {v}; {v} = {s};', 'if (mode & 1) {v} += {p}; else {u} -= {p};', 'if ({i} == 2) {v} = {s}; else {v} += {p};']).format(
            v=v, u=self.var(), p=self.product(), a=self.atom(), s=self.sum(), i=i)
        self.loop.pop()
        return out

    def pragma(self): return r.choice([''] * 6 + ['\n#pragma unroll 1\n', '\n#pragma unroll 2\n', '\n#pragma unroll 4\n'])

    def short(self):
        self.loops += 1
        i = 'ijk'[len(self.loop)]
        bound = r.choice(['m', 'm', 'm', 'm + 1', 'min(m, 6)', 'mode'])
        return self.pragma() + r.choice(['for (int {i} = 0; {i} < {n}; {i}++) {{ {s} }}', 'for (int {i} = {n}; {i} > 0; {i}--) {{ {s} }}', 'for (int {i} = 0; {i} < {n}; {i} += 2) {{ {s} }}',
                                         'for (int {i} = t & 1; {i} < {n}; {i}++) {{ {s} }}']).format(i=i, n=bound, s=self.inside(i))

    def rows(self):
        self.loops += 1
        form = r.choice(['for (int i = 0; i < (r[t & 1023] & 63); i++) {{ {s} }}', '{{ int e = r[(t + 1) & 1023] & 63; for (int i = r[t & 1023] & 63; i < e; i++) {{ {s} }} }}',
                         '{{ int e = (r[t & 1023] & 15) + 5; for (int i = 5; i < e; i++) {{ {s} }} }}', 'for (int i = 0; i < 20; i++) {{ if (r[(t + i) & 1023] > 3) break; {s} }}'])
        return self.pragma() + form.format(s=self.inside('i'))

    def switch(self):
        v = self.var()
        on = r.choice(['mode', 'mode', 'mode', 'r[t & 1023] & 7', '(m + mode) & 3'])
        arms = ' '.join('case %d: %s = %s; %s' % (i, v, self.sum(), r.choice(['break;'] * 4 + [''])) for i in range(r.choice([2, 3, 4, 6])))
        return 'switch (%s) { %s default: %s = %s; }' % (on, arms, v, self.sum())

    def condition(self):
        return r.choice(['mode == 2', 'mode', 'm > 4', 't < w', 'blockIdx.x < 2', 'blockIdx.x < 20', 'threadIdx.x < m', 't < 4000', 'm == mode', 'w > 1000', 'gridDim.x > 10', 't + w > 5000', 'p == T(0)', 'q > T(1)'])

    def select(self):
        return '%s = %s ? %s : %s;' % (self.var(), self.condition(), r.choice([self.sum, self.atom])(), self.sum())

    def moves(self):
        v, u = self.var(), self.var()
        return 'T e = %s, f = %s; if (%s) %s = e; %s' % (self.sum(), self.sum(), self.condition(), v, r.choice(['else %s = f;' % v, '%s += f;' % u, '']))

    def local(self):
        return 'T L[4] = {%s}; %s %s += L[%s & 3];' % (', '.join(self.sum() for _ in range(4)), r.choice(['', 'L[m & 3] = %s;' % self.sum()]), self.var(), r.choice(['mode', 'mode', 'w', 'r[t & 1023]']))

    def stores(self):
        return r.choice(['out[24576 + t] = {s}; out[24576 + t + (w & 4095)] = {u};', 'for (int i = 0; i < 4; i++) out[24576 + ((t + i * w) & 8191)] = {s};',
                         'out[24576 + t * 2] = {s}; out[24576 + t * 2 + (mode & 1)] = {u};']).format(s=self.sum(), u=self.sum())

    def flags(self):
        v = self.var()
        return r.choice(['if (r[t & 1023] == 7) %s = %s;', 'if ((r[t & 1023] & 4) != 0) %s += %s;', 'if (r[t & 1023] > 9) { %s = %s; } else { a = a * b + c; }']) % (v, self.sum())

    def data(self):
        v = self.var()
        return r.choice(['if (%s > T(%s)) %s = %s;' % (self.atom(), r.choice(['.5', '3', '1e20', '0']), v, self.sum()),
                         '%s = %s < %s ? %s : %s;' % (v, self.atom(), self.atom(), self.sum(), self.sum()),
                         'for (int i = 0; i < 30 && %s > T(1); i++) %s = %s * T(.5) + p;' % (v, v, v)])

    def scale(self):
        return '%s += %s * T(r[(t * 3) & 1023]) + %s;' % (self.var(), self.product(), self.product())

    def search(self):
        return 'int at = 0; while (at < 50 && r[(t + at) & 1023] > 5) at++; %s = at > 3 ? %s : %s;' % (self.var(), self.sum(), self.sum())

    def text(self):
        tab = ', '.join(repr(r.choice([1.0, 2.0, .5, 4.0, -1.0, -2.0]) if self.power else round(r.uniform(-2, 2), 7)) for _ in range(32))
        return '''#define T {type}
{table} T tab{n}[32] = {{{tab}}};
__global__ void k{n}(T *{r}out, const T *{r}x, const int *{r}r, int m, int mode, int w, T p, T q)
{{
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  T a = x[t & 4095], b = x[(t + 1) & 4095], c = x[(t * 7 + 3) & 4095], d = T({d});
  {body}
  out[t] = a; out[t + 4096] = b; out[t + 8192] = c; out[t + 12288] = d;
}}
#undef T
'''.format(type=self.type, table=self.table, n=self.n, tab=tab, r=self.restrict, d=r.choice(['0', '1', '.7']), body=self.body)

    def name(self): return 'k%d' % self.n

    def launches(self):
        others = dict(m=[0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17], mode=[0, 1, 2, 3, 4, 5], w=[0, 1, 2, 3, 5, 1000, 4096], p=VALUES + [1.7, -3.3], q=VALUES + [1.7, -3.3])
        usual = dict(self.ints, **self.reals)
        values = ' '.join('%s=%s' % (k, ','.join('%g' % v for v in [usual[k]] + others[k])) for k in usual)
        return '%s 256x1x1 0 %s memory=%s %s\n' % (self.name(), r.choice(['16x1x1,16x1x1,7x1x1,12x1x1', '2x1x1,16x1x1,1x1x1,3x1x1', '8x1x1,16x1x1,2x1x1']), r.choice(['small', 'any', 'any']), values)

    def recipe(self):
        names = dict(self.ints, **self.reals)
        cond = lambda k: '%s=%g' % (k, names[k])
        k, out = r.random(), []
        if k < .12: out = ['spec{%s}' % cond(r.choice(['m', 'mode', 'w']))]
        elif k < .2: out = ['spec{%s}' % ','.join(cond(c) for c in r.sample(['m', 'mode', 'w'], 2))]
        elif k < .26: out = ['spec{%s}' % cond(r.choice(['p', 'q']))]
        elif k < .32: out = ['spec{host(block)=256x1x1,host(dynamic)=0} coarsen=%s' % r.choice(['2x1x1', '4x1x1'])]
        if not out or r.random() < .3:
            out.append('unroll%s=%d' % (r.choice(['', '', ''] + ['@%d' % (i + 1) for i in range(min(self.loops, 2))]), r.choice([1, 2, 2, 3, 4, 4, 8])))
        if r.random() < .1: out.append(r.choice(['inorder=on', 'early=on', 'maxnreg=32']))
        return ' '.join(out)


kernels = [Kernel(n) for n in range(KERNELS)]
open('%d.cu' % seed, 'w').write('\n'.join(k.text() for k in kernels))
open('%d.flags' % seed, 'w').write(r.choice([''] * 12 + ['-use_fast_math', '-fmad=false', '-O1', '-Xptxas -O1']))
open('%d.recipes' % seed, 'w').write(''.join('%s %s\n' % (k.name(), k.recipe()) for k in kernels for _ in range(RECIPES)))
open('%d.launches' % seed, 'w').write(''.join(k.launches() for k in kernels))
