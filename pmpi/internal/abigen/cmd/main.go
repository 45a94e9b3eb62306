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
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		text, err = abigen.Generate(text)
	}
	if err == nil {
		err = os.WriteFile(os.Args[2], text, 0o600)
	}
	if err != nil {
		log.Fatal(err)
	}
}
