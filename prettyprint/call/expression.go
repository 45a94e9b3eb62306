package call

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

// Language is the language of the frame in which a Resolver evaluates.
type Language int

// The languages whose handles and arguments differ.
const (
	C       Language = iota + 1 // and C++
	Fortran                     // handles are INTEGER or TYPE(MPI_Datatype); arguments are passed by reference
)

// Resolved is what an expression of the user's language stands for.
type Resolved struct {
	Number    uint64 // the value, if it is an integer, an enumeration or a pointer; signed ones extended to 64 bits
	HasNumber bool
	Address   uint64 // where the object lies, if it lies in memory
	HasAddr   bool
	Pointer   bool   // Number is a pointer's value
	Array     bool   // the object is an array (or a string) that begins at Address
	Struct    bool   // the object is a structure, union, class or derived type
	Type      string // its type as declared, such as MPI_Datatype, double *, real(kind=8)
	Language  Language
}

// Resolver evaluates expressions in the rank's current frame. The gdb backend implements it.
type Resolver interface {
	// Resolve evaluates one expression without side effects. Its error says in the debugger's words why it could not.
	Resolve(expr string) (Resolved, error)
}

// Locator is implemented by a Resolver that can name the source line of an instruction: "heat.c:120 in exchange". An
// empty string means that it is not known.
type Locator interface {
	Locate(pc uint64) string
}

var Predefined = regexp.MustCompile(`^MPI_[A-Z][A-Z0-9_]*$`)

func (c *Evaluator) Value(expr string) (Resolved, error) {
	if n, err := strconv.ParseUint(expr, 0, 64); err == nil { // a literal needs no program
		return Resolved{Number: n, HasNumber: true, Type: "a number", Language: C}, nil
	}
	v, err := c.Resolver.Resolve(expr)
	if err != nil {
		return v, &fault.Error{
			Kind: fault.Resolve, Err: err,
			Message: fmt.Sprintf("The expression %s cannot be evaluated here: %s.", expr,
				strings.TrimSuffix(err.Error(), ".")),
		}
	}
	if kind := registry.KindOf(v.Type); v.Language == Fortran && !v.HasNumber && kind != 0 && kind != registry.KindStatus &&
		!v.Array {
		inner, err := c.Resolver.Resolve(expr + "%mpi_val") // TYPE(MPI_Datatype) of mpi_f08
		if err != nil {
			return v, &fault.Error{
				Kind: fault.Resolve, Err: err,
				Message: fmt.Sprintf("The handle in %s (of type %s) cannot be read: %v.", expr, v.Type, err),
			}
		}
		v.Number, v.HasNumber = inner.Number, inner.HasNumber
	}
	return v, nil
}

func (c *Evaluator) Datatype(expr string, v Resolved) (*datatype.Type, error) {
	if err := NoHandle(expr, v, registry.ClassOf(registry.KindDatatype)); err != nil {
		return nil, err
	}
	t, err := c.Rank.DatatypeOfHandle(v.Number, v.Language == Fortran)
	switch {
	case fault.Is(err, fault.Null):
		return nil, NullDatatype(expr)
	case err != nil:
		return nil, c.Explain(err, expr)
	}
	return t, nil
}

func (c *Evaluator) Comm(expr string, v Resolved) (*handle.Comm, error) {
	if err := NoHandle(expr, v, registry.ClassOf(registry.KindComm)); err != nil {
		return nil, err
	}
	m, err := c.Rank.CommOfHandle(v.Number, v.Language == Fortran)
	switch {
	case fault.Is(err, fault.Null):
		return nil, nullComm(expr)
	case err != nil:
		return nil, c.Explain(err, expr)
	}
	return m, nil
}

func handleType(name string, l Language) string {
	if l == Fortran {
		return "INTEGER or TYPE(" + name + ")"
	}
	return name
}

// explain puts the expression before an error about its value.
func (c *Evaluator) Explain(err error, expr string) error {
	var e *fault.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Kind == fault.NotFound || e.Kind == fault.Freed {
		return &fault.Error{Kind: e.Kind, Address: e.Address, Err: e, Message: fmt.Sprintf("%s: %s", expr, e.Message)}
	}
	return err
}

func NullDatatype(expr string) error { return registry.ClassOf(registry.KindDatatype).NullError(expr) }

func nullComm(expr string) error { return registry.ClassOf(registry.KindComm).NullError(expr) }

// addressInteger are types of integers that hold addresses.
var addressInteger = regexp.MustCompile(`(?i)^(MPI_Aint|u?intptr_t|size_t|unsigned long( long)?( int)?|a number)$`)

// addressOf is where a buffer lies that an MPI call is given by this expression.
func AddressOf(expr string, v Resolved) (uint64, error) {
	switch {
	case v.Pointer && v.HasNumber:
		return v.Number, nil
	case v.HasAddr && (v.Language == Fortran || v.Array || v.Struct):
		return v.Address, nil
	case v.HasNumber && (!v.HasAddr || addressInteger.MatchString(v.Type)):
		return v.Number, nil
	case v.HasAddr:
		return 0, fault.Errorf(fault.Usage, 0, "The buffer %s is of type %s, which is neither a pointer nor an array. "+
			"Write &%s to see what lies there.", expr, v.Type, expr)
	}
	return 0, fault.Errorf(fault.Usage, 0, "The buffer %s (of type %s) has no address in memory.", expr, v.Type)
}

// pointerToHandle is the type of a pointer to a handle: MPI_Request *, or what that is in Open MPI.
var pointerToHandle = regexp.MustCompile(`\bMPI_\w+\b[^*]*\*|\bompi_\w+_t\b[^*]*\*[^*]*\*`)

// noHandle says why a value is no handle of that kind, and what to write instead; nil if it may be one.
func NoHandle(expr string, v Resolved, k *registry.Class) error {
	switch {
	case v.Language == C && v.Pointer && pointerToHandle.MatchString(v.Type):
		return fault.Errorf(fault.Usage, 0, "The expression %s is of type %s, a pointer to a handle. Write *%s.", expr, v.Type,
			inParentheses(expr))
	case v.Array:
		return fault.Errorf(fault.Usage, 0, "The expression %s is of type %s; the handle of a %s is expected, a variable of "+
			"type %s. Write %s for the first of the array.",
			expr, v.Type, k.Word, handleType(k.Ctype, v.Language), FirstOf(expr, v.Language))
	case !v.HasNumber, v.Struct && v.Language == C:
		return fault.Errorf(fault.Usage, 0,
			"The expression %s is of type %s; the handle of a %s is expected, a variable of type %s.",
			expr, v.Type, k.Word, handleType(k.Ctype, v.Language))
	}
	return nil
}

// firstOf is the first element of an array, as the language writes it.
func FirstOf(expr string, l Language) string {
	if l == Fortran {
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

// evaluator turns expressions of the user into handles of a rank.
type Evaluator struct {
	Rank     *handle.Rank
	Resolver Resolver
}
