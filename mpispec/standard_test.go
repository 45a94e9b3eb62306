package mpispec_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/mpispec"
)

// standard are the parameters of the functions in testdata/standard.txt, by short name: sign, name and kind.
func standard(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/standard.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\n\t", " ")) {
		names, parameters, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for name := range strings.FieldsSeq(names) {
			all[name] = strings.Fields(parameters)
		}
	}
	return all
}

// ofKind are the roles of parameters by the kind that the standard gives them, where a kind has one.
var ofKind = map[string][]mpispec.Role{
	"BUFFER": {mpispec.RoleBuffer},
	"RANK": {
		mpispec.RoleDest, mpispec.RoleSource, mpispec.RoleRoot, mpispec.RoleTarget,
		mpispec.RoleNone, // of functions that ask about ranks, or name leaders
	},
	"RANK_NNI":              {mpispec.RoleTarget, mpispec.RoleNone},
	"TAG":                   {mpispec.RoleTag},
	"POLYXFER_NUM_ELEM_NNI": {mpispec.RoleCount},
	"COMMUNICATOR":          {mpispec.RoleComm, mpispec.RoleNone}, // of two, the one that the call is over
}

// otherwise are parameters of which the table says something else than the standard's list, as function.name.
var otherwise = map[string]string{
	"Precv_init.source": "dest in the list's first edition, by mistake", "Precv_init.buf": "in, likewise",
	// buffers of no elements of a datatype: addresses, to Cohort
	"Buffer_attach.buffer": "", "Free_mem.base": "", "Get_address.location": "", "Win_create.base": "",
	"Win_attach.base": "", "Win_detach.base": "", "T_cvar_read.buf": "", "T_cvar_write.buf": "", "T_pvar_read.buf": "",
	"T_pvar_readreset.buf": "", "T_pvar_write.buf": "", "T_event_read.buffer": "", "T_event_copy.buffer": "",
	"File_read_all_end.buf": "", "File_read_at_all_end.buf": "", "File_read_ordered_end.buf": "",
	"File_write_all_end.buf": "", "File_write_at_all_end.buf": "", "File_write_ordered_end.buf": "",
	// the list has a direction that C has not
	"Init.argc": "int *", "Init.argv": "char ***", "Init_thread.argc": "int *", "Init_thread.argv": "char ***",
	"Info_create_env.argc": "int", "Info_create_env.argv": "char *[]", "Cancel.request": "in, by address",
	"Status_f082f.f08_status": "const", "Status_f2f08.f_status": "const",
	// counts of what is no buffer
	"Pack_size.incount": "", "Pack_external_size.incount": "",
}

// TestStandard compares the table with the standard's own list: every function is there, with parameters of the same
// names and directions, in the roles that their kinds tell, and with a form for large counts if and only if a kind is
// of two sizes.
func TestStandard(t *testing.T) {
	used := map[string]bool{}
	all := standard(t)
	for name, want := range all {
		f, ok := mpispec.Lookup("MPI_" + name)
		if !ok {
			t.Errorf("MPI_%s is not in the table", name)
			continue
		}
		poly, large := false, f
		if f.Large != nil {
			large = f.Large
		}
		i := 0
		for _, w := range want {
			written, kind, _ := strings.Cut(w, ":")
			kind, array := strings.CutSuffix(kind, "[]")
			poly = poly || strings.HasPrefix(kind, "POLY")
			if written == "return" || written == "ierror" {
				continue
			}
			if i == len(large.Params) {
				t.Errorf("%s: %q is missing", f.Name, w)
				break
			}
			p := large.Params[i]
			i++
			if _, ok := otherwise[name+"."+p.Name]; ok {
				used[name+"."+p.Name] = true
				continue
			}
			sign := map[mpispec.Direction]string{mpispec.Out: "*", mpispec.InOut: "&"}[p.Direction]
			if got := sign + p.Name; got != strings.TrimPrefix(written, "+") && p.Type != "..." {
				t.Errorf("%s: parameter %q, %q in the standard", f.Name, got, written)
			}
			if array && !p.Array && !strings.Contains(p.Type, "[") {
				t.Errorf("%s: %s is no array", f.Name, p.Name)
			}
			if roles, ok := ofKind[kind]; ok && !slices.Contains(roles, p.Role) {
				t.Errorf("%s: %s is of kind %s, and has the role %d", f.Name, p.Name, kind, p.Role)
			}
		}
		if i != len(large.Params) {
			t.Errorf("%s: the table has %d parameters, the standard %d", f.Name, len(large.Params), i)
		}
		if poly != (f.Large != nil) {
			t.Errorf("%s: has a form with large counts: %v in the standard", f.Name, poly)
		}
	}
	for name := range otherwise {
		if !used[name] {
			t.Errorf("%s is an exception, and is not met", name)
		}
	}
	for _, f := range mpispec.Functions() {
		if _, ok := all[f.Short()]; !ok && f.Small == nil && f.Until != 30 {
			t.Errorf("%s is not in the standard's list", f.Name)
		}
	}
}

// TestBuffers looks for data that the table leaves out: where a call names a datatype and an address, the address is a
// buffer, with its count and type.
func TestBuffers(t *testing.T) {
	n := 0
	for _, f := range mpispec.Functions() {
		if f.OfType("MPI_Datatype", mpispec.In) == nil {
			continue
		}
		for i := range f.Params {
			if p := &f.Params[i]; p.Type == "void*" && p.Role != mpispec.RoleBuffer && p.Name != "attribute_val" {
				t.Errorf("%s: %s is no buffer", f.Name, p.Name)
			}
		}
		for _, b := range f.Buffers {
			n++
			count, kind := f.Param(b.Count), f.Param(b.Type)
			packed := strings.Contains(f.Name, "ack")
			if (kind == nil || kind.Array != b.ByType) && !packed || count == nil && b.Count != "" ||
				b.Count == "" && f.Param("op") == nil && f.Name != "MPI_Compare_and_swap" {
				t.Errorf("%s: %+v", f.Name, b)
			}
			if b.Array != (b.Displs != "") || b.Parts != "" && f.Param(b.Parts) == nil {
				t.Errorf("%s: %+v", f.Name, b)
			}
		}
	}
	if n < 200 {
		t.Errorf("%d buffers", n)
	}
}
