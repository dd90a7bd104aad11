// Package units measures what the special function units of this machine's GPU are worth: throughput and error of each function that
// gnvcc can approximate, accurate and approximate (Li, thesis, section 6.3). The program that measures is CUDA, stands in source/ and is
// built by the user's nvcc. Caller: gnvcc doctor -measure.
package units
