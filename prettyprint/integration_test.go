package prettyprint_test

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/picture"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// job is a running program of testdata whose ranks wait, with what they printed of their handles.
type job struct {
	lines []string     // TYPE and COMM lines; with several ranks, in any order
	pids  map[int]int  // by rank
	lib   string       // libcohort.so
	done  func() error // lets the ranks continue and waits for their end
	// waits for the end of ranks that continue already: MPICH's mpiexec may die of writing to one that ends
	wait  func() error
	stdin io.WriteCloser // of rank 0
	scan  *bufio.Scanner // what the ranks print after they were ready
	end   func()         // kills the job
}

// startLive runs testdata/live.c with the interposer until all ranks wait.
func startLive(t *testing.T, mpi mpitest.MPI, ranks int, args ...string) *job {
	t.Helper()
	return startProgram(t, mpi, ranks, "live.c", nil, args...)
}

// startProgram runs a program of testdata with the interposer until all ranks wait: they have printed READY, their rank
// and their process.
func startProgram(t *testing.T, mpi mpitest.MPI, ranks int, name string, flags []string, args ...string) *job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	lib, err := pmpi.Build(ctx, pmpi.Options{Mpicc: mpi.Mpicc})
	if err != nil {
		t.Fatal(err)
	}
	program := mpi.BuildFile(t, filepath.Join("testdata", name), flags...)
	cmd := mpi.Command(ctx, ranks, "env", append([]string{"LD_PRELOAD=" + lib.Path, program}, args...)...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	j := &job{pids: map[int]int{}, lib: lib.Path, stdin: stdin, end: cancel}
	ended := false
	t.Cleanup(func() {
		cancel()
		if !ended {
			_ = cmd.Wait() // the test has failed already; the launcher was killed
		}
	})
	scan := bufio.NewScanner(stdout)
	scan.Buffer(nil, 1<<20)
	j.scan = scan
	for len(j.pids) < ranks {
		if !scan.Scan() {
			t.Fatalf("%v ended before all ranks were ready: %v\n%s", cmd.Args, scan.Err(), errors.String())
		}
		var rank, pid int
		if n, err := fmt.Sscanf(scan.Text(), "READY %d %d", &rank, &pid); n == 2 && err == nil {
			j.pids[rank] = pid
			continue
		}
		j.lines = append(j.lines, scan.Text())
	}
	j.done = func() error {
		if _, err := io.WriteString(stdin, "go\n"); err != nil {
			return err
		}
		return j.wait()
	}
	j.wait = func() error {
		ended = true
		// Wait closes stdin: MPICH's mpiexec fails if its end comes while the ranks go.
		if _, err := io.Copy(io.Discard, stdout); err != nil {
			return err
		}
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("%w\n%s", err, errors.String())
		}
		return nil
	}
	return j
}

// procMemory reads another process's memory, as a debugger's agent does.
type procMemory struct{ file *os.File }

func (m procMemory) ReadMemory(addr uint64, p []byte) (int, error) {
	n, err := m.file.ReadAt(p, int64(addr))
	if n == len(p) {
		return n, nil
	}
	return n, err
}

// openRank opens the registry of a live rank: its address is that of the library in /proc/PID/maps plus the symbol's in
// its ELF file.
func openRank(t *testing.T, j *job, rank int) *handle.Rank {
	t.Helper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/mem", j.pids[rank]))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	r, err := handle.Open(procMemory{file}, registryAddress(t, j, rank))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func registryAddress(t *testing.T, j *job, rank int) uint64 {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", j.pids[rank]))
	if err != nil {
		t.Fatal(err)
	}
	var base uint64
	for line := range strings.Lines(string(maps)) {
		f := strings.Fields(line)
		if len(f) == 6 && f[5] == j.lib && f[2] == "00000000" {
			if base, err = strconv.ParseUint(line[:strings.IndexByte(line, '-')], 16, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	lib, err := elf.Open(j.lib)
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	symbols, err := lib.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == "cohort_registry" && base != 0 {
			return base + s.Value
		}
	}
	t.Fatalf("no cohort_registry in %s at 0x%x", j.lib, base)
	return 0
}

// TestLiveTypes compares every type of a real rank with the MPI library's own account: MPI_Type_size,
// MPI_Type_get_extent, MPI_Type_get_true_extent, and the bytes that MPI_Pack takes, in their order.
func TestLiveTypes(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs MPI programs")
	}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, seed := range []string{"1", "20261120", "77"} {
			j := startLive(t, mpi, 1, "types", seed, "150")
			r := openRank(t, j, 0)
			kinds := map[abi.Combiner]int{}
			checkParts(t, r, j)
			for _, line := range j.lines {
				if strings.HasPrefix(line, "TYPE") {
					checkLiveType(t, r, line, kinds)
				}
			}
			if len(j.lines) < 190 || len(kinds) != 16 {
				t.Errorf("%d types of %d kinds: %v", len(j.lines), len(kinds), kinds)
			}
			if err := j.done(); err != nil {
				t.Error(err)
			}
		}
	})
}

