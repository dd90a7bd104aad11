# make build     bin/gnvcc, and bin/gnvcc-oci, which speaks with registries for gnvcc push and gnvcc pull
# make test      everything that can be tested here; a CUDA toolkit is installed first where there is none of ours
# make demo      the examples, built with nvcc and with gnvcc; tuned and compared where there is a GPU
# make lint      gofmt, go vet, go mod tidy, staticcheck (where it is installed)
# make bench     Go benchmarks
# make install   both to $(PREFIX)/bin, its manual page and completions below $(PREFIX)/share, a unit for systemctl --user; make uninstall takes them away
# make dist      dist/: static binaries for amd64 and arm64, with licences, and their checksums
# make notice    NOTICE: the licences of what is linked in
PREFIX   ?= /usr/local
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null)
# Where git refuses to speak (another user's folder, as in a container), go build would end on that.
VCS      := $(shell git rev-parse HEAD >/dev/null 2>&1 || echo -buildvcs=false)
BUILD     = $(GO) build -trimpath $(VCS) -ldflags '-s -w$(if $(VERSION), -X main.version=$(VERSION))'
# Toolkits that the tests want: one is enough, each further one (install/toolkit --list) makes more of them run.
TOOLKITS ?= 13.0
# Further options of go test.
TESTFLAGS ?=
GO       ?= go
export CGO_ENABLED = 0

build: bin/gnvcc

# Without Go a bin/gnvcc that was carried here (it is static) is as good as one built here.
bin/gnvcc: FORCE
	@if command -v $(GO) >/dev/null; then \
	  mkdir -p bin && $(BUILD) -o bin/gnvcc ./cmd/gnvcc && $(BUILD) -o bin/gnvcc-oci ./cmd/gnvcc-oci; \
	elif [ -x bin/gnvcc ]; then echo "no Go here: taking bin/gnvcc as it is"; \
	else echo "gnvcc is written in Go: install Go 1.25 or newer (https://go.dev/dl), or copy a bin/gnvcc here" >&2; exit 1; fi

go:
	@command -v $(GO) >/dev/null || { echo "the tests need Go 1.25 or newer (https://go.dev/dl)" >&2; exit 1; }

toolkits:
	@for version in $(TOOLKITS); do install/toolkit $$version || exit 1; done

test: go toolkits
	$(GO) vet ./...
	$(GO) test -timeout 40m $(TESTFLAGS) ./...

lint: go
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt'ed: $$unformatted" >&2; exit 1; fi
	$(GO) vet ./...
	$(GO) mod tidy -diff
	@if command -v staticcheck >/dev/null; then staticcheck ./...; \
	else echo "staticcheck is not installed: skipped (go install honnef.co/go/tools/cmd/staticcheck@latest)"; fi

bench: go toolkits
	$(GO) test -run '^$$' -bench . ./...

# What make install puts below $(PREFIX)/share: manual page and completions.
SHARED = man/man1/gnvcc.1 bash-completion/completions/gnvcc zsh/site-functions/_gnvcc fish/vendor_completions.d/gnvcc.fish

# A unit for systemctl --user, which nobody starts but the user.
UNIT = lib/systemd/user/gnvcc-watch.service

demo: bin/gnvcc
	@examples/demo

install: bin/gnvcc
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 bin/gnvcc $(DESTDIR)$(PREFIX)/bin/gnvcc
	@# A bin/gnvcc that was carried here may have come alone.
	if [ -x bin/gnvcc-oci ]; then install -m 755 bin/gnvcc-oci $(DESTDIR)$(PREFIX)/bin/gnvcc-oci; fi
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/,$(dir $(SHARED)))
	@# From a folder that holds pages only: a verb that is a file's name is an input.
	cd $(DESTDIR)$(PREFIX)/share/man/man1 && ../../../bin/gnvcc man >gnvcc.1 && \
	  ../../../bin/gnvcc completion bash >../../bash-completion/completions/gnvcc && \
	  ../../../bin/gnvcc completion zsh >../../zsh/site-functions/_gnvcc && \
	  ../../../bin/gnvcc completion fish >../../fish/vendor_completions.d/gnvcc.fish
	install -d $(DESTDIR)$(PREFIX)/$(dir $(UNIT))
	sed 's|@BINDIR@|$(PREFIX)/bin|' install/gnvcc-watch.service >$(DESTDIR)$(PREFIX)/$(UNIT)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/gnvcc $(DESTDIR)$(PREFIX)/bin/gnvcc-oci $(addprefix $(DESTDIR)$(PREFIX)/share/,$(SHARED)) $(DESTDIR)$(PREFIX)/$(UNIT)

# Two runs on one commit give the same bytes.
NAME  = gnvcc-$(if $(VERSION),$(VERSION),unknown)-linux
DIST ?= dist
dist: go
	rm -rf $(DIST)
	for arch in amd64 arm64; do \
	  mkdir -p $(DIST)/$(NAME)-$$arch && cp -r LICENSE NOTICE README.md CHANGELOG.md docs $(DIST)/$(NAME)-$$arch && \
	  for program in gnvcc gnvcc-oci; do \
	    GOOS=linux GOARCH=$$arch $(BUILD) -o $(DIST)/$(NAME)-$$arch/$$program ./cmd/$$program || exit 1; done && \
	  tar -C $(DIST) --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - $(NAME)-$$arch | gzip -n >$(DIST)/$(NAME)-$$arch.tar.gz && \
	  rm -r $(DIST)/$(NAME)-$$arch || exit 1; \
	done
	cd $(DIST) && sha256sum *.tar.gz >SHA256SUMS

notice: go
	install/notice >NOTICE.new && mv NOTICE.new NOTICE

clean:
	rm -rf bin dist

FORCE:
.PHONY: build go toolkits test lint bench demo install uninstall dist notice clean FORCE
