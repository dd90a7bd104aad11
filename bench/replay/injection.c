// A stand-in for the agent: subscribes to CUPTI as U_MODE says (none, callback, activity, both, events).
#include <cupti.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned long long calls, records, dropped, zero;
static double total;
static int events;
static void CUPTIAPI call(void *u, CUpti_CallbackDomain d, CUpti_CallbackId id, const void *v) {
  (void)u; (void)d; (void)v; (void)id;
  __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
}
static void CUPTIAPI want(uint8_t **b, size_t *size, size_t *n) { *size = 1 << 20; *b = aligned_alloc(8, 1 << 20); *n = 0; }
static void CUPTIAPI got(CUcontext c, uint32_t s, uint8_t *b, size_t size, size_t valid) {
  (void)c; (void)s; (void)size;
  CUpti_Activity *r = NULL;
  while (cuptiActivityGetNextRecord(b, valid, &r) == CUPTI_SUCCESS)
    if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      CUpti_ActivityKernel9 *k = (CUpti_ActivityKernel9 *)r;
      records++;
      if (!k->start || !k->end) zero++;
      total += (double)(k->end - k->start);
    }
  free(b);
}
static void at_end(void) {
  cuptiActivityFlushAll(1);
  fprintf(stderr, "  cupti: %llu callbacks, %llu records, %llu without times, mean %.2f us\n", calls, records, zero, records ? total / records / 1e3 : 0.0);
}
__attribute__((visibility("default"))) int InitializeInjection(void) {
  const char *mode = getenv("U_MODE");
  CUpti_SubscriberHandle s;
  if (!mode || !strcmp(mode, "none")) return 1;
  if (!strcmp(mode, "callback") || !strcmp(mode, "both")) {
    cuptiSubscribe(&s, call, NULL);
    cuptiEnableCallback(1, s, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    cuptiEnableCallback(1, s, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx);
  }
  if (!strcmp(mode, "all")) {
    cuptiSubscribe(&s, call, NULL);
    cuptiEnableDomain(1, s, CUPTI_CB_DOMAIN_DRIVER_API);
    cuptiEnableDomain(1, s, CUPTI_CB_DOMAIN_RESOURCE);
  }
  if (!strcmp(mode, "activity") || !strcmp(mode, "both")) {
    cuptiActivityRegisterCallbacks(want, got);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  }
  (void)events; (void)dropped;
  atexit(at_end);
  return 1;
}
