#!/usr/bin/env python3
# blocks.py SEED KERNELS RECIPES: as rounding.py, but kernels in which it matters which thread is in
# which block, for recipes that have one block do the work of several (coarsen, in all its ways):
# one, two and three dimensions, blocks of 1 to 256 threads, four grids each; static and dynamic shared memory, barriers, operations of a warp, atomics,
# early ends, switches, local arrays, assembly. Every thread stores to places of its own.
import random
import sys

seed = int(sys.argv[1])
KERNELS, RECIPES = int(sys.argv[2]), int(sys.argv[3])
r = random.Random(seed * 7919 + 17)


class Kernel:
    def __init__(self, n):
        self.n = n
        self.ft = r.choice(['float', 'float', 'double'])
        self.dims = r.choice([1, 1, 1, 2, 3])
        small = r.random() < .4
        if small: self.block = r.choice([(8, 1, 1), (16, 1, 1), (32, 1, 1), (4, 4, 1), (8, 4, 1), (4, 2, 1), (2, 1, 1), (1, 1, 1), (16, 2, 1), (8, 2, 1)])
        else: self.block = r.choice([(64, 1, 1), (128, 1, 1), (96, 1, 1), (256, 1, 1), (16, 16, 1), (8, 8, 2), (32, 4, 1), (33, 1, 1), (100, 1, 1)])
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.dyn = r.choice([0, 0, 0, 0, 4 * self.threads, 4 * self.threads + 64])
        self.shared = r.random() < .45
        self.warp = r.random() < .3 and self.threads % 32 == 0
        self.local = r.random() < .15
        g = lambda: r.choice([1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 33, 64])
        self.grids = []
        for _ in range(4):
            while True:
                grid = (g(), g() if self.dims > 1 else 1, r.choice([1, 2, 3, 4, 5]) if self.dims > 2 else 1)
                if grid[0] * grid[1] * grid[2] * self.threads <= 20000: break
            x, y, z = grid
            self.grids.append((max(x, -(-4096 // (y * z * self.threads)) + r.randint(0, 2)), y, z))
        self.m, self.w = r.choice([1, 2, 3, 5, 8, 17]), r.choice([0, 1, 2, 7, 64])
        self.depth, self.label, self.loops = 0, 0, 0
        self.uni = True  # whole block comes here
        self.ivars, self.fvars, self.loopvars = ['a', 'b', 'c'], ['x', 'y', 'z'], []
        self.early = r.random() < .35 and not self.uses_sync()
        self.inl = r.random() < .25
        self.asm = r.random() < .25
        body = []
        for _ in range(r.randint(3, 9)): body.append(self.stmt(2))
        self.body = '\n  '.join(body)

    def uses_sync(self): return self.shared or self.dyn or self.warp
    def i(self, d=2):
        k = r.random()
        if d == 0 or k < .35:
            return r.choice(self.ivars * 2 + self.loopvars * 2 + ['(int)blockIdx.x', '(int)blockIdx.x', '(int)blockIdx.y', '(int)blockIdx.z', '(int)threadIdx.x', '(int)threadIdx.y', '(int)threadIdx.z', '(int)gridDim.x', '(int)gridDim.y', '(int)blockDim.x', 'm', 'w', 't', 'tid', str(r.randint(0, 9)), 'bid'])
        op = r.choice(['+', '+', '-', '*', '^', '&', '|', '<<', '>>', '%', '/', '?', 'ld', 'min', 'intr'])
        a, b = self.i(d - 1), self.i(d - 1)
        if op in ('<<', '>>'): return '((int)((unsigned)(%s) %s ((%s) & 7)))' % (a, op, b)
        if op in ('%', '/'): return '((%s) %s (((%s) & 7) + 1))' % (a, op, b)
        if op == '?': return '(%s ? (%s) : (%s))' % (self.cond(), a, b)
        if op == 'ld': return 'in[(%s) & 1023]' % a
        if op == 'min': return 'max(min(%s, %s), -77)' % (a, b)
        if op == 'intr': return r.choice(['__popc(%s)', '__clz(%s)', '__brev(%s)', '(int)(short)(%s)', '(int)(unsigned char)(%s)', '(int)((long long)(%s) * 100003 >> 7)', '__ldg(in + ((%s) & 511))', 'tab%d[(%%s) & 7]' % self.n, '__byte_perm(%s, 77, 0x5140)', 'abs(%s)']) % a
        return '(%s %s %s)' % (a, op, b)
    def f(self, d=2):
        k = r.random()
        if d == 0 or k < .35: return r.choice(self.fvars * 3 + ['F(%s)' % r.choice([.5, 1.25, 3, -2]), 'F(a)', 'fin[(%s) & 1023]' % self.i(1), 'F(blockIdx.x)', 'p'])
        a, b = self.f(d - 1), self.f(d - 1)
        return r.choice(['(%s + %s)', '(%s - %s)', '(%s * %s)', '(%s * %s + y)', '(%s / (%s + F(3)))', 'max(%s, %s)', '(%s * %s - x * p)']) % (a, b)
    def cond(self):
        c = r.choice(['(%s) > (%s)', '(%s) == (%s)', '((%s) & 3) == ((%s) & 3)', '(%s) < (%s)'])
        return '(' + c % (self.i(1), self.i(1)) + ')'
    def ucond(self):  # uniform in a block
        e = lambda: r.choice(['(int)blockIdx.x', '(int)blockIdx.y', 'bid', 'm', 'w', '(int)gridDim.x', str(r.randint(0, 5))])
        return r.choice(['((%s + %s) & 1)', '(%s < %s)', '(%s == %s)', '((%s ^ %s) & 2)']) % (e(), e())
    def block_(self, d, uni):
        keep = self.uni; self.uni = self.uni and uni
        self.depth += 1
        s = ' '.join(self.stmt(d - 1) for _ in range(r.randint(1, 3)))
        self.depth -= 1
        self.uni = keep
        return '{ ' + s + ' }'
    def stmt(self, d):
        k = r.random()
        if d > 0 and k < .16:
            u = r.random() < .4
            c = r.choice(['m > 2', '(w & 1)', '((int)gridDim.x > 4)', '(m + w) % 3 == 1']) if u and self.uses_sync() and r.random() < .85 else self.ucond() if u else self.cond()
            s = 'if (%s) %s' % (c, self.block_(d, u))
            if r.random() < .4: s += ' else ' + self.block_(d, u)
            return s
        if d > 0 and k < .26:
            v = 'ijk'[len(self.loopvars) % 3] + str(self.loops); self.loops += 1
            u = r.random() < .5
            bound = r.choice(['m', '(w & 3)', '3', '8', '(m + 1)']) if u else r.choice(['3', 'm', '(tid & 3)', '(w & 7)']) if self.uses_sync() and r.random() < .8 else r.choice(['(a & 7)', '((int)blockIdx.x & 7)', '(tid & 3)', '(bid % 5)', '(in[bid & 1023] & 7)'])
            keep, kb = self.loopvars, self.uni
            self.loopvars = self.loopvars + [v]; 
            body = self.block_(d, u)
            if not self.uses_sync() and r.random() < .2: body = body[:-1] + 'if (%s) %s; }' % (self.cond(), r.choice(['break', 'continue']))
            self.loopvars, self.uni = keep, kb
            return r.choice(['', '', '\n#pragma unroll 1\n', '\n#pragma unroll 4\n']) + 'for (int %s = 0; %s < %s; %s++) %s' % (v, v, bound, v, body)
        if d > 0 and k < .29:
            return 'switch ((%s) & 7) { %s default: %s }' % (self.i(1), ' '.join('case %d: %s %s' % (n, self.simple(), r.choice(['break;', 'break;', ''])) for n in range(r.randint(2, 7))), self.simple())
        if k < .36 and self.early and self.depth < 2: return 'if (%s) { %s return; }' % (self.cond(), r.choice(['', self.simple(), 'out[gid * 4 + 1] = %s;' % self.i(1)]))
        if k < .56 and self.shared and self.uni: return self.share()
        if k < .62 and self.dyn and self.uni:
            return '__syncthreads(); D[tid] = %s; __syncthreads(); %s ^= D[(tid + %s) %% %d];' % (self.i(1), r.choice(self.ivars), r.choice(['1', 'm', 'bid', '3']), self.threads)
        if k < .72 and self.warp and self.uni: return self.warps()
        if k < .78: return self.atom()
        if k < .82 and self.local: return 'L[(%s) & 7] = %s; %s += L[(%s) & 7];' % (self.i(1), self.i(1), r.choice(self.ivars), self.i(1))
        if k < .85 and self.asm: return self.asms()
        return self.simple()
    def simple(self):
        if r.random() < .55: return '%s %s %s;' % (r.choice(self.ivars), r.choice(['=', '+=', '^=']), self.i())
        if r.random() < .3: return 'out[gid * 4 + %d] %s %s;' % (r.randint(0, 2), r.choice(['=', '+=']), self.i())
        return '%s %s %s;' % (r.choice(self.fvars), r.choice(['=', '+=', '-=']), self.f())
    def share(self):
        T = self.threads
        v = r.choice(self.ivars)
        return r.choice([
            'S[tid] = %s; __syncthreads(); %s += S[(tid * 3 + %s) %% %d]; __syncthreads();' % (self.i(1), v, r.choice(['m', 'bid', '1']), T),
            'if (tid == 0) one = %s; __syncthreads(); %s ^= one; __syncthreads();' % (self.i(1), v),
            'if (tid == (bid %% %d)) one = in[bid & 1023]; __syncthreads(); %s += one; __syncthreads();' % (T, v),
            '{ int *q = (%s) ? S : S2; __syncthreads(); q[tid] = %s; __syncthreads(); %s += S2[%d - tid]; __syncthreads(); }' % (self.ucond(), self.i(1), v, T - 1),
            'SB[tid] = (char)(%s); __syncthreads(); %s += SB[(tid + 1) %% %d]; __syncthreads();' % (self.i(1), v, T),
            'SF[tid] = %s; __syncthreads(); for (int s = 1; s < %d; s *= 2) { F q = tid >= s ? SF[tid - s] : F(0); __syncthreads(); SF[tid] += q; __syncthreads(); } %s += SF[tid]; __syncthreads();' % (self.f(1), T, r.choice(self.fvars)),
            'if (tid < 4) H[tid] = 0; __syncthreads(); atomicAdd(&H[(%s) & 3], 1u); __syncthreads(); %s += H[%s & 3]; __syncthreads();' % (self.i(1), v, r.choice(['tid', 'bid', '1'])),
            '%s += __syncthreads_count(%s);' % (v, self.cond()),
            '%s += __syncthreads_or(%s) + 2 * __syncthreads_and(%s);' % (v, self.cond(), self.cond()),
            '{ volatile int *q = S; q[tid] = %s; __syncthreads(); %s -= q[tid ^ 0]; __syncthreads(); }' % (self.i(1), v),
            'M[threadIdx.y & 3][threadIdx.x & 31] = tid; __syncthreads(); if (tid < 1) M[1][2] = bid; __syncthreads(); %s += M[1][2]; __syncthreads();' % v,
            'if (%s) { S[tid] = %s; } __syncthreads(); S2[tid] = tid; __syncthreads(); %s += S2[(%s & 255) %% %d]; __syncthreads();' % (self.cond(), self.i(1), v, self.i(1), T),
        ])
    def warps(self):
        v = r.choice(self.ivars)
        return r.choice(['%s += __shfl_xor_sync(~0u, %s, %d);' % (v, self.i(1), r.choice([1, 2, 16])), '%s ^= __shfl_sync(~0u, %s, (%s) & 31);' % (v, self.i(1), self.i(1)),
            '%s += __popc(__ballot_sync(~0u, %s));' % (v, self.cond()), '%s += __any_sync(~0u, %s);' % (v, self.cond()), '%s ^= __reduce_add_sync(~0u, (unsigned)(%s));' % (v, self.i(1)),
            '%s += __popc(__match_any_sync(~0u, (%s) & 3));' % (v, self.i(1)), '__syncwarp();', 'if ((tid & 31) < 7) %s += __shfl_down_sync(0x7f, %s, 0);' % (v, self.i(1)),
            '{ int pr; %s += __match_all_sync(~0u, (%s) & 1, &pr) + pr; }' % (v, self.i(1))])
    def atom(self):
        return r.choice(['atomicAdd(&hist[(%s) & 63], %s);' % (self.i(1), self.i(1)), 'atomicMax(&hist[64 + ((%s) & 15)], %s);' % (self.i(1), self.i(1)), 'atomicXor(&hist[80 + (m & 3)], %s);' % self.i(1),
            'atomicAdd((unsigned long long *)hist + 50 + ((%s) & 3), (unsigned long long)(%s));' % (self.i(1), self.i(1)), 'if (%s) atomicOr(&hist[90], 1 << (%s & 31));' % (self.cond(), self.i(1)), '__threadfence();',
            'if (atomicAdd(&hist[91], 0) == 123456789) out[gid * 4 + 1] = 1;', 'atomicMin(&hist[92], bid);'])
    def asms(self):
        v = r.choice(self.ivars)
        return r.choice(['asm volatile("mov.u32 %%0, %%%%ctaid.x;" : "=r"(%s));' % v, 'asm("{ .reg .pred q; .reg .u32 h; setp.lt.u32 q, %%1, 5; selp.u32 h, 3, 4, q; add.u32 %%0, h, %%1; }" : "=r"(%s) : "r"(bid + %s));' % (v, v),
            'asm("add.cc.u32 %%0, %%1, %%2;\\n addc.u32 %%0, %%0, 0;" : "=r"(%s) : "r"(%s), "r"(bid));' % (v, v), 'asm("{ .reg .b32 h; mov.u32 h, %%%%nctaid.x; mad.lo.s32 %%0, %%1, h, %%2; }" : "=r"(%s) : "r"(bid), "r"(%s));' % (v, self.i(1)),
            'asm("bfe.u32 %%0, %%1, 3, 5;" : "=r"(%s) : "r"(%s));' % (v, self.i(1)),
            'asm volatile("{ .reg .pred q; setp.gt.s32 q, %%1, 2; @q bra L%%=; add.s32 %%0, %%0, 5; L%%=: }" : "+r"(%s) : "r"(%s));' % (v, self.i(1)), 'asm("lop3.b32 %%0, %%1, %%2, 7, 0x96;" : "=r"(%s) : "r"(bid), "r"(tid));' % v])
    def text(self):
        T = self.threads
        decl = ''
        if self.shared: decl += '__shared__ int S[%d]; __shared__ __align__(16) int S2[%d]; __shared__ int one; __shared__ char SB[%d]; __shared__ F SF[%d]; __shared__ unsigned H[4]; __shared__ int M[4][32];\n  S[tid] = 0; S2[tid] = 1; M[threadIdx.y & 3][threadIdx.x & 31] = 0; if (tid == 0) { M[1][2] = 3; one = 2; } __syncthreads();' % (T, T, T, T)
        if self.dyn: decl += 'extern __shared__ int D[]; D[tid] = tid; __syncthreads();'
        if self.local: decl += 'int L[8] = {1, 2, 3, a, b, c, 7, 8};'
        bounds = '__launch_bounds__(%d)' % T if r.random() < .08 else ''
        return '''#define F %s
__constant__ int tab%d[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__global__ void %s k%d(int *%s out, F *fout, const int *%s in, const F *fin, int *hist, int m, int w, F p)
{
  int t = blockIdx.x * blockDim.x + threadIdx.x, tid = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), bid = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  int gid = bid * (blockDim.x * blockDim.y * blockDim.z) + tid;
  int a = in[t & 1023], b = bid, c = tid; F x = fin[gid & 1023], y = F(bid), z = F(1);
  %s
  %s
  out[gid * 4 + 3] = a ^ b * 3 + c; fout[gid * 4 + 1] = x + y * z;
}
#undef F
''' % (self.ft, self.n, bounds, self.n, r.choice(['', '__restrict__']), r.choice(['', '__restrict__']), decl, self.body)
    def launches(self):
        size = lambda s: '%dx%dx%d' % s
        return 'k%d %s %d %s m=%s w=%s p=1.5,0.1,-3,2\n' % (self.n, size(self.block), self.dyn, ','.join(size(g) for g in self.grids),
            ','.join(str(v) for v in [self.m, 1, 2, 3, 5, 8, 17]), ','.join(str(v) for v in [self.w, 0, 1, 2, 7, 64]))
    def recipe(self):
        conds = ['host(block)=%dx%dx%d' % self.block]
        if self.dyn or self.shared or r.random() < .7: conds.append('host(dynamic)=%d' % self.dyn)
        by, suffix = [1, 1, 1], ''
        d = r.choice([0] * 3 + [x for x in range(self.dims)] * 2)
        if self.threads <= 32 and 32 % self.threads == 0 and self.block[2] == 1 and not self.dyn and r.random() < .8:
            suffix = 'b'
            conds = ['host(block)=%dx%dx%d' % self.block, 'host(dynamic)=0']
            by[d] = r.choice([n for n in (2, 3, 4, 7, 8, 16, 32, 64) if n * self.threads <= 256])
        else: by[d] = r.choice([2, 2, 2, 3, 4, 5, 8])
        fit = [g for g in self.grids if g[d] >= by[d] and (g[d] % by[d] or r.random() < .3)] or [g for g in self.grids if suffix or g[d] >= by[d]]
        if r.random() < .6 and fit: conds.append('host(grid)=%dx%dx%d' % r.choice(fit))
        if r.random() < .2: conds.append('m=%d' % self.m)
        if r.random() < .1: conds.append('w=%d' % self.w)
        if r.random() < .15: return 'spec{%s} unroll=%d' % (','.join(r.sample(['m=%d' % self.m, 'w=%d' % self.w, 'p=1.5'], r.randint(1, 3))), r.choice([1, 2, 4]))
        out = 'spec{%s} coarsen=%dx%dx%d%s' % (','.join(conds), by[0], by[1], by[2], suffix)
        if r.random() < .2: out += ' ' + r.choice(['maxnreg=%d' % r.choice([24, 32, 64, 128]), 'early=on', 'early=2', 'inorder=on', 'unroll=2', 'unroll=1', 'repeat@1=4', 'repeat@2=2'])
        return out

ks = [Kernel(n) for n in range(KERNELS)]
open('%d.cu' % seed, 'w').write('\n'.join(k.text() for k in ks))
open('%d.flags' % seed, 'w').write(r.choice([''] * 8 + ['-fmad=false', '--use_fast_math', '-ftz=true', '-lineinfo', '-O1', '--default-stream per-thread', '-Xptxas -O2', '-std=c++17', '-maxrregcount=64']))
open('%d.recipes' % seed, 'w').write(''.join('k%d %s\n' % (k.n, k.recipe()) for k in ks for _ in range(RECIPES)))
open('%d.launches' % seed, 'w').write(''.join(k.launches() for k in ks))
