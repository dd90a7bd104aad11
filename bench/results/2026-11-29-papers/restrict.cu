// twenty loops in the naive form of a PolyBench-like suite, my own writing; R is nothing or __restrict__
#define G extern "C" __global__ void
#define I int i = blockIdx.x * blockDim.x + threadIdx.x
#define IJ int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y
G gemm(int n, float al, float be, float *R a, float *R b, float *R c) { IJ; if (i<n&&j<n) { c[i*n+j]*=be; for (int k=0;k<n;k++) c[i*n+j]+=al*a[i*n+k]*b[k*n+j]; } }
G mm2(int n, float al, float *R t, float *R a, float *R b) { IJ; if (i<n&&j<n) { t[i*n+j]=0; for (int k=0;k<n;k++) t[i*n+j]+=al*a[i*n+k]*b[k*n+j]; } }
G atax1(int n, float *R a, float *R x, float *R t) { I; if (i<n) { t[i]=0; for (int j=0;j<n;j++) t[i]+=a[i*n+j]*x[j]; } }
G atax2(int n, float *R a, float *R y, float *R t) { I; if (i<n) { y[i]=0; for (int j=0;j<n;j++) y[i]+=a[j*n+i]*t[j]; } }
G bicg1(int n, float *R a, float *R r, float *R s) { I; if (i<n) { s[i]=0.f; for (int j=0;j<n;j++) s[i]+=a[j*n+i]*r[j]; } }
G bicg2(int n, float *R a, float *R p, float *R q) { I; if (i<n) { q[i]=0.f; for (int j=0;j<n;j++) q[i]+=a[i*n+j]*p[j]; } }
G mvt1(int n, float *R a, float *R x, float *R y) { I; if (i<n) for (int j=0;j<n;j++) x[i]+=a[i*n+j]*y[j]; }
G mvt2(int n, float *R a, float *R x, float *R y) { I; if (i<n) for (int j=0;j<n;j++) x[i]+=a[j*n+i]*y[j]; }
G gesummv(int n, float al, float be, float *R a, float *R b, float *R t, float *R x, float *R y) { I; if (i<n) { t[i]=0;y[i]=0; for (int j=0;j<n;j++) { t[i]+=a[i*n+j]*x[j]; y[i]+=b[i*n+j]*x[j]; } y[i]=al*t[i]+be*y[i]; } }
G syrk(int n, float al, float be, float *R a, float *R c) { IJ; if (i<n&&j<n) { c[i*n+j]*=be; for (int k=0;k<n;k++) c[i*n+j]+=al*a[i*n+k]*a[j*n+k]; } }
G syr2k(int n, float al, float be, float *R a, float *R b, float *R c) { IJ; if (i<n&&j<n) { c[i*n+j]*=be; for (int k=0;k<n;k++) c[i*n+j]+=al*a[i*n+k]*b[j*n+k]+al*b[i*n+k]*a[j*n+k]; } }
G mean(int m, int n, float *R me, float *R d) { I; if (i<m) { me[i]=0; for (int k=0;k<n;k++) me[i]+=d[k*m+i]; me[i]/=n; } }
G std_(int m, int n, float *R me, float *R s, float *R d) { I; if (i<m) { s[i]=0; for (int k=0;k<n;k++) s[i]+=(d[k*m+i]-me[i])*(d[k*m+i]-me[i]); s[i]=sqrtf(s[i]/n); } }
G covar(int m, int n, float *R sy, float *R d) { I; if (i<m) for (int j=i;j<m;j++) { sy[i*m+j]=0; for (int k=0;k<n;k++) sy[i*m+j]+=d[k*m+i]*d[k*m+j]; sy[j*m+i]=sy[i*m+j]; } }
G doitgen(int n, float *R s, float *R a, float *R c) { IJ; if (i<n&&j<n) { s[i*n+j]=0; for (int k=0;k<n;k++) s[i*n+j]+=a[i*n+k]*c[k*n+j]; } }
G conv2(int n, float *R a, float *R b) { IJ; if (i>0&&j>0&&i<n-1&&j<n-1) b[i*n+j]=0.2f*a[(i-1)*n+j-1]-0.3f*a[(i-1)*n+j]+0.4f*a[i*n+j+1]+0.5f*a[i*n+j]+0.6f*a[(i+1)*n+j]; }
G jacobi(int n, float *R a, float *R b) { I; if (i>0&&i<n-1) b[i]=0.33333f*(a[i-1]+a[i]+a[i+1]); }
G fdtd(int n, float *R ex, float *R ey, float *R hz) { IJ; if (i<n-1&&j<n-1) hz[i*n+j]-=0.7f*(ex[i*n+j+1]-ex[i*n+j]+ey[(i+1)*n+j]-ey[i*n+j]); }
G fir(int n, int taps, float *R x, float *R w, float *R y) { I; if (i<n) { y[i]=0; for (int k=0;k<taps;k++) y[i]+=x[i+k]*w[k]; } }
G nbody(int n, float *R p, float *R f) { I; if (i<n) { f[i]=0; for (int j=0;j<n;j++) { float d=p[j]-p[i]; f[i]+=d*rsqrtf(d*d*d*d*d*d+0.1f); } } }
