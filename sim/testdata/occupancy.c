/* The oracle: NVIDIA's own cuda_occupancy.h. Reads one case a line, prints the resident blocks, -1 on an error.
 * Build: cc -I<toolkit>/include occupancy.c. No GPU and no CUDA library is needed. */
#include <stdio.h>
#include <string.h>
#include <cuda_occupancy.h>

int main(void) {
	struct cudaOccDeviceProp p;
	struct cudaOccFuncAttributes a;
	struct cudaOccDeviceState s;
	struct cudaOccResult r;
	int cc, threads, dynamic;
	int shared, perBlock, optin, reserved, fixed;
	memset(&p, 0, sizeof p);
	memset(&a, 0, sizeof a);
	memset(&s, 0, sizeof s);
	p.warpSize = 32;
	p.maxThreadsPerBlock = 1024;
	p.numSms = 1;
	a.maxThreadsPerBlock = 1024;
	a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
	while (scanf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d", &cc, &p.maxThreadsPerMultiprocessor, &p.regsPerBlock, &p.regsPerMultiprocessor,
	             &perBlock, &shared, &optin, &reserved, &a.numRegs, &threads, &fixed, &dynamic, &a.numBlockBarriers, &s.carveoutConfig) == 14) {
		p.computeMajor = cc / 10;
		p.computeMinor = cc % 10;
		p.sharedMemPerBlock = perBlock;
		p.sharedMemPerMultiprocessor = shared;
		p.sharedMemPerBlockOptin = optin;
		p.reservedSharedMemPerBlock = reserved;
		a.sharedSizeBytes = fixed;
		a.maxDynamicSharedSizeBytes = dynamic;
		if (cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &a, &s, threads, dynamic) != CUDA_OCC_SUCCESS)
			printf("-1\n");
		else
			printf("%d\n", r.activeBlocksPerMultiprocessor);
	}
	return 0;
}
