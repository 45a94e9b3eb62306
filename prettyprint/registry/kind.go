package registry

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
)

// Kind is a kind of MPI handle.
type Kind int

// The kinds of handles, and MPI_Status, which is none but is shown like them.
const (
	KindDatatype Kind = iota + 1
	KindComm
	KindRequest
	KindGroup
	KindWindow
	KindFile
	KindOp
	KindErrhandler
	KindInfo
	KindStatus
)

// Class is what there is to know of a kind whose record begins with a struct cohort_object.
type Class struct {
	Kind      Kind
	Word      string // in sentences
	Option    string // of mpipp
	Ctype     string
	Null      string
	mpichNull uint64 // as its mpi.h defines it
	openNull  string // Open MPI's object of that null handle
	whyNull   string // what it means that a variable has it
	Feature   abi.Feature
	table     func(*abi.Registry) uint64
	Size      int // of the record without what follows
}

var Classes = []Class{
	{
		KindDatatype, "datatype", "type", "MPI_Datatype", "MPI_DATATYPE_NULL", 0x0c000000, "",
		"the type was freed or never made. It describes no memory, and no MPI call takes it.", abi.FeatureDatatypes,
		func(h *abi.Registry) uint64 { return h.Datatypes }, abi.Size[abi.Datatype](),
	},
	{
		KindComm, "communicator", "comm", "MPI_Comm", "MPI_COMM_NULL", 0x04000000, "ompi_mpi_comm_null",
		"it was freed, or this rank is not a member of the communicator that was made.", abi.FeatureComms,
		func(h *abi.Registry) uint64 { return h.Comms }, abi.Size[abi.Comm](),
	},
	{
		KindRequest, "request", "request", "MPI_Request", "MPI_REQUEST_NULL", 0x2c000000, "ompi_request_null",
		"nothing is pending: it is complete, was freed, or was never started.", abi.FeatureRequests,
		func(h *abi.Registry) uint64 { return h.Requests }, abi.Size[abi.RequestRecord](),
	},
	{
		KindGroup, "group", "group", "MPI_Group", "MPI_GROUP_NULL", 0x08000000, "ompi_mpi_group_null", freedOrNone,
		abi.FeatureGroups, func(h *abi.Registry) uint64 { return h.Groups }, abi.Size[abi.Group](),
	},
	{
		KindWindow, "window", "win", "MPI_Win", "MPI_WIN_NULL", 0x20000000, "ompi_mpi_win_null", freedOrNone,
		abi.FeatureWindows, func(h *abi.Registry) uint64 { return h.Windows }, abi.Size[abi.Window](),
	},
	{
		KindFile, "file", "file", "MPI_File", "MPI_FILE_NULL", 0, "ompi_mpi_file_null",
		"it was closed or never opened.",
		abi.FeatureFiles, func(h *abi.Registry) uint64 { return h.Files }, abi.Size[abi.File](),
	},
	{
		KindOp, "operation", "op", "MPI_Op", "MPI_OP_NULL", 0x18000000, "ompi_mpi_op_null", freedOrNone,
		abi.FeatureOps, func(h *abi.Registry) uint64 { return h.Ops }, abi.Size[abi.Reduction](),
	},
	{
		KindErrhandler, "error handler", "errhandler", "MPI_Errhandler", "MPI_ERRHANDLER_NULL", 0x14000000,
		"ompi_mpi_errhandler_null", freedOrNone, abi.FeatureErrhandlers,
		func(h *abi.Registry) uint64 { return h.Errhandlers }, abi.Size[abi.Errhandler](),
	},
	{
		KindInfo, "info", "info", "MPI_Info", "MPI_INFO_NULL", 0x1c000000, "ompi_mpi_info_null", "it gives no hints.",
		abi.FeatureInfos, func(h *abi.Registry) uint64 { return h.Infos }, abi.Size[abi.Info](),
	},
}

const freedOrNone = "it was freed or never made."

func ClassOf(k Kind) *Class {
	for i := range Classes {
		if Classes[i].Kind == k {
			return &Classes[i]
		}
	}
	return &Class{Kind: k, Word: "status", Option: "status", Ctype: "MPI_Status"}
}

