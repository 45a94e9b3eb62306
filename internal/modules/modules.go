// Package modules says which file's code an address of a process belongs to, and whose that file is.
package modules

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// Map says which file's code an address belongs to, from /proc/PID/maps. It is for one goroutine at a time.
type Map struct {
	Pid   int
	Stale bool   // to be read again: a library was loaded
	Core  []Span // not nil: of a core file, whose process is not there any more; in order of address
	of    int    // the pid that spans are of
	spans []Span
}

// Span is where a file is mapped, from an offset in it on.
type Span struct {
	From, To, Offset uint64
	Path             string
}

// At is the file at an address, or "".
func (m *Map) At(pc uint64) string {
	s, _ := m.SpanAt(pc)
	return s.Path
}

// SpanAt is the mapping of a file that an address is in, if it is in one.
func (m *Map) SpanAt(pc uint64) (s Span, ok bool) {
	switch {
	case m.Core != nil:
		m.spans = m.Core
	case m.Stale || m.of != m.Pid:
		m.spans = Read(m.Pid)
		m.of, m.Stale = m.Pid, false
	}
	i := sort.Search(len(m.spans), func(i int) bool { return m.spans[i].To > pc })
	if i < len(m.spans) && m.spans[i].From <= pc {
		return m.spans[i], true
	}
	return Span{}, false
}

// Read returns the files that a process has mapped as code, in order of address; none if the process is gone.
func Read(pid int) (spans []Span) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(maps)) {
		// 55..-55.. r-xp 00001000 fe:00 123   /path with blanks
		fields := strings.SplitN(line, " ", 6)
		if len(fields) < 6 || !strings.Contains(fields[1], "x") {
			continue
		}
		s := Span{Path: strings.TrimSuffix(strings.TrimSpace(fields[5]), " (deleted)")}
		_, err := fmt.Sscanf(fields[0]+" "+fields[2], "%x-%x %x", &s.From, &s.To, &s.Offset)
		if err == nil && s.Path != "" {
			spans = append(spans, s)
		}
	}
	return spans
}

// Owner of a piece of code.
type Owner int

// The owners.
const (
	Unknown Owner = iota // no file, such as code made at run time
	User                 // the program, or a library that is neither of the following
	System               // the C library and its like, which both use
	MPI                  // the MPI library and what it is built on
	Cohort               // the interposer
)

var (
	cohortLib = regexp.MustCompile(`^libcohort([-_.].*)?\.so`)
	mpiLibs   = regexp.MustCompile(`^lib(` +
		`mpi|mpich|mpicxx|mpifort|mpichfort|mpichcxx|mpl|opa|open-pal|open-rte|opal|prrte|mca|` +
		`pmi|pmi2|pmix|event|event_[a-z]+|hwloc|ucp|ucs|uct|ucm|ucx|ucc|ucg|fabric|psm|psm2|rdmacm|ibverbs|mlx4|` +
		`mlx5|efa|munge|slurm|slurm_[a-z]+|` +
		`ltdl|infinipath|xpmem|numa|nl|cxi|hcoll|sharp)([-_.0-9][^/]*)?\.so`)
	mcaLibs = regexp.MustCompile(`^(mca|pmix_mca)_[a-z0-9]+_.*\.so$`)
	sysLibs = regexp.MustCompile(`^(lib(c|m|pthread|dl|rt|resolv|gcc_s|stdc\+\+|z|util|nss_[a-z]+)|` +
		`ld-linux[^/]*|ld64|ld)([-.][^/]*)?\.so|^\[vdso\]$|^\[vsyscall\]$`)
)

// OwnerOf is whose code a file is, in a process of the program.
func OwnerOf(module, program string) Owner {
	base := filepath.Base(module)
	switch {
	case module == "":
		return Unknown
	case module == program:
		return User
	case cohortLib.MatchString(base):
		return Cohort
	case mpiLibs.MatchString(base), mcaLibs.MatchString(base):
		return MPI
	case sysLibs.MatchString(base):
		return System
	}
	return User
}
