/* The independent clock: how long each kernel of a program ran, by the GPU's own time stamps.
 *
 * The CUDA driver loads this library into any program that is started with CUDA_INJECTION64_PATH set to its path. It
 * asks CUPTI for activity records (begin and end of every kernel, taken by the GPU), and appends at the program's end
 * one line per kernel, grid, block and dynamic shared memory to the file that GNVCC_CLOCK names:
 *
 *	pid,device,kernel,gridx,gridy,gridz,blockx,blocky,blockz,dynamic,registers,count,total_ns,min_ns,median_ns
 *
 * Both kinds of records that CUPTI has lengthen kernels. Those of kernels that may run at a time cost each block some nanoseconds
 * (528 us for 489, with 400,000 blocks); those that keep kernels apart, which GNVCC_CLOCK_APART asks for, 1.3 to 2.1 us each
 * launch.
 *
 * It shares nothing with gnvcc's tuner, which takes its times by CUDA events: that is its point.
 *
 * What it does not see: a process that ends by _exit, exec or a signal; kernels that are not over when the program
 * ends. Times of kernels that run at the same time are added up. After SAMPLES launches of one kernel the median is that
 * of the first SAMPLES; count, total and minimum go on.
 *
 * Build: gcc -O2 -fPIC -shared -I<toolkit>/include -I<toolkit>/extras/CUPTI/include clock.c -L<toolkit>/lib64
 * -L<toolkit>/extras/CUPTI/lib64 -lcupti -lpthread (CUDA 12.0 and later; build.go does it).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cuda.h>
#include <cupti.h>

enum { SAMPLES = 1 << 20, BUFFER = 4 << 20, ALIGN = 8 };

/* CUPTI only ever appends fields to a record, so that the struct of 12.0 reads the records of every later version. */
typedef CUpti_ActivityKernel9 Record;

typedef struct Entry {
	struct Entry *next;
	char *name;
	uint32_t device;
	int32_t grid[3], block[3], dynamic;
	uint16_t registers;
	uint64_t count, total, least;
	uint64_t *samples;
	size_t kept, room;
} Entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Entry **buckets;
static size_t nbuckets, nentries;
static uint64_t lost; /* records that CUPTI dropped or that did not fit into memory */
static char *path;
static pid_t owner; /* the process whose kernels these are: a forked child must not write them again */

static void complain(const char *what, CUptiResult r) {
	const char *why = NULL;
	cuptiGetResultString(r, &why);
	fprintf(stderr, "gnvcc clock: %s: %s; kernels are not timed\n", what, why ? why : "unknown error");
}

static size_t hash(const char *name, const int32_t *shape, size_t n) {
	uint64_t h = 1469598103934665603u; /* FNV-1a */
	for (; *name; name++) h = (h ^ (unsigned char)*name) * 1099511628211u;
	for (size_t i = 0; i < n; i++) h = (h ^ (uint32_t)shape[i]) * 1099511628211u;
	return h ^ h >> 29;
}

static int grow(void) {
	size_t n = nbuckets ? nbuckets * 4 : 1024;
	Entry **fresh = calloc(n, sizeof *fresh);
	if (!fresh) return nbuckets != 0;
	for (size_t i = 0; i < nbuckets; i++)
		for (Entry *e = buckets[i], *next; e; e = next) {
			int32_t shape[8] = {e->grid[0], e->grid[1], e->grid[2], e->block[0], e->block[1], e->block[2], e->dynamic, e->registers};
			size_t at = hash(e->name, shape, 8) % n;
			next = e->next;
			e->next = fresh[at];
			fresh[at] = e;
		}
	free(buckets);
	buckets = fresh;
	nbuckets = n;
	return 1;
}

static void take(const Record *k) {
	if (!k->name || k->end < k->start || k->start == 0) { /* a record without time stamps */
		lost++;
		return;
	}
	if (nentries >= nbuckets && !grow()) {
		lost++;
		return;
	}
	int32_t shape[8] = {k->gridX, k->gridY, k->gridZ, k->blockX, k->blockY, k->blockZ, k->dynamicSharedMemory, k->registersPerThread};
	size_t at = hash(k->name, shape, 8) % nbuckets;
	Entry *e = buckets[at];
	while (e && (e->device != k->deviceId || memcmp(e->grid, shape, 12) || memcmp(e->block, shape + 3, 12) || e->dynamic != shape[6] ||
	             e->registers != k->registersPerThread || strcmp(e->name, k->name)))
		e = e->next;
	if (!e) {
		e = calloc(1, sizeof *e);
		if (!e || !(e->name = strdup(k->name))) { /* the record's name is CUPTI's, and may go away */
			free(e);
			lost++;
			return;
		}
		memcpy(e->grid, shape, 12);
		memcpy(e->block, shape + 3, 12);
		e->dynamic = shape[6];
		e->registers = k->registersPerThread;
		e->device = k->deviceId;
		e->least = UINT64_MAX;
		e->next = buckets[at];
		buckets[at] = e;
		nentries++;
	}
	uint64_t ns = k->end - k->start;
	e->count++;
	e->total += ns;
	if (ns < e->least) e->least = ns;
	if (e->kept < SAMPLES) {
		if (e->kept == e->room) {
			size_t room = e->room ? e->room * 2 : 16;
			uint64_t *more = realloc(e->samples, room * sizeof *more);
			if (!more) return;
			e->samples = more;
			e->room = room;
		}
		e->samples[e->kept++] = ns;
	}
}

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *records) {
	*buffer = aligned_alloc(ALIGN, BUFFER);
	*size = *buffer ? BUFFER : 0;
	*records = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
	(void)size;
	if (!buffer) return;
	pthread_mutex_lock(&lock);
	CUpti_Activity *r = NULL;
	while (valid && cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS)
		if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || r->kind == CUPTI_ACTIVITY_KIND_KERNEL) take((const Record *)r);
	size_t dropped = 0;
	if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) lost += dropped;
	pthread_mutex_unlock(&lock);
	free(buffer);
}

