/* Reads the energy counter of the one GPU that programs see here, each time that a line comes, behind its next step:
 *
 *	at SECONDS MILLIJOULES    or    why REASON
 *
 * It stays between two readings: where nobody has the driver open it may be unloaded, and its counter begins anew.
 */
#define _GNU_SOURCE
#include "nvml.h"
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Where it is plugged in, 32 bytes, or "" and behind that why that is not told. */
static void place(char *text) {
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned) = (int (*)(unsigned))nvml_find(cuda, "cuInit");
	int (*count)(int *) = (int (*)(int *))nvml_find(cuda, "cuDeviceGetCount");
	int (*get)(int *, int) = (int (*)(int *, int))nvml_find(cuda, "cuDeviceGet");
	int (*bus)(char *, int, int) = (int (*)(char *, int, int))nvml_find(cuda, "cuDeviceGetPCIBusId");
	int n = 0, device;
	if (!init || !count || !get || !bus || init(0) || count(&n) || n < 1) text[1] = '0';
	else if (n > 1 || get(&device, 0) || bus(text, 32, device)) text[1] = '2';
}

/* The driver is asked in a process of its own, so that this one is none that uses the GPU. */
static const char *find(void) {
	static char text[32];
	int ends[2];
	if (pipe(ends) != 0) return "no pipe";
	if (fork() == 0) {
		place(text);
		_exit(write(ends[1], text, sizeof text) != sizeof text);
	}
	close(ends[1]);
	if (read(ends[0], text, sizeof text) != sizeof text) return "the driver can't be asked";
	if (text[0]) return nvml_open(text);
	return text[1] == '0' ? "there is no GPU" : "programs see several GPUs (CUDA_VISIBLE_DEVICES names one)";
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* With a context, even of somebody who does nothing now, the GPU is not the program's alone. */
static int shared(void) {
	unsigned n = 0;
	return !nvml.processes || nvml.processes(nvml.device, &n, NULL) != 0 || n > 0;
}

int main(void) {
	const char *why = find();
	char line[16];
	while (fgets(line, sizeof line, stdin)) {
		double begin = now();
		unsigned long long was = why ? 0 : nvml_read(0), is = was;
		while (!why && is == was && now() - begin < 1) {
			usleep(200);
			is = nvml_read(was);
		}
		if (why) printf("why %s\n", why);
		else if (is == was) puts("why the energy counter does not move");
		else if (shared()) puts("why another process has the GPU, too, or nobody can tell");
		else printf("at %.6f %llu\n", now(), is);
		fflush(stdout);
	}
	return 0;
}
