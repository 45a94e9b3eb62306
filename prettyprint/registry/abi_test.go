package registry

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
	build := exec.Command(cc, "-I", "../../pmpi/include", "-o", program, "testdata/layout.c")
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
		"registry": registrySize, "datatype": DatatypeSize, "comm": CommSize, "slots": slotsHeader + slotSize,
		"group": GroupSize, "window": windowSize,
		"file": fileSize, "reduction": reductionSize, "errhandler": errhandlerSize, "info": InfoSize,
		"request": requestSize, "call": CallSize,
		"stack": stackHeader,
	} {
		if n := len(raw[what]); n != size {
			t.Fatalf("%s: %d bytes in Go, %d in C", what, size, n)
		}
	}
	object := ObjectRecord{
		Size: 1, Kind: 2, Handle: 3, FHandle: -4, State: 5, refs: 6, holds: 7, Id: 8, Event: 9,
		CallSite: 10, Name: 11, Stack: 12,
	}
	side := func(n int) SideRecord {
		u := uint64(n)
		return SideRecord{
			Buffer: u, Count: int64(-n - 1), Datatype: u + 2, Handle: u + 3, Counts: u + 4, Displs: u + 5, Types: u + 6,
			N: uint32(n + 7), Flags: uint32(n + 8),
			Peer: int32(-n - 9), Tag: int32(-n - 10),
		}
	}
	action := ActionRecord{
		Op: 20, Root: -21, Comm: 22, CommHandle: 23, Object: 24, Reduction: 25, Offset: -26, Send: side(30),
		Receive: side(50), Target: side(70),
		Name: "twenty-seven",
	}
	datatype := DatatypeRecord{
		Size: 1, Combiner: 10, State: StateCommitted | StateFreed, Refs: 4, Handle: 5, FHandle: -6, Basic: 7, Pair: 8,
		BasicSize: 9,
		TypeSize:  -10, Lb: -11, Extent: -12, TrueLB: -13, TrueExtent: UnknownFigure, Id: 15, Event: 16, CallSite: 17,
		Name:  "eighteen",
		Stack: 22, NIntegers: 19, NAddresses: 20, NTypes: 21, holds: 23,
	}
	long := datatype
	long.State, long.Name, long.longName = stateLongName, "twenty-three characters", 24
	for what, pair := range map[string][2]any{
		"registry": {Header{
			magic: registryMagic, version: abiVersion, size: registrySize, mpi: 2, handleSize: 8, datatypes: 101,
			comms: 102, requests: 103, groups: 104,
			windows: 105, files: 106, ops: 107, errhandlers: 108, infos: 109, Calls: 110, Detached: 111,
			DetachedDropped: 112, Lost: 113, Features: 114,
			mode: 115, inPlace: 116, commNull: 117, requestNull: 118,
		}, decodeRegistry(bytesOf("registry"))},
		"datatype": {datatype, DecodeDatatype(bytesOf("datatype"))},
		"longname": {long, DecodeDatatype(bytesOf("longname"))},
		"comm": {CommRecord{
			Size: 1, Kind: 3, Handle: 3, FHandle: -4, index: 5, GlobalID: 6, ParentID: 7, CommSize: 8, CommRank: 9,
			State: 10, NDims: 11,
			Id: 12, Event: 13, CallSite: 14, Name: "fifteen", Stack: 18, refs: 19, holds: 20, NMembers: 16, NRemote: 17,
		}, DecodeComm(bytesOf("comm"))},
		"group": {GroupRecord{ObjectRecord: object, GroupRank: 13, NMembers: 14}, DecodeGroup(bytesOf("group"))},
		"window": {WindowRecord{
			ObjectRecord: object, Comm: 13, Base: 14, Bytes: -15, DispUnit: -16, Epochs: 17, AccessGroup: 18,
			ExposureGroup: 19, NLocks: 20,
			Locks: [LocksMax]uint32{21, 22, 23, 24, 25, 26, 27, 28},
		}, DecodeWindow(bytesOf("window"))},
		"file": {FileRecord{
			ObjectRecord: object, Comm: 13, Amode: -14, Disp: -15, Etype: 16, Filetype: 17,
			Datarep: "eighteen",
		}, DecodeFile(bytesOf("file"))},
		"reduction": {
			ReductionRecord{ObjectRecord: object, Function: 13, Commutes: 14},
			DecodeReduction(bytesOf("reduction")),
		},
		"errhandler": {ErrhandlerRecord{ObjectRecord: object, Function: 13}, DecodeErrhandler(bytesOf("errhandler"))},
		"info":       {InfoRecord{ObjectRecord: object, NKeys: 13, NEntries: 14}, DecodeInfo(bytesOf("info"))},
		"request": {RequestRecord{
			ObjectRecord: object, StartEvent: 13, StartSite: 14, SinceNs: -15, Next: 16, Tid: -17, Action: action,
		}, DecodeRequest(bytesOf("request"))},
		"call": {CallRecord{
			Next: 1, Tid: -2, Active: 3, Event: 4, CallSite: 5, SinceNs: -6, Requests: 7, NRequests: -8, Action: action,
		}, DecodeCall(bytesOf("call"))},
	} {
		all := cmp.Exporter(func(reflect.Type) bool { return true })
		if diff := cmp.Diff(pair[0], pair[1], all); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	c := Cursor{B: bytesOf("slots")}
	if n, s := c.u64(), (slot{c.u64(), c.u64()}); n != 1 || s != (slot{2, 3}) {
		t.Errorf("slots: capacity %d, slot %+v", n, s)
	}
}
