# make build     bin/gnvcc
# make test      everything that can be tested here; a CUDA toolkit is installed first where there is none of ours
# make demo      the examples, built with nvcc and with gnvcc; tuned and compared where there is a GPU
# make lint      gofmt, go vet, staticcheck (where it is installed)
# make bench     Go benchmarks
# make install   bin/gnvcc to $(PREFIX)/bin
PREFIX   ?= /usr/local
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# Toolkits that the tests want: one is enough, each further one (install/toolkit --list) makes more of them run.
TOOLKITS ?= 13.0
GO       ?= go
export CGO_ENABLED = 0

build: bin/gnvcc

# Without Go a bin/gnvcc that was carried here (it is static) is as good as one built here.
bin/gnvcc: FORCE
	@if command -v $(GO) >/dev/null; then \
	  mkdir -p bin && $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/gnvcc ./cmd/gnvcc; \
	elif [ -x bin/gnvcc ]; then echo "no Go here: taking bin/gnvcc as it is"; \
	else echo "gnvcc is written in Go: install Go 1.25 or newer (https://go.dev/dl), or copy a bin/gnvcc here" >&2; exit 1; fi

go:
	@command -v $(GO) >/dev/null || { echo "the tests need Go 1.25 or newer (https://go.dev/dl)" >&2; exit 1; }

toolkits:
	@for version in $(TOOLKITS); do install/toolkit $$version || exit 1; done

test: go toolkits
	$(GO) vet ./...
	$(GO) test -timeout 40m ./...

lint: go
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt'ed: $$unformatted" >&2; exit 1; fi
	$(GO) vet ./...
	@if command -v staticcheck >/dev/null; then staticcheck ./...; \
	else echo "staticcheck is not installed: skipped (go install honnef.co/go/tools/cmd/staticcheck@latest)"; fi

bench: go toolkits
	$(GO) test -run '^$$' -bench . ./...

demo: bin/gnvcc
	@examples/demo

install: bin/gnvcc
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 bin/gnvcc $(DESTDIR)$(PREFIX)/bin/gnvcc

clean:
	rm -rf bin

FORCE:
.PHONY: build go toolkits test lint bench demo install clean FORCE