/* Records of a context go with it: fetch them before the program destroys one. */
static void CUPTIAPI leaving(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data) {
	(void)user, (void)domain, (void)id;
	if (((const CUpti_CallbackData *)data)->callbackSite == CUPTI_API_ENTER) cuptiActivityFlushAll(0);
}

static const struct {
	CUpti_CallbackDomain domain;
	CUpti_CallbackId id;
} departures[] = {
	{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020},
	{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy},
	{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2},
	{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease},
	{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2},
	{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset},
	{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2},
};

static int byValue(const void *a, const void *b) {
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void quoted(FILE *out, const char *name) {
	fputc('"', out);
	for (; *name; name++) {
		if (*name == '"') fputc('"', out);
		fputc(*name, out);
	}
	fputc('"', out);
}

static void report(void) {
	if (getpid() != owner) return;
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	pthread_mutex_lock(&lock);
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	if (out) {
		for (size_t i = 0; i < nbuckets; i++)
			for (Entry *e = buckets[i]; e; e = e->next) {
				qsort(e->samples, e->kept, sizeof *e->samples, byValue);
				/* of an even number the mean of the middle two, rounded down */
				uint64_t median = !e->kept ? 0 : (e->samples[(e->kept - 1) / 2] + e->samples[e->kept / 2]) / 2;
				fprintf(out, "%ld,%u,", (long)owner, e->device);
				quoted(out, e->name);
				fprintf(out, ",%d,%d,%d,%d,%d,%d,%d,%u,%llu,%llu,%llu,%llu\n", e->grid[0], e->grid[1], e->grid[2], e->block[0], e->block[1],
				        e->block[2], e->dynamic, e->registers, (unsigned long long)e->count, (unsigned long long)e->total,
				        (unsigned long long)e->least, (unsigned long long)median);
			}
		if (lost) fprintf(out, "%ld,lost,%llu\n", (long)owner, (unsigned long long)lost);
		fclose(out);
	}
	/* Several processes may end at once: append under a lock. */
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0 || !text) {
		fprintf(stderr, "gnvcc clock: can't write %s: %m\n", path);
	} else {
		flock(fd, LOCK_EX);
		for (size_t done = 0; done < length;) {
			ssize_t n = write(fd, text + done, length - done);
			if (n <= 0) {
				fprintf(stderr, "gnvcc clock: can't write %s: %m\n", path);
				break;
			}
			done += n;
		}
	}
	if (fd >= 0) close(fd);
	free(text);
	pthread_mutex_unlock(&lock);
}

/* The driver calls this from cuInit. 1: all is well. It never stops the program. */
__attribute__((visibility("default"))) int InitializeInjection(void) {
	const char *to = getenv("GNVCC_CLOCK");
	if (!to || !*to) {
		fprintf(stderr, "gnvcc clock: GNVCC_CLOCK names no file; kernels are not timed\n");
		return 1;
	}
	path = strdup(to);
	owner = getpid();
	CUpti_SubscriberHandle subscriber;
	CUptiResult r;
	if ((r = cuptiActivityRegisterCallbacks(requested, completed)) != CUPTI_SUCCESS) {
		complain("cuptiActivityRegisterCallbacks", r);
	} else if ((r = cuptiActivityEnable(getenv("GNVCC_CLOCK_APART") ? CUPTI_ACTIVITY_KIND_KERNEL : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) !=
	           CUPTI_SUCCESS) {
		complain("cuptiActivityEnable", r);
	} else if (atexit(report)) {
		fprintf(stderr, "gnvcc clock: no atexit; kernels are not timed\n");
	} else if (cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)leaving, NULL) == CUPTI_SUCCESS) {
		for (size_t i = 0; i < sizeof departures / sizeof *departures; i++)
			cuptiEnableCallback(1, subscriber, departures[i].domain, departures[i].id);
	} /* else: a program that destroys its context loses some records, others none */
	return 1;
}
