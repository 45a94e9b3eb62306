# Cohort. Each of demo, test, build, vsix and lint is enough on its own on a Debian or Ubuntu that has Go: it installs
# what it needs first (scripts/setup.sh).
#
#   make demo    set up, build, and show the main job on each MPI, step by step
#   make test    set up, and run all tests, with the race detector
#   make short   the tests that take little time, of whatever is installed
#   make bench-replay   what recording and replaying cost, measured: docs/bench-replay.md (a quarter of an hour, on a
#                quiet machine);
#                BENCH=-quick prints a smaller table in a minute or two, BENCH=-h says what else there is
#   make bench-datatypes   what datatypes cost a program, and how fast they are decoded: docs/bench-datatypes.md (some
#                minutes, on a quiet machine);
#                BENCH=-quick as above
#   make bench-debug   what debugging all ranks costs, beside bare gdb processes: docs/bench-debug.md (an hour, on a quiet
#                machine); BENCH=-quick as above, BENCH='-ranks 8,32 -o docs/bench-debug.md' for fewer ranks
#   make lint    golangci-lint and gofumpt
#   make build   bin/cohort
#   make man     man pages in bin/man
#   make vsix    the VS Code extension as a .vsix
#   make setup   only install what is missing, for all of these

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

# Go's archives unpack to /usr/local/go, which is not on every PATH (that of sudo, for one).
export PATH := $(PATH):/usr/local/go/bin

GOLANGCI_LINT_VERSION := v2.15.0
GOFUMPT_VERSION := v0.12.0

# Go stamps the commit into the binary, but fails where git refuses to say it (a checkout of another user's).
ifneq ($(shell git rev-parse HEAD >/dev/null 2>&1 && echo yes),yes)
export GOFLAGS := $(GOFLAGS) -buildvcs=false
endif

# What bench-replay is given.
BENCH ?= -o docs/bench-replay.md

.PHONY: all demo test short bench-replay bench-datatypes bench-debug lint build man vsix setup clean
all: build

demo:
	scripts/setup.sh go mpi node
	$(MAKE) build
	scripts/demo.sh

test:
	scripts/setup.sh go mpi node
	$(MAKE) build
	scripts/test.sh

short:
	scripts/setup.sh go
	go test -short ./...

bench-replay:
	scripts/setup.sh go mpi
	go build -o bin/benchreplay ./bench/benchreplay/cmd
	bin/benchreplay $(BENCH)

bench-datatypes: BENCH := $(if $(filter command line environment,$(origin BENCH)),$(BENCH),-o docs/bench-datatypes.md)
bench-datatypes:
	scripts/setup.sh go mpi
	go build -o bin/benchdatatypes ./bench/benchdatatypes/cmd
	bin/benchdatatypes $(BENCH)

bench-debug: BENCH := $(if $(filter command line environment,$(origin BENCH)),$(BENCH),-o docs/bench-debug.md)
bench-debug: build
	scripts/setup.sh go mpi
	go build -o bin/benchdebug ./bench/benchdebug/cmd
	bin/benchdebug $(BENCH)

lint:
	scripts/setup.sh go
	scripts/lint.sh $(GOLANGCI_LINT_VERSION) $(GOFUMPT_VERSION)

# Static, so that it runs on every host of a job whatever libraries that has.
build:
	scripts/setup.sh go
	CGO_ENABLED=0 go build -o bin/cohort ./cmd/cohort

man: build
	bin/cohort man bin/man

vsix:
	scripts/setup.sh node
	scripts/vscode.sh vsix

setup:
	scripts/setup.sh go mpi node

clean:
	rm -rf bin vscode/dist vscode/out vscode/*.vsix
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/cohort-test"
