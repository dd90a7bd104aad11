package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// A repository is one of a registry's.
type repository struct {
	*remote.Repository
	tag string // "" where all are meant
}

// open reads HOST/REPO or HOST/REPO:TAG. A registry on this machine has no TLS, as for docker.
func open(reference string) (*repository, error) {
	repo, err := remote.NewRepository(reference)
	if err != nil {
		return nil, fmt.Errorf("%s is no repository of a registry: %w", reference, err)
	}
	host, _, err := net.SplitHostPort(repo.Reference.Registry)
	if err != nil {
		host = repo.Reference.Registry
	}
	ip := net.ParseIP(host)
	repo.PlainHTTP = host == "localhost" || ip != nil && ip.IsLoopback()
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	base.ResponseHeaderTimeout = 30 * time.Second
	repo.Client = &auth.Client{Client: &http.Client{Transport: retry.NewTransport(base)},
		Cache: auth.NewCache(), Credential: credential(repo.Reference.Repository)}
	return &repository{repo, repo.Reference.Reference}, nil
}

// authFiles are where podman and docker keep credentials, in podman's order
// (containers-auth.json(5)).
func authFiles() []string {
	if file := os.Getenv("REGISTRY_AUTH_FILE"); file != "" {
		return []string{file}
	}
	home, _ := os.UserHomeDir()
	var files []string
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		files = append(files, filepath.Join(dir, "containers", "auth.json"))
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(home, ".config")
	}
	files = append(files, filepath.Join(config, "containers", "auth.json"))
	docker := os.Getenv("DOCKER_CONFIG")
	if docker == "" {
		docker = filepath.Join(home, ".docker")
	}
	return append(files, filepath.Join(docker, "config.json"))
}

// credential looks one up for a host. podman's may be for a part of it: host/team before host.
func credential(repo string) auth.CredentialFunc {
	return func(ctx context.Context, host string) (auth.Credential, error) {
		for _, file := range authFiles() {
			if _, err := os.Stat(file); err != nil {
				continue
			}
			store, err := credentials.NewStore(file, credentials.StoreOptions{})
			if err != nil {
				return auth.EmptyCredential, fmt.Errorf("read credentials from %s: %w", file, err)
			}
			for part := repo; ; part = part[:max(0, strings.LastIndexByte(part, '/'))] {
				key := strings.TrimSuffix(host+"/"+part, "/")
				if part == "" {
					key = credentials.ServerAddressFromHostname(host)
				}
				found, err := store.Get(ctx, key)
				if err != nil {
					return auth.EmptyCredential, fmt.Errorf("ask for the credentials of %s (%s): %w", key, file,
						err)
				}
				if found != auth.EmptyCredential {
					return found, nil
				}
				if part == "" {
					break
				}
			}
		}
		return auth.EmptyCredential, nil
	}
}
