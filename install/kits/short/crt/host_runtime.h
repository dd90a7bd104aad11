// SPDX-License-Identifier: Apache-2.0
// What cudafe++ includes into a host stub, without the library functions behind it: see
// ../cuda_runtime.h.
#if __CUDACC_VER_MAJOR__ == 13
#define __COMMON_FUNCTIONS_H__
#endif
#include_next <crt/host_runtime.h>
