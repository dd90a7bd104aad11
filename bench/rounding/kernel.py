#!/usr/bin/env python3
# kernel.py SEED: a random kernel of sums and products, and a source recipe for it: SEED.cu and SEED.recipe.
import random,sys
seed=int(sys.argv[1]); r=random.Random(seed)
T=r.choice(['float']*4+['double'])
F='f' if T=='float' else ''
ints={'m':r.choice([1,2,3,4,5]),'w':r.choice([1,2,3]),'flag':r.choice([0,1,2])}
vals=[0.0,1.0,-1.0,2.0,0.5,3.7,0.1,-0.25,1e-3]
fl={'p':r.choice(vals),'q':r.choice(vals[1:]),'s':r.choice(vals)}
lit=lambda v: repr(v)+F
V=['a','b','c','d','e']
def atom(d=0):
    k=r.random()
    if k<.5: return r.choice(V)
    if k<.72: return r.choice('pqs')
    if k<.8: return lit(r.choice([0.5,2.0,1.0,3.0,0.3,1.7]))
    if k<.88: return 'x[(t*%d+%s)&4095]'%(r.choice([1,3,5]),r.choice(['0','7','i' if d else '1']))
    if k<.94 and d: return 'L[i&3]'
    return '(%s)%s'%(T,'i' if d else r.choice(['m','w']))
def prod(d): return r.choice(['%s*%s'%(atom(d),atom(d)),'%s*%s*%s'%(atom(d),atom(d),atom(d)),'(%s+%s)*%s'%(atom(d),atom(d),atom(d)),atom(d)])
def fun(d):
    a=prod(d)
    if T=='double': return r.choice(['sqrt(fabs(%s))','fabs(%s)','fmin(%s,2.0)','exp(-fabs(%s))'])%a
    return r.choice(['__sinf(%s)','__expf(-fabsf(%s))','sqrtf(fabsf(%s))','__fdividef(1.f,%s+3.f)','fabsf(%s)','fminf(%s,2.f)','sinf(%s)','expf(-fabsf(%s))','rsqrtf(fabsf(%s)+1.f)','cosf(%s)'])%a
def expr(d):
    k=r.random()
    if k<.3: return '%s + %s'%(prod(d),atom(d))
    if k<.5: return '%s %s %s'%(prod(d),r.choice('+-'),prod(d))
    if k<.6: return '%s / %s'%(prod(d),r.choice(['q','(fabs%s(%s)+1)'%(F,r.choice(V)),lit(3.0)]))
    if k<.75: return fun(d)
    if k<.85: return '%s - %s'%(atom(d),prod(d))
    return prod(d)
def stmts(n,d,depth):
    o=[]
    for _ in range(n):
        k=r.random()
        v=r.choice(V)
        if k<.42: o.append('%s = %s;'%(v,expr(d)))
        elif k<.62: o.append('%s %s= %s;'%(v,r.choice('+-*+'),prod(d)))
        elif k<.70: o.append('L[%s] = %s;'%('i&3' if d else str(r.randrange(4)),prod(d)))
        elif k<.80 and depth<2: o.append('if (%s) { %s } else { %s }'%(r.choice(['flag == 1','t & 1','a < b','m > 2','flag','w == 1']),stmts(r.randint(1,2),d,depth+1),stmts(r.randint(0,2),d,depth+1)))
        elif depth<2 and not d: o.append('for (int i = 0; i < %s; i++) { %s }'%(r.choice(['m','m','w','m+w','4']),stmts(r.randint(1,4),1,depth+1)))
        elif depth<2 and d: o.append('for (int j = 0; j < %s; j++) { %s }'%(r.choice(['w','3','m']),stmts(r.randint(1,2),1,depth+1)))
        else: o.append('%s = %s;'%(v,expr(d)))
    return ' '.join(o)
body=stmts(r.choice([1,1,2,2,3,5]),0,0)
if 'for' not in body: body+=' for (int i = 0; i < m; i++) { %s }'%stmts(r.randint(2,4),1,1)
src=f'''#include <cstdio>
#include <cstdint>
#include <cmath>
__global__ void k({T} *out, const {T} *x, int m, int w, int flag, {T} p, {T} q, {T} s)
{{
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  {T} a = x[t], b = x[(t + 1) & 4095], c = x[(t * 7 + 3) & 4095], d = 0, e = {r.choice(['1','0','x[t ^ 1]'])};
  {T} L[4] = {{a, b, 0, 1}};
  {body.replace('; ',';'+chr(10)+'  ')}
  out[t] = a; out[t + 4096] = b; out[t + 8192] = c; out[t + 12288] = d; out[t + 16384] = e {r.choice(['','+ L[0]','+ L[3]*a'])};
}}
int main()
{{
  {T} *h = new {T}[4096], *o = new {T}[20480], *x, *y; cudaMalloc(&x, sizeof({T}) * 4096); cudaMalloc(&y, sizeof({T}) * 20480);
  uint64_t z = 88172645463325252ull, sum = 1469598103934665603ull; auto rnd = [&] {{ z ^= z << 13; z ^= z >> 7; z ^= z << 17; return (double)(z >> 11) / 9007199254740992.0; }};
  for (int round = 0; round < 6; round++) {{
    for (int i = 0; i < 4096; i++) {{ double v = 2 * rnd() - 1; if (round == 1) v *= 1000; if (round == 2) v = rnd() < .3 ? 0 : v * 1e-3; if (round == 3) v = (int)(v * 8) / 2.0; if (round == 4) v *= pow(10, 20 * (rnd() - .5)); if (round == 5) v = rnd() < .1 ? 1e-40 : v; h[i] = v; }}
    cudaMemcpy(x, h, sizeof({T}) * 4096, cudaMemcpyHostToDevice);
    k<<<16, 256>>>(y, x, {ints['m']}, {ints['w']}, {ints['flag']}, {lit(fl['p'])}, {lit(fl['q'])}, {lit(fl['s'])});
    if (cudaDeviceSynchronize() != cudaSuccess) {{ printf("error\\n"); return 1; }}
    cudaMemcpy(o, y, sizeof({T}) * 20480, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 20480; i++) {{ if (o[i] != o[i]) o[i] = 0; const unsigned char *u = (const unsigned char *)&o[i]; for (unsigned b = 0; b < sizeof({T}); b++) sum = (sum ^ u[b]) * 1099511628211ull; }}
  }}
  printf("%016llx\\n", (unsigned long long)sum);
}}
'''
open(f'{seed}.cu','w').write(src)
names={'m':2,'w':3,'flag':4,'p':5,'q':6,'s':7}
picks=[]
for n in ('m','w','flag'):
    if r.random()<.6: picks.append(f'#{names[n]}={ints[n]}')
for n in 'pqs':
    if r.random()<.3: picks.append(f'#{names[n]}={fl[n]:g}')
rec=[]
k=r.random()
one=r.choice(['m','w','flag'])
if k<.35: rec=['unroll=%d'%r.choice([1,2,4,8])]
elif k<.65: rec=['spec{#%d=%d}'%(names[one],ints[one])]
elif k<.8: rec=['spec{#2=%d,#3=%d}'%(ints['m'],ints['w'])]
elif k<.88: o=r.choice('pqs'); rec=['spec{#%d=%g}'%(names[o],fl[o])]
else: rec=['spec{'+','.join(picks)+'}'] if picks else ['unroll=4']
if k>=.35 and r.random()<.25: rec.append('unroll=%d'%r.choice([2,4]))
open(f'{seed}.recipe','w').write(' '.join(rec))
