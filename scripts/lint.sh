#!/usr/bin/env bash
# scripts/lint.sh GOLANGCI-LINT-VERSION GOFUMPT-VERSION: runs the linters, after installing those versions where they are not there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
golangci_version=$1 gofumpt_version=$2
bin=$(go env GOBIN)
bin=${bin:-$(go env GOPATH)/bin}

if ! "$bin/golangci-lint" version 2>/dev/null | grep -qF "version ${golangci_version#v} "; then
    echo "lint: builds golangci-lint $golangci_version (a few minutes, once)" >&2
    go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$golangci_version"
fi
if ! "$bin/gofumpt" --version 2>/dev/null | grep -qF "$gofumpt_version "; then
    echo "lint: builds gofumpt $gofumpt_version" >&2
    go install "mvdan.cc/gofumpt@$gofumpt_version"
fi

status=0
unformatted=$("$bin/gofumpt" -l .)
if [ -n "$unformatted" ]; then
    printf 'lint: gofumpt -w would change %s\n' $unformatted >&2
    status=1
fi
"$bin/golangci-lint" run ./... || status=1
exit $status
