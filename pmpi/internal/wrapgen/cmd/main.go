// Command cmd writes the generated C files into the directory given.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cohort-debugger/cohort/pmpi/internal/wrapgen"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: cmd DIRECTORY")
		os.Exit(2)
	}
	for name, text := range wrapgen.Files() {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
