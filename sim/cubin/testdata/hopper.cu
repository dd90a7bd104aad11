// What only sm_90 and later have.
struct Big { char c[20000]; int x; };
struct Small { char c[4000]; char e; };
__global__ void large(Big b, int *p, Small d) { p[0] = b.c[p[1]] + b.x + d.e; }
__global__ void __cluster_dims__(2, 1, 1) cluster(int *p) { *p = 2; }
__global__ void __maxnreg__(32) capped(int *p) { *p = 2; }
__global__ void __block_size__((64, 2, 1)) fixed(int *p) { *p = 2; }
