package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// What an artefact is to a registry: a manifest with the index as its config, the shards as its
// layers, and signature and last day as annotations.
const (
	artefactType  = "application/vnd.gnvcc.recipes.v1"
	capturesType  = "application/vnd.gnvcc.captures.v1"
	indexType     = "application/vnd.gnvcc.index.v1+json"
	shardType     = "application/vnd.gnvcc.shard.v1+zstd"
	filesType     = "application/vnd.gnvcc.files.v1+tar"
	signatureNote = "gnvcc.signature"
	expiresNote   = "gnvcc.expires" // for whoever cleans the registry; what counts is in the index
)

// Names in the folder that gnvcc and this program share.
const (
	indexName     = "index"
	signatureName = "signature"
	shardsName    = "shards"
	haveName      = "have.json"
	pulledName    = "pulled.json"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("the registry did not answer in time: %w", err)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("gnvcc-oci", flag.ContinueOnError)
	timeout := fs.Duration("timeout", time.Minute, "for all of it")
	if err := fs.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	args = fs.Args()
	switch {
	case len(args) == 4 && args[0] == "push":
		r, err := open(args[1])
		if err != nil {
			return err
		}
		return r.push(ctx, args[2], args[3])
	case len(args) == 4 && args[0] == "pull":
		r, err := open(args[1])
		if err != nil {
			return err
		}
		return r.pull(ctx, args[2], args[3])
	}
	return errors.New("gnvcc-oci is run by gnvcc push and gnvcc pull: use these")
}
