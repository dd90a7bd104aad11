// Package nsight reads what other profilers wrote: Nsight Compute's CSV (ncu --csv --page raw, and
// --page details), and the CSV of nsys stats (cuda_gpu_kern_sum, cuda_gpu_trace); it runs nsys
// where there is only a report. Beside these it reads what gnvcc profile --json printed. All of
// them come down to the same: which kernels took how much of the GPU's time, in which shapes, on
// which GPU.
//
// Such files come from anywhere, and from any version of their tools: columns are found by their
// names, in any order, with whatever stands in front of the header; a row that makes no sense is
// left out and counted; no number is believed that is no time. The names that these tools give
// kernels are demangled in NVIDIA's own way, or cut down to the function's name: [Profile.Share]
// says what a kernel's part of the time is by whichever of them there is.
//
// Callers: cmd/gnvcc (tune --profile, watch). It imports no other room.
package nsight
