//go:build !(linux && amd64)

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "typewatch: Linux on x86-64 is needed: it plants breakpoints itself")
	os.Exit(2) //nolint:forbidigo // this is a command
}
