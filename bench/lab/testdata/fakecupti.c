/* A CUPTI that is none: it hands the clock made-up records, so that counting, sums, medians and the file can be tested
 * where there is no GPU. It says nothing about whether the real CUPTI is used rightly. Linked with clock.c. */
#include <cuda.h>
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static CUpti_CallbackFunc callback;
static CUpti_ActivityKernel9 pending[5000];
static size_t npending;
static CUpti_ActivityKind enabled;

static void launch(const char *name, int grid, int block, int dynamic, unsigned long long ns) {
	CUpti_ActivityKernel9 *k = &pending[npending++];
	memset(k, 0, sizeof *k);
	k->kind = enabled;
	k->start = 1000000 + npending;
	k->end = k->start + ns;
	k->gridX = grid, k->gridY = 1, k->gridZ = 2;
	k->blockX = block, k->blockY = 1, k->blockZ = 1;
	k->dynamicSharedMemory = dynamic;
	k->registersPerThread = 40;
	k->name = name;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc r, CUpti_BuffersCallbackCompleteFunc c) {
	request = r, complete = c;
	return getenv("FAKE_REFUSES") ? CUPTI_ERROR_NOT_INITIALIZED : CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
	enabled = kind;
	return kind == (getenv("FAKE_APART") ? CUPTI_ACTIVITY_KIND_KERNEL : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}
CUptiResult cuptiGetResultString(CUptiResult r, const char **s) { *s = "fake refusal"; return r ? CUPTI_SUCCESS : CUPTI_SUCCESS; }
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *s, CUpti_CallbackFunc f, void *u) { *s = NULL; (void)u; callback = f; return CUPTI_SUCCESS; }
CUptiResult cuptiEnableCallback(uint32_t e, CUpti_SubscriberHandle s, CUpti_CallbackDomain d, CUpti_CallbackId i) { (void)e, (void)s, (void)d, (void)i; return CUPTI_SUCCESS; }
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext c, uint32_t s, size_t *n) { (void)c, (void)s; *n = 3; return CUPTI_SUCCESS; }

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **r) {
	uint8_t *next = *r ? (uint8_t *)*r + sizeof(CUpti_ActivityKernel9) : buffer;
	if (next + sizeof(CUpti_ActivityKernel9) > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*r = (CUpti_Activity *)next;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
	uint8_t *buffer;
	size_t size, records;
	(void)flag;
	if (!npending) return CUPTI_SUCCESS;
	request(&buffer, &size, &records);
	if (size < npending * sizeof *pending) return CUPTI_ERROR_OUT_OF_MEMORY;
	memcpy(buffer, pending, npending * sizeof *pending);
	complete(NULL, 0, buffer, size, npending * sizeof *pending);
	npending = 0;
	return CUPTI_SUCCESS;
}

int InitializeInjection(void);

int main(void) {
	char name[32];
	if (InitializeInjection() != 1) return 9;
	launch("_Z1aPf", 10, 128, 0, 100);
	launch("_Z1aPf", 10, 128, 0, 300);
	launch("_Z1aPf", 10, 128, 0, 200);
	launch("_Z1aPf", 20, 128, 0, 7000); /* another grid */
	launch("_Z1aPf", 10, 128, 64, 50);  /* other dynamic shared memory */
	launch("odd,\"name\"", 1, 32, 0, 10);
	launch("_Z4evenv", 1, 32, 0, 10);
	launch("_Z4evenv", 1, 32, 0, 21);
	launch("_Z4zerov", 1, 32, 0, 5);
	pending[npending - 1].start = pending[npending - 1].end = 0; /* no time stamps */
	CUpti_CallbackData data;
	memset(&data, 0, sizeof data);
	data.callbackSite = CUPTI_API_ENTER;
	if (callback) callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2, &data);
	for (int i = 0; i < 3000; i++) { /* more kernels than the first table has buckets */
		sprintf(name, "many%d", i);
		launch(strcpy(malloc(32), name), 1, 32, 0, 1);
	}
	if (fork() == 0) exit(0); /* a child's exit writes nothing */
	wait(NULL);
	return 0;
}
