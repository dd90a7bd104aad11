package replay

import (
	"context"
	"embed"

	"gnvcc/profile/agent"
)

//go:embed source/*.c source/*.h
var source embed.FS

// Build builds the replayer for a toolkit into the folder out, unless it is there already, and
// gives its path.
func Build(ctx context.Context, root, out string) (string, error) {
	return agent.BuildProgram(ctx, root, out, "replay", source)
}
