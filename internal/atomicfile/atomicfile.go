// Package atomicfile makes files that appear under their name complete, or not at all.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// TempPrefix begins the name of a file that is being written.
const TempPrefix = ".cohort-tmp-"

// Write replaces path by a file with the given content, of mode 0644: it is written beside it, forced to disk, and
// renamed.
func Write(path string, content []byte) error {
	return Make(path, func(f *os.File) error {
		if _, err := f.Write(content); err != nil {
			return err //nolint:wrapcheck // callers say what was being written
		}
		return f.Chmod(0o644)
	})
}

// Make is like Write; write fills the file, whose mode is 0600.
func Make(path string, write func(*os.File) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, TempPrefix+filepath.Base(path)+"-*")
	if err != nil {
		return err //nolint:wrapcheck // callers say what was being written
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(dir)
}

// SyncDir forces the names in a directory to disk.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err //nolint:wrapcheck // callers say what was being written
	}
	return errors.Join(d.Sync(), d.Close())
}
