// Package units measures this machine's GPU: what the special function units are worth (throughput
// and error of each function that gnvcc can approximate, accurate and approximate; Li, thesis,
// section 6.3), and latencies, rates and the effect of occupancy of a multiprocessor, which
// predictions rest on. The programs that measure are CUDA, stand in source/ and are built by the
// user's nvcc. Callers: gnvcc doctor --measure, policy/predicted (for the type).
//
// Files: units.go functions, code.go their machine code, machine.go the multiprocessor.
package units
