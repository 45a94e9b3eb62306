package call

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/backend"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/mpicall"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

// Resolver evaluates expressions in the rank's current frame, and knows the source text around it.
type Resolver interface {
	// Resolve evaluates one expression without side effects. Its error says in the debugger's words why it could not.
	// The language of the value is C or Fortran: handles of other languages are C's.
	Resolve(expr string) (backend.Value, error)
	// CallsOnLine returns the MPI calls whose text covers the frame's line, evaluated in it; none is no error.
	CallsOnLine(r *handle.Rank) ([]*Call, error)
	// CallAt returns the call of that function in the source text at a return address, or nil.
	CallAt(site uint64, name string) *mpicall.Call
	// Thread is the kernel's id of the frame's thread; 0: not known.
	Thread() int32
}

// OfFrame are the calls that the resolver's frame is about: that which its thread is in, else those of its line. An
// error says why there are none.
func OfFrame(r *handle.Rank, res Resolver) ([]*Call, error) {
	running, notTracked := InProgress(r, res.CallAt)
	for i := range running {
		t := &running[i]
		if id := res.Thread(); id == t.Thread || id == 0 && len(running) == 1 {
			t.source = r.Line(t.Site)
			return []*Call{t.Call}, nil
		}
	}
	calls, err := res.CallsOnLine(r)
	switch {
	case err != nil || len(calls) > 0:
		return calls, err
	case notTracked != nil:
		return nil, fault.Errorf(fault.NotFound, 0, "The line has no MPI call whose arguments Cohort can read. %v",
			notTracked)
	}
	return nil, fault.Errorf(fault.NotFound, 0,
		"The rank is in no MPI call, and its line has none whose arguments Cohort can read.")
}

// Predefined matches the names of MPI's constants.
var Predefined = regexp.MustCompile(`^MPI_[A-Z][A-Z0-9_]*$`)

// Evaluator turns expressions of the user into values and handles of a rank.
type Evaluator struct {
	Rank     *handle.Rank
	Resolver Resolver
}

// Value evaluates an expression.
func (c *Evaluator) Value(expr string) (backend.Value, error) {
	if n, err := strconv.ParseUint(expr, 0, 64); err == nil { // a literal needs no program
		return backend.Value{Number: n, HasNumber: true, Type: "a number", Language: backend.C}, nil
	}
	v, err := c.Resolver.Resolve(expr)
	if err != nil {
		return v, notResolved(err, "The expression %s cannot be evaluated here: %s.", expr,
			strings.TrimSuffix(err.Error(), "."))
	}
	if kind := registry.KindOf(v.Type); v.Language == backend.Fortran && !v.HasNumber && !v.Array && kind != 0 &&
		kind != registry.KindStatus {
		inner, err := c.Resolver.Resolve(expr + "%mpi_val") // TYPE(MPI_Datatype) of mpi_f08
		if err != nil {
			return v, notResolved(err, "The handle in %s (of type %s) cannot be read: %v.", expr, v.Type, err)
		}
		v.Number, v.HasNumber = inner.Number, inner.HasNumber
	}
	return v, nil
}

func notResolved(err error, format string, args ...any) error {
	return &fault.Error{Kind: fault.Resolve, Err: err, Message: fmt.Sprintf(format, args...)}
}

// Handle finds the record of the handle of a kind that an expression has the value of.
func (c *Evaluator) Handle(k *registry.Class, expr string, v backend.Value) (registry.Head, error) {
	if err := noHandle(expr, v, k); err != nil {
		return registry.Head{}, err
	}
	head, err := c.Rank.Lookup(k, v.Number, v.Language == backend.Fortran)
	var e *fault.Error
	switch {
	case fault.Is(err, fault.Null):
		err = k.NullError(expr)
	case fault.Is(err, fault.NotFound, fault.Freed) && errors.As(err, &e):
		err = &fault.Error{Kind: e.Kind, Address: e.Address, Err: e, Message: expr + ": " + e.Message}
	}
	return head, err
}

// Datatype is that of an expression's value.
func (c *Evaluator) Datatype(expr string, v backend.Value) (*datatype.Type, error) {
	head, err := c.Handle(registry.ClassOf(registry.KindDatatype), expr, v)
	if err != nil {
		return nil, err
	}
	return c.Rank.DatatypeAt(head.Address)
}

// addressInteger are types of integers that hold addresses.
var addressInteger = regexp.MustCompile(`(?i)^(MPI_Aint|u?intptr_t|size_t|unsigned long( long)?( int)?|a number)$`)

// AddressOf is where a buffer lies that an MPI call is given by this expression.
func AddressOf(expr string, v backend.Value) (uint64, error) {
	switch {
	case v.Pointer && v.HasNumber:
		return v.Number, nil
	case v.HasAddr && (v.Language == backend.Fortran || v.Array || v.Struct):
		return v.Address, nil
	case v.HasNumber && (!v.HasAddr || addressInteger.MatchString(v.Type)):
		return v.Number, nil
	case v.HasAddr:
		return 0, fault.Errorf(fault.Usage, 0, "The buffer %s is of type %s, which is neither a pointer nor an array. "+
			"Write &%s to see what is there.", expr, v.Type, expr)
	}
	return 0, fault.Errorf(fault.Usage, 0, "The buffer %s (of type %s) has no address in memory.", expr, v.Type)
}

// pointerToHandle is the type of a pointer to a handle: MPI_Request *, or what that is in Open MPI.
var pointerToHandle = regexp.MustCompile(`\bMPI_\w+\b[^*]*\*|\bompi_\w+_t\b[^*]*\*[^*]*\*`)

// noHandle says why a value is no handle of that kind, and what to write instead; nil if it may be one.
func noHandle(expr string, v backend.Value, k *registry.Class) error {
	ctype, hint := k.Ctype, "."
	switch {
	case v.Language == backend.C && v.Pointer && pointerToHandle.MatchString(v.Type):
		return fault.Errorf(fault.Usage, 0, "The expression %s is of type %s, a pointer to a handle. Write *%s.", expr,
			v.Type, inParentheses(expr))
	case v.Array:
		hint = ". Write " + FirstOf(expr, v.Language) + " for the first of the array."
	case v.HasNumber && (!v.Struct || v.Language != backend.C):
		return nil
	}
	if v.Language == backend.Fortran {
		ctype = "INTEGER or TYPE(" + ctype + ")"
	}
	return fault.Errorf(fault.Usage, 0, "The expression %s is of type %s; the handle of a %s is expected, a variable "+
		"of type %s%s", expr, v.Type, k.Word, ctype, hint)
}

// FirstOf is the first element of an array, as the language writes it.
func FirstOf(expr string, l backend.Language) string {
	if l == backend.Fortran {
		return expr + "(1)"
	}
	return inParentheses(expr) + "[0]"
}

func inParentheses(expr string) string {
	if plainExpression.MatchString(expr) {
		return expr
	}
	return "(" + expr + ")"
}

var plainExpression = regexp.MustCompile(`^\w+((\.|->|::)\w+|\[\w+\])*$`)
