package handles

import (
	"context"
	"regexp"
	"strings"
	"sync"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

var (
	// handleType is a type of MPI handles itself, and no pointer to one, as debuggers write it: in C, in Open MPI where
	// a template or auto has lost the name, and in Fortran.
	handleType = regexp.MustCompile(`^(const |volatile )*(MPI_\w+|(struct )?ompi_[a-z]+_t \*)( ?const)?( ?&&?)?$` +
		`|^(?i:type\(?\s*mpi_[a-z]+\)?)$`)
	// handleGo is cgo's name for a type of mpi.h, or one of a package mpi: main._Ctype_MPI_Comm, mpi.Comm.
	handleGo = regexp.MustCompile(`^(?:.*/)?(?:\w+\._Ctype_(?:struct_)?MPI_|mpi\.)(\w+)$`)
	// typeName is a name that a program can have given to another type; C's own types have several words or are
	// builtIn.
	typeName = regexp.MustCompile(`^[A-Za-z_][\w:]*$`)
	builtIn  = regexp.MustCompile(`^(_?[Bb]ool|char|wchar_t|short|int|long|float|double|void|unsigned|size_t|` +
		`u?int(max|ptr|\d+)_t|integer.*|real.*|logical.*|character.*)$`)
)

// handleKind is how package prettyprint knows a type of MPI handles by its own name, or "".
func handleKind(typ string) string {
	if m := handleGo.FindStringSubmatch(typ); m != nil {
		typ = "MPI_" + m[1]
	}
	if handleType.MatchString(typ) && registry.KindOf(typ) != 0 {
		return typ
	}
	return ""
}

// aliases remembers what a program's own names for types stand for: typedef MPI_Comm comm_t. Each name is asked about
// once: what it stands for depends on the scope in theory only.
type aliases struct {
	mu    sync.Mutex
	known map[string]string
}

// handleKind is the type of MPI handles that a type is or stands for, or "".
func (a *aliases) handleKind(ctx context.Context, rank backend.Inspector, at backend.FrameID,
	v *backend.Variable,
) string {
	if kind := handleKind(v.Type); kind != "" {
		return kind
	}
	if !v.HasNumber || !typeName.MatchString(v.Type) || builtIn.MatchString(v.Type) {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	kind, known := a.known[v.Type]
	if known {
		return kind
	}
	name := v.Type
	for range 4 { // of names of names
		under, err := rank.AliasOf(ctx, at, name)
		if err != nil {
			return ""
		}
		if kind = handleKind(under); kind != "" || !typeName.MatchString(under) {
			break
		}
		name = under
	}
	if a.known == nil {
		a.known = map[string]string{}
	}
	a.known[v.Type] = kind
	return kind
}

// handleValue is what Describe is given of a variable: the handle, or the address of a status, which is no handle.
func handleValue(ctx context.Context, rank backend.Inspector, at backend.FrameID, v *backend.Variable,
	kind string,
) (uint64, bool) {
	isStatus := registry.KindOf(kind) == registry.KindStatus
	switch {
	case isStatus && v.Address != 0:
		return v.Address, true
	case v.HasNumber && int64(v.Number) < 0: // MPICH's handles are 32-bit integers, some of them with the sign bit
		return uint64(uint32(v.Number)), true
	case v.HasNumber:
		return v.Number, true
	case v.EvaluateName == "":
		return 0, false
	}
	expr := v.EvaluateName
	if strings.HasPrefix(kind, "Type ") && !isStatus {
		// An INTEGER of this name is all that mpi_f08's types hold (MPI-3.1, 17.2.5).
		expr += "%mpi_val"
	}
	value, err := rank.Resolve(ctx, at, expr)
	switch {
	case err != nil:
		return 0, false
	case isStatus:
		return value.Address, value.HasAddr
	}
	return uint64(uint32(value.Number)), value.HasNumber
}
