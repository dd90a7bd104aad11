// Package kits finds the CUDA toolkits of this machine, for tests: those that install/toolkit has
// put here, or the user's own. A test that finds none is skipped, and says how to get one. Only
// tests, and packages for tests, import it.
package kits
