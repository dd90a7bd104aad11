// class: virtual memory management; an array of two pieces, one piece at two addresses, one unmapped
#include "common.h"
int main() {
  CK(cudaFree(0));
  CUmemAllocationProp p = {};
  p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access = {};
  access.location = p.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const size_t size = 2 << 20;
  CUdeviceptr q, r;
  CUmemGenericAllocationHandle h[2];
  auto map = DRIVER(cuMemMap);
  auto allow = DRIVER(cuMemSetAccess);
  DR(DRIVER(cuMemAddressReserve)(&q, 2 * size, 0, 0, 0));
  DR(DRIVER(cuMemAddressReserve)(&r, size, 0, 0, 0));
  for (int i = 0; i < 2; i++) {
    DR(DRIVER(cuMemCreate)(&h[i], size, &p, 0));
    DR(map(q + i * size, size, 0, h[i], 0));
  }
  DR(allow(q, 2 * size, &access, 1));
  Data d(1000000);
  CK(cudaMemcpy((void *)q, d.hb.data(), 4000000, cudaMemcpyHostToDevice));
  for (int t = 0; t < 10; t++) d.from((float *)q, t);
  bool good = d.right();
  DR(map(r, size, 0, h[0], 0)); // now the first piece has two addresses
  DR(allow(r, size, &access, 1));
  std::vector<float> x(1000, 2.0f), y(1000);
  CK(cudaMemcpy((void *)q, x.data(), 4000, cudaMemcpyHostToDevice));
  for (int t = 0; t < 6; t++) {
    work<<<1, 1000>>>((float *)q, (float *)r, 1000, 0.5f, 0);
    host_work(x.data(), x.data(), 1000, 0.5f, 0);
  }
  CK(cudaMemcpy(y.data(), (void *)r, 4000, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1000; i++) good = good && fabsf(y[i] - x[i]) <= 1e-4f * x[i];
  DR(DRIVER(cuMemUnmap)(r, size));
  DR(DRIVER(cuMemUnmap)(q, 2 * size));
  for (int t = 0; t < 10; t++) d.step(t);
  return verdict(good && d.right());
}
