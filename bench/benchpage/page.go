// Package benchpage keeps the pages in docs/ that benchmarks write: tables are written anew, what people wrote below a
// mark stays.
package benchpage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write replaces a page ("" is standard output) by what markdown writes, which is given the notes: what follows the
// line mark in the page that is there. The page is replaced at once or not at all.
func Write(page, mark string, markdown func(w io.Writer, notes string) error) error {
	if page == "" {
		return markdown(os.Stdout, "")
	}
	before, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading what people wrote into the page: %w", err)
	}
	_, notes, _ := strings.Cut(string(before), mark+"\n")
	file, err := os.CreateTemp(filepath.Dir(page), ".bench-")
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // renamed, or of no use
	if err := errors.Join(markdown(file, notes), file.Chmod(0o644), file.Close()); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	if err := os.Rename(file.Name(), page); err != nil {
		return fmt.Errorf("putting the page into place: %w", err)
	}
	return nil
}
