package main

import (
	"context"
	"errors"

	"gnvcc/cache"
	"gnvcc/driver"
)

func printPatches(found []cache.Decision) int { return 0 }

func patchOf(ctx context.Context, c *compiler, known map[string]driver.BuiltKernel, d cache.Decision) (string, error) {
	return "", errors.New("todo")
}