// checkParts verifies that a type's record refers to the records of the types that the program passed. An interposer
// that asks Open MPI's MPI_Type_get_contents for them gets copies with handles of their own, which die and are given
// out again: then records refer to other types, and nothing else here can hold.
func checkParts(t *testing.T, r *handle.Rank, j *job) {
	t.Helper()
	for _, line := range j.lines {
		var outer, inner uint64
		if n, err := fmt.Sscanf(line, "NESTED %v %v", &outer, &inner); n != 2 || err != nil {
			continue
		}
		dt, err := r.DatatypeOfHandle(outer, false)
		if err != nil {
			t.Fatal(err)
		}
		if part := dt.Types[0]; part.Handle != inner&(1<<(8*r.HandleSize())-1) {
			t.Fatalf("pmpi: the record of a type made of the type 0x%x refers to one with the handle 0x%x", inner,
				part.Handle)
		}
		return
	}
	t.Fatal("the program made no NESTED type")
}

func checkLiveType(t rapid.TB, r *handle.Rank, line string, kinds map[abi.Combiner]int) {
	t.Helper()
	var name, packed string
	var rawHandle, buffer uint64
	var fhandle int32
	var count int64
	var want datatype.Figures
	if n, err := fmt.Sscanf(line, "TYPE %s %v %d %d %d %d %d %d %d %v %s", &name, &rawHandle, &fhandle, &want.Size,
		&want.LB, &want.Extent,
		&want.TrueLB, &want.TrueExtent, &count, &buffer, &packed); n != 11 || err != nil {
		t.Fatalf("%d fields of %q: %v", n, line, err)
	}
	find := func() (*datatype.Type, error) { return r.DatatypeOfHandle(rawHandle, false) }
	if rawHandle == 0 { // a Fortran program knows no other handle
		find = func() (*datatype.Type, error) { return r.DatatypeOfHandle(uint64(fhandle), true) }
	}
	dt, err := find()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if err := dt.Problem; err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	countKinds(dt, kinds)
	if byF, err := r.DatatypeOfHandle(uint64(fhandle), true); err != nil || byF != dt {
		t.Errorf("%s: by Fortran handle %d: %v, %v", name, fhandle, byF, err)
	}
	if strings.HasPrefix(name, "MPI_") {
		byName, err := r.DatatypeByName(name)
		if err != nil || !sameBasic(byName, dt) {
			t.Errorf("%s: by name: %v", name, err)
		}
	}
	sane(dt, &want)
	if got := dt.Figures; got != want && !overstated(r, dt, got, want) {
		t.Errorf("%s: figures %+v, MPI says %+v", name, got, want)
	}
	if got := dt.Computed; got != want && !overstated(r, dt, got, want) {
		t.Errorf("%s: computed %+v, MPI says %+v\n%s", name, got, want, text(t, dt))
	}
	b, err := r.Buffer(name, buffer, dt, count)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	vals, err := b.Elements(0, b.Len())
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	checkLivePicture(t, name, dt, count, buffer, vals)
	if packed == "-" {
		packed = ""
	}
	took, err := hex.DecodeString(packed)
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for _, v := range vals {
		// Of an x87 long double, MPICH copies the 10 bytes that count; the padding in the message is what lay there.
		if at := len(got); len(v.Bytes) >= 16 && strings.Contains(v.Type.Name, "LONG_DOUBLE") &&
			len(took) >= at+len(v.Bytes) {
			for i := 0; i+16 <= len(v.Bytes); i += 16 {
				copy(took[at+i+10:at+i+16], v.Bytes[i+10:i+16])
			}
		}
		got = append(got, v.Bytes...)
	}
	if !bytes.Equal(got, took) {
		t.Errorf("%s: selects\n%x\nMPI_Pack took\n%x\n%s", name, got, took, text(t, dt))
	}
}

