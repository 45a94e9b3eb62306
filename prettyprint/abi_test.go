package prettyprint

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMirrorsHeader has the C compiler lay out records with a different value in every field, as bytes, and compares
// what Go decodes: offsets, widths and signs of the mirror are those of pmpi/include/cohort_abi.h.
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
	raw := map[string][]int{} // numbers rather than base64, which would need code in C
	if err := json.Unmarshal(out, &raw); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	bytesOf := func(what string) []byte {
		b := make([]byte, len(raw[what]))
		for i, v := range raw[what] {
			b[i] = byte(v)
		}
		return b
	}
	for what, size := range map[string]int{
		"registry": registrySize, "datatype": datatypeHeader, "comm": commHeader, "slots": slotsHeader + slotSize,
		"group": groupHeader, "window": windowSize,
		"file": fileSize, "reduction": reductionSize, "errhandler": errhandlerSize, "info": infoHeader,
		"request": requestSize, "call": callSize,
		"stack": stackHeader,
	} {
		if n := len(raw[what]); n != size {
			t.Fatalf("%s: %d bytes in Go, %d in C", what, size, n)
		}
	}
	object := abiObject{
		size: 1, kind: 2, handle: 3, fHandle: -4, state: 5, refs: 6, holds: 7, id: 8, event: 9,
		callSite: 10, name: 11, stack: 12,
	}
	side := func(n int) abiSide {
		u := uint64(n)
		return abiSide{
			buffer: u, count: int64(-n - 1), datatype: u + 2, handle: u + 3, counts: u + 4, displs: u + 5, types: u + 6,
			n: uint32(n + 7), flags: uint32(n + 8),
			peer: int32(-n - 9), tag: int32(-n - 10),
		}
	}
	action := abiAction{
		op: 20, root: -21, comm: 22, commHandle: 23, object: 24, reduction: 25, offset: -26, send: side(30),
		receive: side(50), target: side(70),
		name: "twenty-seven",
	}
	datatype := abiDatatype{
		size: 1, combiner: 10, state: stateCommitted | stateFreed, refs: 4, handle: 5, fHandle: -6, basic: 7, pair: 8,
		basicSize: 9,
		typeSize:  -10, lb: -11, extent: -12, trueLB: -13, trueExtent: abiUnknownFigure, id: 15, event: 16, callSite: 17,
		name:  "eighteen",
		stack: 22, nIntegers: 19, nAddresses: 20, nTypes: 21, holds: 23,
	}
	long := datatype
	long.state, long.name, long.longName = stateLongName, "twenty-three characters", 24
	for what, pair := range map[string][2]any{
		"registry": {abiRegistry{
			magic: registryMagic, version: abiVersion, size: registrySize, mpi: 2, handleSize: 8, datatypes: 101,
			comms: 102, requests: 103, groups: 104,
			windows: 105, files: 106, ops: 107, errhandlers: 108, infos: 109, calls: 110, detached: 111,
			detachedDropped: 112, lost: 113, features: 114,
			mode: 115, inPlace: 116, commNull: 117, requestNull: 118,
		}, decodeRegistry(bytesOf("registry"))},
		"datatype": {datatype, decodeDatatype(bytesOf("datatype"))},
		"longname": {long, decodeDatatype(bytesOf("longname"))},
		"comm": {abiComm{
			size: 1, kind: 3, handle: 3, fHandle: -4, index: 5, globalID: 6, parentID: 7, commSize: 8, commRank: 9,
			state: 10, nDims: 11,
			id: 12, event: 13, callSite: 14, name: "fifteen", stack: 18, refs: 19, holds: 20, nMembers: 16, nRemote: 17,
		}, decodeComm(bytesOf("comm"))},
		"group": {abiGroup{abiObject: object, groupRank: 13, nMembers: 14}, decodeGroup(bytesOf("group"))},
		"window": {abiWindow{
			abiObject: object, comm: 13, base: 14, bytes: -15, dispUnit: -16, epochs: 17, accessGroup: 18,
			exposureGroup: 19, nLocks: 20,
			locks: [locksMax]uint32{21, 22, 23, 24, 25, 26, 27, 28},
		}, decodeWindow(bytesOf("window"))},
		"file": {abiFile{
			abiObject: object, comm: 13, amode: -14, disp: -15, etype: 16, filetype: 17,
			datarep: "eighteen",
		}, decodeFile(bytesOf("file"))},
		"reduction": {
			abiReduction{abiObject: object, function: 13, commutes: 14},
			decodeReduction(bytesOf("reduction")),
		},
		"errhandler": {abiErrhandler{abiObject: object, function: 13}, decodeErrhandler(bytesOf("errhandler"))},
		"info":       {abiInfo{abiObject: object, nKeys: 13, nEntries: 14}, decodeInfo(bytesOf("info"))},
		"request": {abiRequest{
			abiObject: object, startEvent: 13, startSite: 14, sinceNs: -15, next: 16, tid: -17, action: action,
		}, decodeRequest(bytesOf("request"))},
		"call": {abiCall{
			next: 1, tid: -2, active: 3, event: 4, callSite: 5, sinceNs: -6, requests: 7, nRequests: -8, action: action,
		}, decodeCall(bytesOf("call"))},
	} {
		all := cmp.Exporter(func(reflect.Type) bool { return true })
		if diff := cmp.Diff(pair[0], pair[1], all); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	c := cursor{b: bytesOf("slots")}
	if n, s := c.u64(), (slot{c.u64(), c.u64()}); n != 1 || s != (slot{2, 3}) {
		t.Errorf("slots: capacity %d, slot %+v", n, s)
	}
}

// TestFieldCounts checks the number of fields that is promised before they are built, for every kind; see also the node
// tests.
func TestFieldCounts(t *testing.T) {
	for k := range combinerNames {
		if fieldCount[k] == 0 {
			t.Errorf("%s has no field count", k)
		}
	}
}
