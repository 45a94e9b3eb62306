package pmpi

import (
	"bufio"
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// librarySearch finds a library as ld.so does: DT_RPATH and DT_RUNPATH, LD_LIBRARY_PATH, the directories of
// /etc/ld.so.conf (what the cache is made from), and the built-in ones.
type librarySearch struct {
	environment []string
	system      []string
}

func newLibrarySearch() librarySearch {
	var s librarySearch
	for dir := range strings.SplitSeq(os.Getenv("LD_LIBRARY_PATH"), ":") {
		if dir != "" {
			s.environment = append(s.environment, dir)
		}
	}
	s.system = append(confDirs("/etc/ld.so.conf", 0), "/lib64", "/usr/lib64", "/lib", "/usr/lib")
	return s
}

func (s librarySearch) candidates(needed string, dirs []string) []string {
	if strings.Contains(needed, "/") {
		return []string{needed}
	}
	var paths []string
	for _, list := range [][]string{dirs, s.environment, s.system} {
		for _, dir := range list {
			paths = append(paths, filepath.Join(dir, needed))
		}
	}
	return paths
}

// isSystem tells whether the loader looks into dir by itself.
func (s librarySearch) isSystem(dir string) bool {
	return slices.ContainsFunc(s.system, func(d string) bool { return filepath.Clean(d) == filepath.Clean(dir) })
}

func runPaths(file *elf.File, path string) []string {
	origin := filepath.Dir(path)
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		origin = filepath.Dir(resolved)
	}
	var dirs []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		values, err := file.DynString(tag)
		if err != nil {
			continue // no dynamic section: no run path
		}
		for _, value := range values {
			for dir := range strings.SplitSeq(value, ":") {
				dir = strings.NewReplacer("${ORIGIN}", origin, "$ORIGIN", origin, "${LIB}", "lib/x86_64-linux-gnu",
					"$LIB", "lib/x86_64-linux-gnu").Replace(dir)
				if dir != "" {
					dirs = append(dirs, dir)
				}
			}
		}
	}
	return dirs
}

// confDirs reads ld.so.conf and what it includes. Depth is bounded: an include loop is the administrator's, not ours to
// hang on.
func confDirs(path string, depth int) []string {
	if depth > 8 {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil // a system without it has the built-in directories
	}
	defer file.Close() //nolint:errcheck // read only
	var dirs []string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[0] == "include":
			pattern := fields[1]
			if !filepath.IsAbs(pattern) {
				pattern = filepath.Join(filepath.Dir(path), pattern)
			}
			matches, err := filepath.Glob(pattern)
			if err != nil {
				continue // a bad pattern includes nothing
			}
			for _, m := range matches {
				dirs = append(dirs, confDirs(m, depth+1)...)
			}
		case len(fields) == 1 && filepath.IsAbs(fields[0]):
			dirs = append(dirs, fields[0])
		}
	}
	return dirs
}
