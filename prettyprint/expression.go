package prettyprint

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
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

var predefined = regexp.MustCompile(`^MPI_[A-Z][A-Z0-9_]*$`)

func (c *evaluator) value(expr string) (Resolved, error) {
	if n, err := strconv.ParseUint(expr, 0, 64); err == nil { // a literal needs no program
		return Resolved{Number: n, HasNumber: true, Type: "a number", Language: C}, nil
	}
	v, err := c.res.Resolve(expr)
	if err != nil {
		return v, &Error{
			Kind: KindResolve, Err: err,
			Message: fmt.Sprintf("The expression %s cannot be evaluated here: %s.", expr,
				strings.TrimSuffix(err.Error(), ".")),
		}
	}
	if kind := KindOfType(v.Type); v.Language == Fortran && !v.HasNumber && kind != 0 && kind != HandleStatus &&
		!v.Array {
		inner, err := c.res.Resolve(expr + "%mpi_val") // TYPE(MPI_Datatype) of mpi_f08
		if err != nil {
			return v, &Error{
				Kind: KindResolve, Err: err,
				Message: fmt.Sprintf("The handle in %s (of type %s) cannot be read: %v.", expr, v.Type, err),
			}
		}
		v.Number, v.HasNumber = inner.Number, inner.HasNumber
	}
	return v, nil
}

func (c *evaluator) datatype(expr string, v Resolved) (*Datatype, error) {
	if err := noHandle(expr, v, infoOf(HandleDatatype)); err != nil {
		return nil, err
	}
	t, err := c.r.typeOfHandle(v.Number, v.Language == Fortran)
	switch {
	case IsKind(err, KindNull):
		return nil, nullDatatype(expr)
	case err != nil:
		return nil, c.explain(err, expr)
	}
	return t, nil
}

func (c *evaluator) comm(expr string, v Resolved) (*Comm, error) {
	if err := noHandle(expr, v, infoOf(HandleComm)); err != nil {
		return nil, err
	}
	m, err := c.r.commOfHandle(v.Number, v.Language == Fortran)
	switch {
	case IsKind(err, KindNull):
		return nil, nullComm(expr)
	case err != nil:
		return nil, c.explain(err, expr)
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
func (c *evaluator) explain(err error, expr string) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Kind == KindNotFound || e.Kind == KindFreed {
		return &Error{Kind: e.Kind, Address: e.Address, Err: e, Message: fmt.Sprintf("%s: %s", expr, e.Message)}
	}
	return err
}

func nullDatatype(expr string) error { return infoOf(HandleDatatype).nullError(expr) }

func nullComm(expr string) error { return infoOf(HandleComm).nullError(expr) }

// addressInteger are types of integers that hold addresses.
var addressInteger = regexp.MustCompile(`(?i)^(MPI_Aint|u?intptr_t|size_t|unsigned long( long)?( int)?|a number)$`)

// addressOf is where a buffer lies that an MPI call is given by this expression.
func addressOf(expr string, v Resolved) (uint64, error) {
	switch {
	case v.Pointer && v.HasNumber:
		return v.Number, nil
	case v.HasAddr && (v.Language == Fortran || v.Array || v.Struct):
		return v.Address, nil
	case v.HasNumber && (!v.HasAddr || addressInteger.MatchString(v.Type)):
		return v.Number, nil
	case v.HasAddr:
		return 0, errorf(KindUsage, 0, "The buffer %s is of type %s, which is neither a pointer nor an array. "+
			"Write &%s to see what lies there.", expr, v.Type, expr)
	}
	return 0, errorf(KindUsage, 0, "The buffer %s (of type %s) has no address in memory.", expr, v.Type)
}

// pointerToHandle is the type of a pointer to a handle: MPI_Request *, or what that is in Open MPI.
var pointerToHandle = regexp.MustCompile(`\bMPI_\w+\b[^*]*\*|\bompi_\w+_t\b[^*]*\*[^*]*\*`)

// noHandle says why a value is no handle of that kind, and what to write instead; nil if it may be one.
func noHandle(expr string, v Resolved, k *kindInfo) error {
	switch {
	case v.Language == C && v.Pointer && pointerToHandle.MatchString(v.Type):
		return errorf(KindUsage, 0, "The expression %s is of type %s, a pointer to a handle. Write *%s.", expr, v.Type,
			inParentheses(expr))
	case v.Array:
		return errorf(KindUsage, 0, "The expression %s is of type %s; the handle of a %s is expected, a variable of "+
			"type %s. Write %s for the first of the array.",
			expr, v.Type, k.word, handleType(k.ctype, v.Language), firstOf(expr, v.Language))
	case !v.HasNumber, v.Struct && v.Language == C:
		return errorf(KindUsage, 0,
			"The expression %s is of type %s; the handle of a %s is expected, a variable of type %s.",
			expr, v.Type, k.word, handleType(k.ctype, v.Language))
	}
	return nil
}

// firstOf is the first element of an array, as the language writes it.
func firstOf(expr string, l Language) string {
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
type evaluator struct {
	r   *Rank
	res Resolver
}
