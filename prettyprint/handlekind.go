package prettyprint

import (
	"fmt"
	"regexp"
	"strings"
)

// HandleKind is a kind of MPI handle.
type HandleKind int

// The kinds of handles, and MPI_Status, which is none but is shown like them.
const (
	HandleDatatype HandleKind = iota + 1
	HandleComm
	HandleRequest
	HandleGroup
	HandleWindow
	HandleFile
	HandleOp
	HandleErrhandler
	HandleInfo
	HandleStatus
)

// kindInfo is what there is to know of a kind whose record begins with a struct cohort_object.
type kindInfo struct {
	kind      HandleKind
	word      string // in sentences
	option    string // of mpipp
	ctype     string
	null      string
	mpichNull uint64
	openNull  string // Open MPI's object of that null handle
	feature   uint32
	size      int // of the record without what follows
}

// The features of enum cohort_feature.
const (
	featureRequests = 1 << 2
	featureCalls    = 1 << 3
	featureControl  = 1 << 16
	featureAsked    = 1 << 17
)

var kinds = []kindInfo{
	{
		HandleDatatype, "datatype", "type", "MPI_Datatype", "MPI_DATATYPE_NULL", mpichDatatypeNull, "", 1 << 0,
		datatypeHeader,
	},
	{
		HandleComm, "communicator", "comm", "MPI_Comm", "MPI_COMM_NULL", mpichCommNull, "ompi_mpi_comm_null", 1 << 1,
		commHeader,
	},
	{
		HandleRequest, "request", "request", "MPI_Request", "MPI_REQUEST_NULL", 0x2c000000, "ompi_request_null",
		featureRequests, requestSize,
	},
	{
		HandleGroup, "group", "group", "MPI_Group", "MPI_GROUP_NULL", 0x08000000, "ompi_mpi_group_null", 1 << 4,
		groupHeader,
	},
	{HandleWindow, "window", "win", "MPI_Win", "MPI_WIN_NULL", 0x20000000, "ompi_mpi_win_null", 1 << 5, windowSize},
	{HandleFile, "file", "file", "MPI_File", "MPI_FILE_NULL", 0, "ompi_mpi_file_null", 1 << 6, fileSize},
	{HandleOp, "operation", "op", "MPI_Op", "MPI_OP_NULL", 0x18000000, "ompi_mpi_op_null", 1 << 7, reductionSize},
	{
		HandleErrhandler, "error handler", "errhandler", "MPI_Errhandler", "MPI_ERRHANDLER_NULL", 0x14000000,
		"ompi_mpi_errhandler_null", 1 << 8, errhandlerSize,
	},
	{HandleInfo, "info", "info", "MPI_Info", "MPI_INFO_NULL", 0x1c000000, "ompi_mpi_info_null", 1 << 9, infoHeader},
}

func infoOf(k HandleKind) *kindInfo {
	for i := range kinds {
		if kinds[i].kind == k {
			return &kinds[i]
		}
	}
	return &kindInfo{kind: k, word: "status", option: "status", ctype: "MPI_Status"}
}

func kindOfOption(option string) HandleKind {
	for _, k := range kinds {
		if k.option == option {
			return k.kind
		}
	}
	if option == "status" {
		return HandleStatus
	}
	return 0
}

func (k HandleKind) String() string { return infoOf(k).word }

// plural of the word.
func (k *kindInfo) words() string { return k.word + "s" }

var (
	wordHandle = regexp.MustCompile(`(?i)\bmpi_(datatype|comm|request|group|win|file|op|errhandler|info|status)\b`)
	openHandle = regexp.MustCompile(`\bompi_(datatype|communicator|request|group|win|file|op|errhandler|info|status_public)_t\b`)
)

// KindOfType tells the kind of handle that a variable of this declared type is, or points to; 0 if it is none. The type
// is as a debugger writes it: MPI_Comm, Type MPI_Comm of Fortran, or what MPI_Comm stands for in Open MPI.
func KindOfType(declared string) HandleKind {
	m := wordHandle.FindStringSubmatch(declared)
	if m == nil {
		m = openHandle.FindStringSubmatch(declared)
	}
	if m == nil {
		return 0
	}
	switch word := strings.ToLower(m[1]); word {
	case "datatype":
		return HandleDatatype
	case "communicator":
		return HandleComm
	case "status_public":
		return HandleStatus
	default:
		return kindOfOption(word)
	}
}

