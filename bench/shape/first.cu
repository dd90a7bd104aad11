// The first launch of a kernel in the process, while a stream is being captured: the stub loads the
// kernel's second entry then. What nvcc's own build prints, gnvcc's has to print.
//
//   first MODE WHERE
//
// MODE is the capture's: global, thread, relaxed. WHERE is the launch: inside (the capture itself),
// beside (another thread, a stream of its own), default (another thread, the default stream), own
// (the same thread, another stream).
#include <cstdio>
#include <cstring>
#include <thread>

__global__ void fill(int *out, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i * k;
}
__global__ void other(int *out) { out[threadIdx.x] = 5; }

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  cudaStreamCaptureMode mode = !strcmp(argv[1], "global")  ? cudaStreamCaptureModeGlobal
                               : !strcmp(argv[1], "thread") ? cudaStreamCaptureModeThreadLocal
                                                            : cudaStreamCaptureModeRelaxed;
  const int n = 1 << 16;
  int *out, *more;
  cudaMalloc(&out, n * 4), cudaMalloc(&more, 4096);
  cudaMemset(out, 0xee, n * 4), cudaMemset(more, 0, 4096), cudaDeviceSynchronize();
  cudaStream_t s, t;
  cudaStreamCreate(&s), cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
  printf("begin %d\n", cudaStreamBeginCapture(s, mode));
  other<<<1, 64, 0, s>>>(more);
  auto launch = [&](cudaStream_t q) {
    fill<<<n / 256, 256, 0, q>>>(out, n, 3);
    printf("launch %d\n", cudaGetLastError());
    fill<<<n / 256, 256, 0, q>>>(out, n, 7);
    printf("again %d\n", cudaGetLastError());
  };
  if (!strcmp(argv[2], "inside")) launch(s);
  else if (!strcmp(argv[2], "own")) launch(t);
  else std::thread([&] { launch(!strcmp(argv[2], "beside") ? t : 0); }).join();
  cudaGraph_t g = 0;
  cudaGraphExec_t x = 0;
  size_t nodes = 0;
  printf("end %d\n", cudaStreamEndCapture(s, &g));
  if (g) {
    cudaGraphGetNodes(g, 0, &nodes);
    printf("%zu nodes, instantiate %d", nodes, cudaGraphInstantiate(&x, g, 0));
    printf(", launch %d\n", cudaGraphLaunch(x, s));
  }
  cudaGetLastError();
  printf("sync %d\n", cudaDeviceSynchronize());
  static int host[n];
  cudaMemcpy(host, out, n * 4, cudaMemcpyDeviceToHost);
  long seven = 0;
  for (int i = 0; i < n; i++) seven += host[i] == i * 7;
  printf("%ld of %d right, %d\n", seven, n, cudaGetLastError());
}