// sane puts the decoder's figures in the place of those that a library has not: Open MPI has no bounds for a struct of
// nothing but markers. The standard has no bounds for types without data either, so what the library says can be known
// only where it was asked.
func sane(dt *datatype.Type, want *datatype.Figures) {
	if dt.Elements > 0 {
		return
	}
	mine := dt.Figures
	if _, asked := dt.Reported(); !asked {
		mine.Size = want.Size
		*want = mine
	}
	for _, f := range [][2]*int64{
		{&want.LB, &mine.LB},
		{&want.Extent, &mine.Extent},
		{&want.TrueLB, &mine.TrueLB},
		{&want.TrueExtent, &mine.TrueExtent},
	} {
		if *f[0] > math.MaxInt64/2 || *f[0] < math.MinInt64/2 {
			*f[0] = *f[1]
		}
	}
}

// overstated reports whether the only difference is the known one of MPICH (bounds.go): the true bounds of a type with
// a cyclic darray in it are said to be wider than its data, and the user is told.
func overstated(r *handle.Rank, dt *datatype.Type, got, want datatype.Figures) bool {
	inside := got.TrueLB >= want.TrueLB && got.TrueLB+got.TrueExtent <= want.TrueLB+want.TrueExtent
	got.TrueLB, got.TrueExtent = want.TrueLB, want.TrueExtent
	_, asked := dt.Reported()
	return r.MPI() == abi.MPICH && hasCyclic(dt) && inside && got == want &&
		(!asked || len(dt.Differences()) > 0)
}

func hasCyclic(dt *datatype.Type) bool {
	if dt.Combiner() == abi.CombinerDarray {
		ints, _ := arguments(dt)
		n := ints[2]
		if slices.Contains(ints[3+n:3+2*n], 122) {
			return true
		}
	}
	return slices.ContainsFunc(dt.Types, hasCyclic)
}

// checkLivePicture compares a picture with the elements, whose bytes are those that MPI_Pack takes, and the type with
// itself.
func checkLivePicture(t rapid.TB, name string, dt *datatype.Type, count int64, buffer uint64,
	vals []datatype.Value,
) {
	t.Helper()
	if !strings.HasPrefix(name, "random") && dt.Depth == 0 { // a picture of one value
		return
	}
	p, err := picture.New(dt, name, count, picture.Options{BytesPerRow: 32, MaxLines: 16})
	if err != nil || !p.Complete {
		t.Errorf("%s: %+v, %v", name, p, err)
		return
	}
	m := byteMap{map[int64]int{}, map[int64]string{}, map[int64]bool{}}
	for _, v := range vals {
		at := int64(v.Memory - buffer)
		for _, part := range partsOf(v) {
			m.start[at+part[0]] = true
			for b := at + part[0]; b < at+part[1]; b++ {
				m.used[b]++
				m.basic[b] = v.Type.Name
			}
		}
	}
	checkPicture(t, p, m)
	s := datatype.Side{Name: name, Type: dt, Count: count}
	if match, err := datatype.Match(s, s); err != nil || match.Verdict != datatype.MatchEqual ||
		match.Send.Total < int64(len(vals)) {
		t.Errorf("%s does not match itself: %+v, %v", name, match, err)
	}
}

// partsOf are the bytes of a value, from and to: of pairs with a gap in it, both parts.
func partsOf(v datatype.Value) [][2]int64 {
	switch size := int64(len(v.Bytes)); v.Type.Name {
	case "MPI_SHORT_INT":
		return [][2]int64{{0, 2}, {4, 8}}
	case "MPI_DOUBLE_INT", "MPI_LONG_INT":
		return [][2]int64{{0, 8}, {8, 12}}
	case "MPI_FLOAT_INT", "MPI_2INT", "MPI_2INTEGER", "MPI_2REAL":
		return [][2]int64{{0, 4}, {4, 8}}
	case "MPI_2DOUBLE_PRECISION":
		return [][2]int64{{0, 8}, {8, 16}}
	case "MPI_LONG_DOUBLE_INT":
		return [][2]int64{{0, 16}, {16, 20}}
	default:
		return [][2]int64{{0, size}}
	}
}

// sameBasic allows for a name that shares a handle in one library, and has one of its own in another.
func sameBasic(a, b *datatype.Type) bool { return a != nil && a.Figures == b.Figures }

func countKinds(dt *datatype.Type, kinds map[abi.Combiner]int) {
	kinds[dt.Combiner()]++
	for _, sub := range dt.Types {
		countKinds(sub, kinds)
	}
}

func text(t rapid.TB, dt *datatype.Type) string {
	t.Helper()
	var s strings.Builder
	if err := dt.Text(&s, "t", view.Options{}); err != nil {
		t.Error(err)
	}
	return s.String()
}