func (r *Registry) tableOf(k HandleKind) uint64 {
	return map[HandleKind]uint64{
		HandleDatatype: r.abi.datatypes, HandleComm: r.abi.comms, HandleRequest: r.abi.requests,
		HandleGroup: r.abi.groups, HandleWindow: r.abi.windows,
		HandleFile: r.abi.files, HandleOp: r.abi.ops, HandleErrhandler: r.abi.errhandlers, HandleInfo: r.abi.infos,
	}[k]
}

// notKept is an error if the registry of this process does not keep handles of a kind.
func (r *Registry) notKept(k *kindInfo) error {
	return r.lacks(k.feature, strings.ToUpper(k.words()[:1])+k.words()[1:])
}

// lacks is an error if a feature is not there, of what is called so.
func (r *Registry) lacks(feature uint32, what string) error {
	f := r.abi.features
	const cost = "they cost time in every call"
	switch {
	case f&feature != 0:
		return nil
	case f == 0:
		return errorf(KindNotReady, r.addr,
			"%s are not known yet: the rank has not returned from MPI_Init. Let it run and ask again.", what)
	case feature&(featureRequests|featureCalls) == 0:
		return errorf(KindNotKept, r.addr, "%s are not kept by the libcohort.so of this rank.", what)
	case f&featureAsked != 0:
		return errorf(KindNotKept, r.addr, "%s are not kept in this run, because COHORT_KEEP=0 is in the rank's "+
			"environment. Start it without, and they are.", what)
	case f&featureControl != 0:
		return errorf(KindNotKept, r.addr, "%s are not kept in this run: %s, and no debugger was there when it began. "+
			"`cohort debug` keeps them; so does COHORT_KEEP=1 in the environment of `cohort record` and `cohort replay`.", what, cost)
	}
	return errorf(KindNotKept, r.addr,
		"%s are not kept in this run: %s. Start it with COHORT_KEEP=1 in its environment.", what, cost)
}

// isNull reports whether a C handle is the null handle of its kind, as far as the number tells.
func (r *Registry) isNull(k *kindInfo, h uint64) bool {
	if k.kind == HandleFile && r.MPI() == MPICH {
		return h == 0
	}
	return r.MPI() == MPICH && h == k.mpichNull
}

// isNullFortran is isNull for a Fortran handle.
func (r *Registry) isNullFortran(k *kindInfo, f int32) bool {
	if r.MPI() == MPICH {
		return k.kind == HandleFile && f == 0 || k.kind != HandleFile && uint64(uint32(f)) == k.mpichNull
	}
	return f == 0 && k.kind != HandleComm && k.kind != HandleDatatype || k.kind == HandleComm && f == 2
}

func (k *kindInfo) nullError(expr string) error {
	why := map[HandleKind]string{
		HandleDatatype:   "the type was freed or never made. It describes no memory, and no MPI call takes it.",
		HandleComm:       "it was freed, or this rank is not a member of the communicator that was made.",
		HandleRequest:    "nothing is pending: it is complete, was freed, or was never started.",
		HandleGroup:      "it was freed or never made.",
		HandleWindow:     "it was freed or never made.",
		HandleFile:       "it was closed or never opened.",
		HandleOp:         "it was freed or never made.",
		HandleErrhandler: "it was freed or never made.",
		HandleInfo:       "it gives no hints.",
	}[k.kind]
	return errorf(KindNull, 0, "%s is %s: %s", expr, k.null, why)
}

// maskOf cuts a sign-extended value to the width of a C handle of that kind.
func (r *Registry) maskOf(k *kindInfo, h uint64) uint64 {
	if k.kind == HandleFile {
		return h // a pointer in both libraries
	}
	return r.maskHandle(h)
}

func (k *kindInfo) shown(fortran bool, h uint64) string {
	if fortran {
		return fmt.Sprint(int32(h))
	}
	return fmt.Sprintf("0x%x", h)
}
