// The command line.

package main

import (
	"context"
	"fmt"

	"gnvcc/bench/lab"
)

func main() { lab.Main("tiles", run) }

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "make":
			return makeFiles(ctx, args[1:])
		case "fit":
			return fit(args[1:])
		}
	}
	return fmt.Errorf("tiles make FOLDER, or tiles fit FOLDER (see doc.go)")
}
