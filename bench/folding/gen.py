# gen.py SEED N: writes t.ptx, names.txt and in.bin for compare.c. For each instruction there are two kernels: F_ has its operands as
# constants, which ptxas folds, R_ loads them. Operands: N numbers of moderate size, small fractions, special values, and any bits.
import random, struct, sys

random.seed(int(sys.argv[1]))
N = int(sys.argv[2])
one="ex2.approx ex2.approx.ftz lg2.approx lg2.approx.ftz sin.approx sin.approx.ftz cos.approx cos.approx.ftz rcp.approx rcp.approx.ftz rsqrt.approx rsqrt.approx.ftz sqrt.approx sqrt.approx.ftz rcp.rn rcp.rn.ftz sqrt.rn sqrt.rn.ftz tanh.approx abs neg".split()
two="div.rn div.rn.ftz div.approx div.approx.ftz div.full div.full.ftz mul mul.ftz add add.ftz sub mul.rn min max".split()
three="fma.rn fma.rn.ftz fma.rz fma.rm".split()
d1="rcp.approx.ftz rsqrt.approx.ftz rcp.rn sqrt.rn".split(); d2="mul add div.rn".split(); d3=["fma.rn"]
def f32():
    k=random.random()
    if k<.6: return struct.unpack('<I',struct.pack('<f',random.choice([-1,1])*2**random.uniform(-8,8)))[0]
    if k<.75: return struct.unpack('<I',struct.pack('<f',random.randint(-200,200)/random.choice([1,2,4,10])))[0]
    if k<.8: return random.choice([0,0x80000000,0x3f800000,0xbf800000,0x7f800000,0xff800000,1,0x7fffff,0x00800000,0x7f7fffff])
    return random.getrandbits(32)
def f64():
    k=random.random()
    if k<.8: return struct.unpack('<Q',struct.pack('<d',random.choice([-1,1])*2**random.uniform(-20,20)))[0]
    return random.getrandbits(64)
A=[[f32() for _ in range(N)] for _ in range(3)]; D=[[f64() for _ in range(N)] for _ in range(3)]
open('in.bin','wb').write(b''.join(struct.pack('<%dI'%N,*a) for a in A)+b''.join(struct.pack('<%dQ'%N,*a) for a in D))
o=open('t.ptx','w'); names=[]
o.write('.version 9.0\n.target sm_90\n.address_size 64\n')
def emit(name,op,t,n,data,size):
    names.append((name,size)); b='b%d'%(8*size); r='f' if size==4 else 'd'; pre='0f%08X' if size==4 else '0d%016X'
    o.write('.visible .entry F_%s(.param .u64 in,.param .u64 out){\n.reg .u64 %%o; .reg .%s %%a,%%b,%%c,%%r;\nld.param.u64 %%o,[out];\n'%(name,t))
    for i in range(N):
        for k,x in enumerate('abc'[:n]): o.write('mov.%s %%%s,%s;\n'%(t,x,pre%data[k][i]))
        o.write('%s.%s %%r,%s;\nst.global.%s [%%o+%d],%%r;\n'%(op,t,','.join('%'+x for x in 'abc'[:n]),t,i*size))
    o.write('ret;\n}\n')
    o.write('.visible .entry R_%s(.param .u64 in,.param .u64 out){\n.reg .u64 %%o,%%i,%%t; .reg .u32 %%x,%%y,%%z; .reg .%s %%a,%%b,%%c,%%r;\nld.param.u64 %%o,[out]; ld.param.u64 %%i,[in];\nmov.u32 %%x,%%tid.x; mov.u32 %%y,%%ctaid.x; mad.lo.u32 %%x,%%y,256,%%x; mul.wide.u32 %%t,%%x,%d; add.u64 %%i,%%i,%%t; add.u64 %%o,%%o,%%t;\n'%(name,t,size))
    for k,x in enumerate('abc'[:n]): o.write('ld.global.%s %%%s,[%%i+%d];\n'%(t,x,k*N*size))
    o.write('%s.%s %%r,%s;\nst.global.%s [%%o],%%r;\nret;\n}\n'%(op,t,','.join('%'+x for x in 'abc'[:n]),t))
for ops,n in ((one,1),(two,2),(three,3)):
    for op in ops: emit(op.replace('.','_'),op,'f32',n,A,4)
for ops,n in ((d1,1),(d2,2),(d3,3)):
    for op in ops: emit('d_'+op.replace('.','_'),op,'f64',n,D,8)
open('names.txt','w').write('\n'.join('%s %d'%x for x in names)+'\n')