func KindOfOption(option string) Kind {
	for _, k := range Classes {
		if k.Option == option {
			return k.Kind
		}
	}
	if option == "status" {
		return KindStatus
	}
	return 0
}

func (k Kind) String() string { return ClassOf(k).Word }

// plural of the word.
func (k *Class) Words() string { return k.Word + "s" }

var handleType = regexp.MustCompile(`(?i)\bmpi_(datatype|comm|request|group|win|file|op|errhandler|info|status)\b|` +
	`\bompi_(datatype|communicator|request|group|win|file|op|errhandler|info|status_public)_t\b`)

// KindOf tells the kind of handle that a variable of this declared type is, or points to; 0 if it is none. The type
// is as a debugger writes it: MPI_Comm, Type MPI_Comm of Fortran, or what MPI_Comm stands for in Open MPI.
func KindOf(declared string) Kind {
	m := handleType.FindStringSubmatch(declared)
	if m == nil {
		return 0
	}
	switch word := strings.ToLower(m[1] + m[2]); word {
	case "datatype":
		return KindDatatype
	case "communicator":
		return KindComm
	case "status_public":
		return KindStatus
	default:
		return KindOfOption(word)
	}
}

func (r *Registry) tableOf(k *Class) uint64 { return k.table(&r.Header) }

// notTracked is an error if the registry of this process does not keep handles of a kind.
func (r *Registry) notTracked(k *Class) error {
	return r.NotTracked(k.Feature, strings.ToUpper(k.Words()[:1])+k.Words()[1:])
}

// NotTracked is an error if a feature is not there, of what is called so.
func (r *Registry) NotTracked(feature abi.Feature, what string) error {
	f := r.Header.Features
	const cost = "they cost time in every call"
	switch {
	case f&feature != 0:
		return nil
	case f == 0:
		return fault.Errorf(fault.NotReady, r.addr,
			"%s are not known yet: the rank has not returned from MPI_Init. Let it run and ask again.", what)
	case feature&(abi.FeatureRequests|abi.FeatureCalls) == 0:
		return fault.Errorf(fault.NotTracked, r.addr, "%s are not tracked by the libcohort.so of this rank.", what)
	case f&abi.FeatureAsked != 0:
		return fault.Errorf(fault.NotTracked, r.addr, "%s are not tracked in this run, because COHORT_KEEP=0 is in "+
			"the rank's environment. Start it without, and they are.", what)
	case f&abi.FeatureControl != 0:
		return fault.Errorf(fault.NotTracked, r.addr, "%s are not tracked in this run: %s, and no debugger was "+
			"there when it began. `cohort debug` tracks them; so does COHORT_KEEP=1 in the environment of `cohort "+
			"record` and `cohort replay`.", what, cost)
	}
	return fault.Errorf(fault.NotTracked, r.addr,
		"%s are not tracked in this run: %s. Start it with COHORT_KEEP=1 in its environment.", what, cost)
}

// isNull reports whether a handle is the null handle of its kind, as far as the number tells.
func (r *Registry) isNull(k *Class, h uint64, fortran bool) bool {
	switch {
	case r.MPI() == abi.MPICH:
		return h == k.mpichNull
	case !fortran:
		return false
	}
	return h == 0 && k.Kind != KindComm && k.Kind != KindDatatype || h == 2 && k.Kind == KindComm
}

// NullError says that an expression is the null handle.
func (k *Class) NullError(expr string) error {
	return fault.Errorf(fault.Null, 0, "%s is %s: %s", expr, k.Null, k.whyNull)
}

// Shown is a handle as its language writes it.
func (r *Registry) Shown(k *Class, h uint64, fortran bool) string {
	return k.shown(fortran, r.maskOf(k, h))
}

// maskOf cuts a sign-extended value to the width of a C handle of that kind.
func (r *Registry) maskOf(k *Class, h uint64) uint64 {
	if k.Kind == KindFile {
		return h // a pointer in both libraries
	}
	return r.maskHandle(h)
}

func (k *Class) shown(fortran bool, h uint64) string {
	if fortran {
		return fmt.Sprint(int32(h))
	}
	return fmt.Sprintf("0x%x", h)
}
