// Command cmd writes the generated C files into the directory given.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/cohort-debugger/cohort/pmpi/internal/wrapgen"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: cmd DIRECTORY")
	}
	for name, text := range wrapgen.Files() {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
	}
}
