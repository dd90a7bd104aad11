# make build     bin/gnvcc, and bin/gnvcc-oci, which speaks with registries for gnvcc push and gnvcc pull
# make test      everything that can be tested here; a CUDA toolkit is installed first where there is none of ours
# make check     for each commit: the tests that find most in a minute
# make demo      the examples, built with nvcc and with gnvcc; tuned and compared where there is a GPU
# make lint      gofmt, go vet, go mod tidy, staticcheck (where it is installed)
# make fmt       gofmt -w
# make bench     Go benchmarks
# make install   both to $(PREFIX)/bin, its completions below $(PREFIX)/share, a unit for systemctl --user; make uninstall takes them away
# make dist      dist/: tarballs and Python wheels for amd64 and arm64, and their checksums
# make notice    NOTICE: the licences of what is linked in
PREFIX   ?= /usr/local
# 1.0.0 on the commit that has the tag v1.0.0, else 1.0.0+gCOMMIT, with .dirty where files have changed.
RELEASE  := $(shell sed -n 's/^const ownRelease = "\(.*\)"/\1/p' cmd/gnvcc/help.go 2>/dev/null)
COMMIT   := $(shell git describe --always --dirty=.dirty --exclude '*' --abbrev=12 2>/dev/null)
TAGGED   := $(shell git describe --exact-match --dirty --match 'v$(RELEASE)' 2>/dev/null)
VERSION  ?= $(RELEASE)$(if $(filter v$(RELEASE),$(TAGGED)),,$(if $(RELEASE),$(if $(COMMIT),+g$(COMMIT))))
# Where git refuses to speak (another user's folder, as in a container), go build would end on that.
VCS      := $(shell git rev-parse HEAD >/dev/null 2>&1 || echo -buildvcs=false)
BUILD     = $(GO) build -trimpath $(VCS) -ldflags '-s -w$(if $(VERSION), -X main.version=$(VERSION))'
# Toolkits that the tests want: one is enough, each further one (install/toolkit --list) makes more of them run.
TOOLKITS ?= 13.0
# Further options of go test, and what runs it: GOTEST='gotestsum --' prints less. Some packages wait more than they
# compute: one more of them than there are processors goes at a time.
TESTFLAGS ?= -p $(shell echo $$(($$(nproc) + 1)))
GOTEST   ?= $(GO) test
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

# make lint runs go vet.
test: go toolkits
	$(GOTEST) -timeout 60m -vet off $(TESTFLAGS) ./...
	cd bench && $(GOTEST) -timeout 60m -vet off $(TESTFLAGS) ./...

# What takes a minute on two processors: sizes and layout, the passes' goldens and every lever on every toolkit's
# ptxas, the analyses, what levers try, the search on a simulated GPU, decisions, reports, stages as a build calls them.
CHECK = . ./graph ./rewrite/recipe ./rewrite/manner ./rewrite/ptx/... ./rewrite/refuse ./rewrite/hazard ./rewrite/merge \
	./rewrite/stub ./rewrite/counters ./policy ./policy/lever ./policy/measure ./policy/check ./policy/stats ./policy/decide \
	./policy/search ./policy/report ./policy/compare ./policy/selection ./policy/retune ./policy/watch ./driver/standing \
	./driver/toolcmd ./driver/record ./driver/apply ./sim ./sim/emulate ./sim/sass ./cache/lock
check: go toolkits
	$(GOTEST) -vet off $(TESTFLAGS) $(CHECK)
	$(GOTEST) -vet off -run 'TestGoldens$$|EveryLever|Passes|Order|Verify|Exactness' ./rewrite

lint: go
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt'ed: $$unformatted" >&2; exit 1; fi
	$(GO) vet ./... && (cd bench && $(GO) vet ./...)
	$(GO) mod tidy -diff && (cd bench && $(GO) mod tidy -diff)
	@if command -v staticcheck >/dev/null; then staticcheck ./... && (cd bench && staticcheck ./...); \
	else echo "staticcheck is not installed: skipped (go install honnef.co/go/tools/cmd/staticcheck@latest)"; fi

fmt: go
	gofmt -w $$(git ls-files '*.go')

bench: go toolkits
	$(GO) test -run '^$$' -bench . ./...

# What make install puts below $(PREFIX)/share: completions.
SHARED = bash-completion/completions/gnvcc zsh/site-functions/_gnvcc fish/vendor_completions.d/gnvcc.fish

# A unit for systemctl --user, which nobody starts but the user. systemd looks in the share folders of ~/.local,
# /usr/local and /usr, and in no lib folder but those of the last two.
UNIT = share/systemd/user/gnvcc-watch.service

CMAKE = share/gnvcc/gnvcc.cmake

demo: bin/gnvcc
	@examples/demo

install: bin/gnvcc
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 bin/gnvcc $(DESTDIR)$(PREFIX)/bin/gnvcc
	@# A bin/gnvcc that was carried here may have come alone.
	if [ -x bin/gnvcc-oci ]; then install -m 755 bin/gnvcc-oci $(DESTDIR)$(PREFIX)/bin/gnvcc-oci; fi
	@$(MAKE) -s pages

# What a program says of itself, and the unit, below $(PREFIX).
PROGRAM ?= $(DESTDIR)$(PREFIX)/bin/gnvcc
BINDIR  ?= $(PREFIX)/bin
pages:
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/,$(dir $(SHARED)))
	@# From a folder that holds these only: a verb that is a file's name is an input.
	program=$$(realpath $(PROGRAM)) && cd $(DESTDIR)$(PREFIX)/share/bash-completion/completions && \
	  "$$program" completion bash >gnvcc && \
	  "$$program" completion zsh >../../zsh/site-functions/_gnvcc && \
	  "$$program" completion fish >../../fish/vendor_completions.d/gnvcc.fish
	install -d $(DESTDIR)$(PREFIX)/$(dir $(UNIT))
	sed 's|@BINDIR@|$(BINDIR)|' install/gnvcc-watch.service >$(DESTDIR)$(PREFIX)/$(UNIT)
	install -d $(DESTDIR)$(PREFIX)/$(dir $(CMAKE))
	install -m 644 install/gnvcc.cmake $(DESTDIR)$(PREFIX)/$(CMAKE)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/gnvcc $(DESTDIR)$(PREFIX)/bin/gnvcc-oci $(addprefix $(DESTDIR)$(PREFIX)/share/,$(SHARED)) $(DESTDIR)$(PREFIX)/$(UNIT) $(DESTDIR)$(PREFIX)/$(CMAKE)

# dist/: for amd64 and arm64 a tarball and a Python wheel. Two runs on one commit give the same bytes.
DIST ?= dist
dist: go
	rm -rf $(DIST)
	mkdir -p $(DIST)/.work && touch $(DIST)/.work/go.mod
	for arch in amd64 arm64; do \
	  for program in gnvcc gnvcc-oci; do \
	    GOOS=linux GOARCH=$$arch $(BUILD) -o $(DIST)/.work/$$arch/$$program ./cmd/$$program || exit 1; done; \
	done
	$(GO) run $(VCS) ./install/packages -version '$(or $(VERSION),0)' -out $(DIST) \
	  amd64=$(DIST)/.work/amd64 arm64=$(DIST)/.work/arm64
	rm -r $(DIST)/.work
	cd $(DIST) && sha256sum * >SHA256SUMS

notice: go
	install/notice >NOTICE.new && mv NOTICE.new NOTICE

clean:
	rm -rf bin dist

FORCE:
.PHONY: build go toolkits test check lint fmt bench demo install pages uninstall dist notice clean FORCE
