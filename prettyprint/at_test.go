package prettyprint_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

// TestRandomAt compares what holds each byte of a buffer of a random type with its elements one by one.
func TestRandomAt(t *testing.T) {
	const base = 1 << 40
	rapid.Check(t, func(t *rapid.T) {
		im := prettyprinttest.NewImage(libraryOf(t))
		r, dt := openType(t, im, drawType(t, im, 3))
		b, err := r.Buffer("t", base, dt, rapid.Int64Range(0, 3).Draw(t, "count"))
		if err != nil {
			t.Fatal(err)
		}
		all, err := b.Elements(0, b.Len())
		if err != nil {
			t.Fatal(err)
		}
		width := func(v datatype.Value) uint64 { return uint64(v.Type.Computed.TrueExtent) }
		pair := func(v datatype.Value) bool { return v.Type.Record.Basic == abi.BasicPair }
		low, high := uint64(base), uint64(base)
		for i, v := range all {
			if i == 0 || v.Memory < low {
				low = v.Memory
			}
			if end := v.Memory + width(v); i == 0 || end > high {
				high = end
			}
		}
		at := rapid.Uint64Range(low-2, min(high, low+500)+2).Draw(t, "at")
		var want, got []string
		for _, v := range all {
			if v.Memory <= at && at < v.Memory+width(v) && !pair(v) { // a pair may have a gap
				want = append(want, v.Address)
			}
		}
		found, near := b.At(at)
		for _, h := range found {
			if h.Memory+uint64(h.Byte) != at || uint64(h.Byte) >= width(h.Value) {
				t.Fatalf("0x%x is said to be byte %d of 0x%x", at, h.Byte, h.Memory)
			}
			if !pair(h.Value) {
				got = append(got, h.Address)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if len(found) < datatype.MaxHeld && !slices.Equal(want, got) {
			t.Fatal(cmp.Diff(want, got))
		}
		if len(found) == 0 && near != (len(all) > 0 && low <= at && at < high) {
			t.Fatalf("0x%x, of a buffer from 0x%x to 0x%x, is near: %v", at, low, high, near)
		}
	})
}

func TestAt(t *testing.T) {
	r, vars, addr := demo(t)
	vars["p"] = backend.Value{Number: addr + 84, HasNumber: true, Pointer: true, Type: "char *", Language: backend.C}
	for _, c := range []struct{ line, want string }{
		{"--at &m[0][9] column m", "ADDR+72\nbuffer: 1 × VECTOR at ADDR+0\n  element  a gap: the byte lies between those that " +
			"the datatype selects\n"},
		{"--at p column m", "ADDR+84\nbuffer: 1 × VECTOR at ADDR+0\n  element  column(VECTOR)[1][0](DOUBLE) " +
			"at ADDR+80, its byte 4: 5\n"},
		{"--at 16 column m", "0x10 is not in that buffer.\n"},
	} {
		res, err := command.Run(r, vars, c.line)
		if err != nil {
			t.Errorf("mpipp %s: %v", c.line, err)
			continue
		}
		if d := cmp.Diff(c.want, relative(res.Text, addr)); d != "" {
			t.Errorf("mpipp %s: %s", c.line, d)
		}
	}
	if _, err := command.Run(r, vars, "--at 16 column"); err == nil || !strings.Contains(err.Error(), "column alone was given") {
		t.Errorf("of a type without a buffer: %v", err)
	}
	res, err := command.Run(r, vars, "--at 16")
	if err != nil || !strings.Contains(res.Text, "0x10 is in no buffer") ||
		!strings.Contains(res.Text, "Calls in progress are not tracked in this run") {
		t.Errorf("without tracking: %+v, %v", res, err)
	}

	x := newExchanging().call(opSendrecv, func(a *prettyprinttest.Action) {})
	x.im.Call(prettyprinttest.CallRecord{Tid: 7, Active: 1, Event: 20, Action: action(opSendrecv, x.world,
		func(a *prettyprinttest.Action) {
			a.Send, a.Receive = side(8192, 2, x.int_, 3, 1), side(4100, 2, x.double, 1, -1)
		})})
	if r, err = handle.Open(x.im, x.im.Publish()); err != nil {
		t.Fatal(err)
	}
	res, err = command.Run(r, inCall{}, "--at 0x1006")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"call: MPI_Sendrecv: sends 2 × MPI_INT to rank 3",
		"  receives  MPI_DOUBLE{0}(DOUBLE) at 0x1004, its byte 2: unmapped at 0x1004\n",
		"request 0x98000001: pending MPI_Irecv: receives up to 2 × MPI_INT from rank 1",
		"  receives  MPI_INT{1}(INT) at 0x1004, its byte 2: unmapped at 0x1004\n",
	} {
		if !strings.Contains(res.Text, want) {
			t.Errorf("--at says\n%s\nwithout %q", res.Text, want)
		}
	}
}

// TestLastEvent: the call that returned last is shown as long as nothing has taken the place of its record, and without
// a type whose record may be another's by now.
func TestLastEvent(t *testing.T) {
	for _, c := range []struct {
		name        string
		active      uint32
		events      uint64
		made        uint64 // when the type was made
		want, notOK string
	}{
		{"the last", 0, 21, 5, "MPI_Recv has returned, with the buffers as they are now: receives up to 1 × pair (CONTIGUOUS " +
			`"pair": 2 MPI_INT) from rank 1, tag 7, MPI_COMM_WORLD` + "\nreceives 1 × pair at 0x", ""},
		{"of a type that is another's", 0, 21, 21, "The datatype of the buffer at 0x", ""},
		{"an older one", 0, 22, 5, "", "The rank's last event, 22, is no call of this thread"},
		{"in progress", 1, 20, 5, "", "The rank is in a call"},
	} {
		x := newExchanging()
		kind := x.im.Datatype(prettyprinttest.TypeRecord{
			Combiner: 3, State: 1, Handle: 0x8c000001, Name: "pair", Integers: []int64{2}, Types: []uint64{x.int_}, TypeSize: 8,
			Extent: 8, TrueExtent: 8, Event: c.made,
		})
		at := x.im.Alloc([]byte{1, 0, 0, 0, 2, 0, 0, 0})
		x.im.Call(prettyprinttest.CallRecord{Tid: 7, Active: c.active, Event: 20, Action: action(opRecv, x.world,
			func(a *prettyprinttest.Action) {
				a.Receive = side(at, 1, kind, 1, 7)
				a.Receive.Handle, a.CommHandle = 0x8c000001, 0x44000000
			})})
		block := x.im.Alloc(abi.Bytes(&abi.Control{Events: c.events}))
		pointer := x.im.Alloc(binary.LittleEndian.AppendUint64(nil, block))
		r, err := handle.Open(x.im, x.im.Publish())
		if err != nil {
			t.Fatal(err)
		}
		r.Env = registry.Surroundings{Symbol: func(name string) (uint64, bool) { return pointer, name == abi.SymbolControl }}
		res, err := command.Run(r, inCall{}, "--last")
		switch {
		case c.notOK != "" && (err == nil || !strings.Contains(err.Error(), c.notOK)):
			t.Errorf("%s: %v", c.name, err)
		case c.notOK == "" && (err != nil || !strings.Contains(res.Text, c.want)):
			t.Errorf("%s: %v %+v", c.name, err, res)
		}
	}
}

// TestDeepType: a correct type that is nested ten thousand constructors deep is shown, with addresses that can be read.
func TestDeepType(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	im.Compact = true
	rec := im.Named("MPI_INT").Record
	const depth, h = 10000, 0x8c000001
	for i := range depth {
		r := prettyprinttest.TypeRecord{
			Combiner: 3, Integers: []int64{1}, Types: []uint64{rec}, TypeSize: 4, Extent: 4, TrueExtent: 4, State: 1,
		}
		if i == depth-1 {
			r.Handle = h
		}
		rec = im.Datatype(r)
	}
	at := im.Alloc([]byte{42, 0, 0, 0})
	r, err := handle.Open(im, im.Publish())
	if err != nil {
		t.Fatal(err)
	}
	vars := variables{"deep": handleOf(h, "MPI_Datatype"), "p": handleOf(at, "unsigned long")}
	for line, want := range map[string]string{
		"deep": "depth 10000", "deep p": "(CONTIGUOUS)[0](INT)  0x", "--tree deep": "MPI_INT at offset 0",
	} {
		res, err := command.Run(r, vars, line)
		if err != nil || !strings.Contains(res.Text, want) || len(res.Text) > 1<<17 {
			t.Errorf("mpipp %s: %v\n%.2000s", line, err, res.Text)
		}
	}
}