// TestLiveFig1 prints the paper's Fig. 1 type as MPICH holds it; Open MPI 4 has no MPI_LB.
func TestLiveFig1(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs MPI programs")
	}
	j := startLive(t, mpitest.Need(t, "mpich"), 1, "types", "1", "0")
	r := openRank(t, j, 0)
	for _, line := range j.lines {
		var rawHandle uint64
		if n, err := fmt.Sscanf(line, "TYPE fig1 %v", &rawHandle); n != 1 || err != nil {
			continue
		}
		dt, err := r.DatatypeOfHandle(rawHandle, false)
		if err != nil {
			t.Fatal(err)
		}
		var s strings.Builder
		if err := dt.Constructor().Text(&s, view.Options{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fig5, s.String()); diff != "" {
			t.Errorf("Fig. 5 (-paper +got):\n%s", diff)
		}
		if err := j.done(); err != nil {
			t.Error(err)
		}
		return
	}
	t.Fatal("the program made no fig1")
}

// TestLiveComms compares the communicators of four ranks with what MPI says of them.
func TestLiveComms(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs MPI programs")
	}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		j := startLive(t, mpi, 4, "comms")
		seen := map[string]int{}
		regs := map[int]*handle.Rank{}
		for rank := range 4 {
			regs[rank] = openRank(t, j, rank)
		}
		for _, line := range j.lines {
			var name, members string
			var rawHandle uint64
			var fhandle int32
			var size, rank int
			if n, err := fmt.Sscanf(line, "COMM %s %v %d %d %d %s", &name, &rawHandle, &fhandle, &size, &rank,
				&members); n != 6 || err != nil {
				t.Fatalf("%d fields of %q: %v", n, line, err)
			}
			world, err := strconv.Atoi(strings.Split(members, ",")[rank])
			if err != nil {
				t.Fatal(err)
			}
			checkLiveComm(t, regs[world], name, rawHandle, fhandle, size, rank, members)
			seen[name]++
		}
		if diff := cmp.Diff(map[string]int{
			"MPI_COMM_WORLD": 4, "MPI_COMM_SELF": 4, "dup": 4, "split": 4, "cart": 4,
			"inter": 4,
		}, seen); diff != "" {
			t.Errorf("communicators (-want +got):\n%s", diff)
		}
		if err := j.done(); err != nil {
			t.Error(err)
		}
	})
}

func checkLiveComm(t *testing.T, r *handle.Rank, name string, rawHandle uint64, fhandle int32, size, rank int,
	members string,
) {
	t.Helper()
	c, err := r.CommOfHandle(rawHandle, false)
	if name == "inter" && fault.Is(err, fault.NotFound) &&
		strings.Contains(err.Error(), "MPI_Intercomm_create") {
		t.Logf("the interposer does not follow MPI_Intercomm_create yet, and the decoder says so: %v", err)
		return
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if byF, err := r.CommOfHandle(uint64(fhandle), true); err != nil || byF != c {
		t.Errorf("%s: by Fortran handle %d: %v", name, fhandle, err)
	}
	var got []string
	for _, m := range c.Members {
		got = append(got, fmt.Sprint(m))
	}
	if c.Size != size || c.Rank != rank || strings.Join(got, ",") != members {
		t.Errorf("%s: %s; MPI says size %d, rank %d, members %s", name, c.Summary(), size, rank, members)
	}
	parent, err := c.Parent()
	if err != nil {
		t.Errorf("%s: parent: %v", name, err)
	}
	switch name {
	case "dup":
		if c.Name != "copy" || parent == nil || parent.Record.GlobalID != 1 {
			t.Errorf("dup is named %q, its parent is %v", c.Name, parent)
		}
	case "split":
		if parent == nil || parent.Name != "copy" {
			t.Errorf("split's parent is %v", parent)
		}
	case "cart":
		if diff := cmp.Diff([][]int64{{2, 2}, {1, 0}, {int64(rank / 2), int64(rank % 2)}},
			[][]int64{c.Dims, c.Periods, c.Coords}); diff != "" || c.Kind != abi.CommCart {
			t.Errorf("cart (-want +got):\n%s", diff)
		}
	case "inter":
		remote := []int64{3, 1}
		if members == "3,1" {
			remote = []int64{2, 0}
		}
		if diff := cmp.Diff(remote, c.Remote); diff != "" || c.Kind != abi.CommInter {
			t.Errorf("inter (-want +got):\n%s", diff)
		}
	}
}
