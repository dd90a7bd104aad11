// SPDX-License-Identifier: Apache-2.0
// What cudafe++ includes into a host stub, without the library functions behind it: see
// ../cuda_runtime.h. No macro tells the toolkit here; 13 is the first with a folder for cccl.
#if __has_include(<cccl/cuda/version>)
#define __COMMON_FUNCTIONS_H__
#endif
#include_next <crt/host_runtime.h>
