// SPDX-License-Identifier: Apache-2.0
//
// What issue 9815 of NVIDIA/cccl is about: CUB's kernels that select the first of each run of equal keys, for keys of 64 bits with
// floats.
#include <cub/device/device_select.cuh>
#include <cstdint>
cudaError_t run(void *temporary, size_t &bytes, const std::int64_t *keys, const float *values, std::int64_t *outKeys, float *outValues, int *count, int n, cudaStream_t s) {
  return cub::DeviceSelect::UniqueByKey(temporary, bytes, keys, values, outKeys, outValues, count, n, s);
}
