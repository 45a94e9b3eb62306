// Package privatedir makes and checks directories whose content is trusted because nobody else can put anything there:
// libraries that are loaded, scripts that are run, the token of a job.
package privatedir

import (
	"fmt"
	"os"
	"syscall"
)

// Make makes the directory with those above it, unless it is there, and checks it.
func Make(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err //nolint:wrapcheck // it says what and where
	}
	return Check(path)
}

// Check returns an error unless path is a directory, not a link to one, that belongs to this user and has mode 0700.
func Check(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err //nolint:wrapcheck // it says what and where
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", path)
	case !ok || int(stat.Uid) != os.Getuid():
		return fmt.Errorf("the directory %s belongs to another user", path)
	case info.Mode().Perm() != 0o700:
		return fmt.Errorf("the directory %s has mode %#o: it must have mode 0700, so that nobody else has access "+
			"(chmod 700)", path, info.Mode().Perm())
	}
	return nil
}
