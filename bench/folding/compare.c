// compare N CUBIN: runs each pair of kernels that gen.py made, and tells how many results differ in their bits. NaNs are counted apart.
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define C(x) do{CUresult r=(x); if(r){printf("%s: %d\n",#x,r); exit(1);}}while(0)
int main(int c,char**v){ int N=atoi(v[1]); CUdevice d; CUcontext x; CUmodule m; C(cuInit(0)); C(cuDeviceGet(&d,0)); C(cuDevicePrimaryCtxRetain(&x,d)); C(cuCtxSetCurrent(x)); C(cuModuleLoad(&m,v[2]));
 FILE*f=fopen("in.bin","rb"); char*in=malloc(N*36); if(fread(in,1,N*36,f)!=(size_t)N*36) return 1; CUdeviceptr di,o1,o2; C(cuMemAlloc(&di,N*36)); C(cuMemAlloc(&o1,N*8)); C(cuMemAlloc(&o2,N*8)); C(cuMemcpyHtoD(di,in,N*36));
 FILE*n=fopen("names.txt","r"); char name[64],k[80]; int size; 
 while(fscanf(n,"%63s %d",name,&size)==2){ CUfunction F,R; sprintf(k,"F_%s",name); C(cuModuleGetFunction(&F,m,k)); sprintf(k,"R_%s",name); C(cuModuleGetFunction(&R,m,k)); CUdeviceptr src=size==4?di:di+N*12; void*a[]={&src,&o1},*b[]={&src,&o2};
  C(cuLaunchKernel(F,1,1,1,1,1,1,0,0,a,0)); C(cuLaunchKernel(R,N/256,1,1,256,1,1,0,0,b,0)); C(cuCtxSynchronize()); unsigned char*p=malloc(N*8),*q=malloc(N*8); C(cuMemcpyDtoH(p,o1,N*size)); C(cuMemcpyDtoH(q,o2,N*size)); int bad=0,nan=0; 
  for(int i=0;i<N;i++) if(memcmp(p+i*size,q+i*size,size)){ double y,z; if(size==4){float s,t; memcpy(&s,p+i*4,4); memcpy(&t,q+i*4,4); y=s;z=t;} else {memcpy(&y,p+i*8,8); memcpy(&z,q+i*8,8);} if(y!=y&&z!=z) nan++; else if(bad++<2){ unsigned w; memcpy(&w,in+(size==4?0:N*12)+i*size,4); printf("   %s of %08x..: folded %a runs %a\n",name,w,y,z);} }
  printf("%-20s %d of %d differ, and %d NaNs in their bits\n",name,bad,N,nan); free(p); free(q);}
}
