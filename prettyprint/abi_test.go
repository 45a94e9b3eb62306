package prettyprint

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMirrorsHeader has the C compiler lay out records with a different value in every field, as bytes, and compares what Go
// decodes: offsets, widths and signs of the mirror are those of pmpi/include/cohort_abi.h.
func TestMirrorsHeader(t *testing.T) {
	cc, err := exec.LookPath("gcc")
	if err != nil {
		if os.Getenv("COHORT_REQUIRE_MPI") == "1" {
			t.Fatal("gcc is required")
		}
		t.Skip("no gcc")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "layout")
	build := exec.Command(cc, "-I", "../pmpi/include", "-o", program, "testdata/layout.c")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	var raw struct {
		Registry []int `json:"registry"` // numbers rather than base64, which would need code in C
		Datatype []int `json:"datatype"`
		Comm     []int `json:"comm"`
		Slots    []int `json:"slots"`
	}
	if err := json.Unmarshal(out, &raw); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	bytesOf := func(v []int) []byte {
		b := make([]byte, len(v))
		for i := range v {
			b[i] = byte(v[i])
		}
		return b
	}
	registry, datatype, comm, slots := bytesOf(raw.Registry), bytesOf(raw.Datatype), bytesOf(raw.Comm), bytesOf(raw.Slots)

	for _, s := range []struct {
		what      string
		got, want int
	}{
		{"struct cohort_registry", registrySize, len(registry)},
		{"struct cohort_datatype", datatypeHeader, len(datatype)},
		{"struct cohort_comm", commHeader, len(comm)},
		{"struct cohort_slots and one slot", slotsHeader + slotSize, len(slots)},
	} {
		if s.got != s.want {
			t.Errorf("%s: %d bytes in Go, %d in C", s.what, s.got, s.want)
		}
	}
	opt := cmp.AllowUnexported(abiRegistry{}, abiDatatype{}, abiComm{}, slot{})
	if diff := cmp.Diff(abiRegistry{
		magic: registryMagic, version: abiVersion, size: registrySize, mpi: 2, handleSize: 8, datatypes: 101, comms: 102, requests: 103,
	}, decodeRegistry(registry), opt); diff != "" {
		t.Errorf("registry (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(abiDatatype{
		size: 1, combiner: 10, state: stateCommitted | stateFreed, refs: 4, handle: 5, fHandle: -6, basic: 7, pair: 8, basicSize: 9,
		typeSize: -10, lb: -11, extent: -12, trueLB: -13, trueExtent: abiUnknownFigure, id: 15, event: 16, callSite: 17, name: "eighteen",
		nIntegers: 19, nAddresses: 20, nTypes: 21,
	}, decodeDatatype(datatype), opt); diff != "" {
		t.Errorf("datatype (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(abiComm{
		size: 1, kind: 3, handle: 3, fHandle: -4, index: 5, globalID: 6, parentID: 7, commSize: 8, commRank: 9, state: 10, nDims: 11,
		id: 12, event: 13, callSite: 14, name: "fifteen", nMembers: 16, nRemote: 17,
	}, decodeComm(comm), opt); diff != "" {
		t.Errorf("comm (-want +got):\n%s", diff)
	}
	c := cursor{b: slots}
	if n, s := c.u64(), (slot{c.u64(), c.u64()}); n != 1 || s != (slot{2, 3}) {
		t.Errorf("slots: capacity %d, slot %+v", n, s)
	}
}

// TestFieldCounts checks the number of fields that is promised before they are built, for every kind; see also the node tests.
func TestFieldCounts(t *testing.T) {
	for k := range combinerNames {
		if fieldCount[k] == 0 {
			t.Errorf("%s has no field count", k)
		}
	}
}
