// Command cmd writes the Go file given second from the C header given first.
package main

import (
	"log"
	"os"

	"github.com/cohort-debugger/cohort/pmpi/internal/abigen"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: cmd HEADER GOFILE")
	}
	header, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	text, err := abigen.Generate(header)
	if err != nil {
		log.Fatalf("%s: %v", os.Args[1], err)
	}
	if err := os.WriteFile(os.Args[2], text, 0o600); err != nil {
		log.Fatal(err)
	}
}
