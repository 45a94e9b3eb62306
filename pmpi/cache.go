package pmpi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/internal/lifetime"
	"github.com/cohort-debugger/cohort/internal/privatedir"
)

// The cache holds libcohort-HASH/libcohort.so, and building-PROCESS-* while PROCESS (lifetime.Process) builds or
// cleans. A home directory may be shared by many hosts, so processes of other hosts are judged by the age of what they
// have made, by the file system's clock.
const (
	libraryPrefix  = "libcohort-"
	buildingPrefix = "building-"
	libraryName    = "libcohort.so"

	unusedTime    = 30 * 24 * time.Hour // a library that was not used for so long is dropped
	touchTime     = 24 * time.Hour      // how exactly uses are noted
	abandonedTime = 24 * time.Hour      // no build takes that long (compileTimeout)
)

// cached reports whether the library in dir is there, and notes that it is used: in its time of access, which is that
// of the last load as well, where the file system keeps it. One that somebody else could have put there is an error.
func cached(dir string) (bool, error) {
	path := filepath.Join(dir, libraryName)
	if _, err := os.Lstat(path); err != nil {
		return false, nil //nolint:nilerr // it is built then
	}
	// A link is the user's, as the cache is: what it leads to must be too.
	target, err := filepath.EvalSymlinks(dir)
	if err == nil {
		err = privatedir.Check(target)
	}
	if err != nil {
		return false, fmt.Errorf("using a library of the cache: %w", err)
	}
	if time.Since(lastUse(dir)) < touchTime {
		return true, nil
	}
	// now, by the file system's clock
	now, leave := unix.Timespec{Nsec: unix.UTIME_NOW}, unix.Timespec{Nsec: unix.UTIME_OMIT}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{now, leave}, 0); err != nil {
		return false, nil //nolint:nilerr // it was dropped just before
	}
	_, err = os.Stat(path)
	return err == nil, nil
}

// ownFolder makes a folder of this process's in the cache.
func ownFolder(cache string) (string, error) {
	dir, err := os.MkdirTemp(cache, buildingPrefix+lifetime.Self().String()+"-")
	if err != nil {
		return "", fmt.Errorf("making a folder in the cache: %w", err)
	}
	return dir, nil
}

// clean removes from the cache what builds that were killed have left, and libraries that nobody has used for long.
// Processes that have such a library mapped keep it; one that wants it later builds it again. What cannot be removed
// stays for the next time. now is the file system's time.
func clean(cache string, now time.Time) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return
	}
	var unused []string
	for _, e := range entries {
		path := filepath.Join(cache, e.Name())
		switch {
		case !e.IsDir():
		case strings.HasPrefix(e.Name(), buildingPrefix):
			if leftBehind(path, now) {
				os.RemoveAll(path)
			}
		case strings.HasPrefix(e.Name(), libraryPrefix):
			if now.Sub(lastUse(path)) > unusedTime {
				unused = append(unused, path)
			}
		}
	}
	if len(unused) > 0 {
		drop(cache, unused, now)
	}
}

// leftBehind reports whether nobody works in a building-* folder any more.
func leftBehind(path string, now time.Time) bool {
	if maker, ok := lifetime.Parse(strings.TrimPrefix(filepath.Base(path), buildingPrefix)); ok {
		if gone, known := maker.Gone(); known {
			return gone
		}
	}
	info, err := os.Lstat(path)
	return err == nil && now.Sub(info.ModTime()) > abandonedTime
}

// lastUse is when the library in dir was last used or made.
func lastUse(dir string) time.Time {
	var s unix.Stat_t
	if err := unix.Stat(filepath.Join(dir, libraryName), &s); err != nil {
		if info, err := os.Lstat(dir); err == nil {
			return info.ModTime() // of no use to anybody without its library
		}
		return time.Time{}
	}
	access, change := time.Unix(s.Atim.Unix()), time.Unix(s.Mtim.Unix())
	if access.After(change) {
		return access
	}
	return change
}

// drop removes libraries: out of sight at once, and then for good, unless somebody has come to use one in between.
func drop(cache string, unused []string, now time.Time) {
	trash, err := ownFolder(cache)
	if err != nil {
		return
	}
	defer os.RemoveAll(trash)
	for _, path := range unused {
		moved := filepath.Join(trash, filepath.Base(path))
		if err := os.Rename(path, moved); err != nil {
			continue
		}
		if now.Sub(lastUse(moved)) <= unusedTime {
			_ = os.Rename(moved, path) // if it cannot go back, it is built again
		}
	}
}
