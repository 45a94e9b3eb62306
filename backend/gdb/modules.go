package gdb

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// moduleMap says which file's code an address belongs to, from /proc/PID/maps. It is read again after
// a library was loaded.
type moduleMap struct {
	pid   int
	stale bool
	of    int // the pid that spans are of
	spans []span
	core  []span // of a core file, whose process is not there any more
}

type span struct {
	from, to uint64
	path     string
}

func (m *moduleMap) at(pc uint64) string {
	switch {
	case m.core != nil:
		m.spans = m.core
	case m.stale || m.of != m.pid:
		m.spans = readSpans(m.pid)
		m.of, m.stale = m.pid, false
	}
	i := sort.Search(len(m.spans), func(i int) bool { return m.spans[i].to > pc })
	if i < len(m.spans) && m.spans[i].from <= pc {
		return m.spans[i].path
	}
	return ""
}

// readSpans returns the mapped files, in order of address; none if the process is gone.
func readSpans(pid int) []span {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	var spans []span
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		// 55..-55.. r-xp 00001000 fe:00 123   /path with blanks
		fields := strings.SplitN(sc.Text(), " ", 6)
		if len(fields) < 6 || !strings.Contains(fields[1], "x") {
			continue
		}
		from, to, ok := strings.Cut(fields[0], "-")
		a, err1 := strconv.ParseUint(from, 16, 64)
		b, err2 := strconv.ParseUint(to, 16, 64)
		path := strings.TrimSpace(fields[5])
		if !ok || err1 != nil || err2 != nil || path == "" {
			continue
		}
		spans = append(spans, span{a, b, strings.TrimSuffix(path, " (deleted)")})
	}
	return spans
}

// owner of a piece of code.
type codeOwner int

const (
	codeUnknown codeOwner = iota // no file, such as code made at run time
	codeUser                     // the program, or a library that is neither of the following
	codeSystem                   // the C library and its like, which both use
	codeMPI                      // the MPI library and what it is built on
	codeCohort                   // the interposer
)

var (
	cohortLib = regexp.MustCompile(`^libcohort([-_.].*)?\.so`)
	mpiLibs   = regexp.MustCompile(`^lib(` +
		`mpi|mpich|mpicxx|mpifort|mpichfort|mpichcxx|mpl|opa|open-pal|open-rte|opal|prrte|mca|pmi|pmi2|pmix|event|event_[a-z]+|hwloc|ucp|ucs|uct|` +
		`ucm|ucx|ucc|ucg|fabric|psm|psm2|rdmacm|ibverbs|mlx4|mlx5|efa|munge|slurm|slurm_[a-z]+|ltdl|infinipath|xpmem|numa|nl|cxi|hcoll|sharp)([-_.0-9][^/]*)?\.so`)
	mcaLibs = regexp.MustCompile(`^(mca|pmix_mca)_[a-z0-9]+_.*\.so$`)
	sysLibs = regexp.MustCompile(`^(lib(c|m|pthread|dl|rt|resolv|gcc_s|stdc\+\+|z|util|nss_[a-z]+)|ld-linux[^/]*|ld64|ld)([-.][^/]*)?\.so|^\[vdso\]$|^\[vsyscall\]$`)
)

func ownerOf(module, program string) codeOwner {
	base := filepath.Base(module)
	switch {
	case module == "":
		return codeUnknown
	case module == program:
		return codeUser
	case cohortLib.MatchString(base):
		return codeCohort
	case mpiLibs.MatchString(base), mcaLibs.MatchString(base):
		return codeMPI
	case sysLibs.MatchString(base):
		return codeSystem
	}
	return codeUser
}
