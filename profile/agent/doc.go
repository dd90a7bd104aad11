// Package agent holds the agent's C source and builds it. The agent is a small library that the
// CUDA driver loads into an application (CUDA_INJECTION64_PATH); it captures launches, measures and
// compares, and takes no decision. agent.h says which file does what. Callers: cmd/gnvcc builds it
// once per toolkit; profile runs it.
package agent
