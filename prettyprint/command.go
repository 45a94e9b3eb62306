package prettyprint

import (
	"errors"
	"fmt"
	"io"
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

// Locator is implemented by a Resolver that can name the source line of an instruction: "heat.c:120 in exchange". An empty
// string means that it is not known.
type Locator interface {
	Locate(pc uint64) string
}

// Result is what the command found: a tree for DAP and JSON, and text for the console.
type Result struct {
	Node Node
	// File is what the user asked to have written, or nil. This package writes no files: the caller does, relative to the user's directory.
	File *File
	text func(w io.Writer, opt Options) error
}

// File is a file that the user asked for.
type File struct {
	Name string // as the user wrote it
	Data []byte
}

// Text writes the result for the console.
func (r *Result) Text(w io.Writer, opt Options) error { return r.text(w, opt) }

// JSON writes the result's tree.
func (r *Result) JSON(w io.Writer, opt Options) error { return r.Node.JSON(w, opt) }

// Usage describes the console command.
const Usage = `mpipp                         all live datatypes and communicators of the rank
mpipp TYPE                    the datatype: its constructor, size, extent, signature, state
mpipp TYPE BUFFER [COUNT]     the values that COUNT (default 1) instances of the datatype TYPE select at BUFFER
mpipp COMM                    the communicator: its members, kind and place of this rank
mpipp --tree TYPE             the expanded type-tree: the address and offset of each basic element
mpipp --layout TYPE [COUNT]   a picture of the memory that COUNT instances select
mpipp --svg FILE TYPE [COUNT] the same picture as an SVG file
mpipp --match SEND [COUNT] to RECV [COUNT]           whether what is sent fits what is received, and where not
mpipp --match [0] SEND [COUNT] to [3] RECV [COUNT]   the same for types of two ranks
TYPE, COMM, BUFFER and COUNT are expressions of the program's language; MPI_INT and other predefined names work too.
TYPE may end in an address within the datatype: t[2][5], t(STRUCT)[2][5](CHAR), and t{3}[2] for the fourth of COUNT instances.
Options, before the rest:
  --type, --comm   X is a datatype, or a communicator, where its declared type does not tell
  --from N         begin with basic element N of the buffer
  --list N         show N elements or entries instead of 200
  --width N        columns for --layout (80)
  --colour         colour for --layout
Examples:
  mpipp column &u[0][1]       mpipp column[6] &u[0][1]       mpipp MPI_DOUBLE u 10       mpipp --from 1000 MPI_INT buf n
  mpipp --layout column       mpipp --svg column.svg column  mpipp --match column 2 to MPI_DOUBLE 64`

// CommandLine runs the console command with its arguments in one line, as the user typed them after "mpipp".
func CommandLine(r *Registry, res Resolver, line string) (*Result, error) {
	opt, rest, err := splitOptions(line)
	if err != nil {
		return nil, err
	}
	args, err := SplitArguments(rest)
	if err != nil {
		return nil, err
	}
	return run(r, res, opt, args)
}

// Command runs the console command mpipp. Its errors are an [*Error] with whole sentences for the user.
func Command(r *Registry, res Resolver, args ...string) (*Result, error) {
	var opt options
	for len(args) > 0 && strings.HasPrefix(args[0], "--") {
		n, err := opt.set(args[0], func() (string, bool) {
			if len(args) < 2 {
				return "", false
			}
			return args[1], true
		})
		if err != nil {
			return nil, err
		}
		args = args[n:]
	}
	return run(r, res, opt, args)
}

func run(r *Registry, res Resolver, opt options, args []string) (*Result, error) {
	c := command{r: r, res: res, opt: opt}
	if loc, ok := res.(Locator); ok {
		c.where = loc.Locate
	}
	switch opt.action {
	case "help":
		return &Result{Node: leafNode("help", Usage), text: func(w io.Writer, _ Options) error { return write(w, "%s\n", Usage) }}, nil
	case "tree":
		return c.tree(args)
	case "layout", "svg":
		return c.picture(args)
	case "match":
		return c.match(args)
	case "export":
		return c.export(args)
	}
	switch len(args) {
	case 0:
		if opt.action == "" {
			return c.listAll()
		}
		return nil, errorf(KindUsage, 0, "mpipp --%s needs an expression. Usage:\n%s", opt.action, Usage)
	case 1:
		return c.handle(args[0], opt.action)
	case 2, 3:
		if opt.action == "comm" {
			return nil, errorf(KindUsage, 0, "mpipp --comm takes one communicator; %d arguments were given.", len(args))
		}
		return c.buffer(args)
	}
	return nil, errorf(KindUsage, 0, "mpipp takes at most three arguments, and %d were given: %s. "+
		"Put an expression with spaces in quotes. Usage:\n%s",
		len(args), strings.Join(args, " | "), Usage)
}

type command struct {
	r     *Registry
	res   Resolver
	opt   options
	where func(pc uint64) string
}

var (
	predefined   = regexp.MustCompile(`^MPI_[A-Z][A-Z0-9_]*$`)
	wordDatatype = regexp.MustCompile(`(?i)\bmpi_datatype\b`)
	wordComm     = regexp.MustCompile(`(?i)\bmpi_comm\b`)
	notHandle    = regexp.MustCompile(`\bMPI_(Request|Group|Win|File|Op|Info|Errhandler|Message|Status)\b`)
)

// handle shows what one argument stands for.
func (c *command) handle(expr, want string) (*Result, error) {
	if want != "comm" && predefined.MatchString(expr) && !strings.HasPrefix(expr, "MPI_COMM_") {
		p, err := c.typeArgument(expr)
		if err != nil {
			return nil, err
		}
		return c.showType(expr, p.t), nil
	}
	if want != "type" && strings.HasPrefix(expr, "MPI_COMM_") && predefined.MatchString(expr) {
		if expr == "MPI_COMM_NULL" {
			return nil, nullComm(expr)
		}
		m, err := c.r.CommByName(expr)
		if err != nil {
			return nil, err
		}
		return c.showComm(expr, m), nil
	}
	return tryAddresses(expr, func(expr string, a Address) (*Result, error) {
		v, err := c.value(expr)
		if err != nil {
			return nil, err
		}
		return c.handleValue(expr, a, v, want)
	})
}

// tryAddresses calls try with an expression and the address that may follow it, beginning with the whole as an expression. If none
// succeeds, the error is that of the shortest expression that could be evaluated: it tells most.
func tryAddresses[T any](expr string, try func(expr string, a Address) (T, error)) (T, error) {
	exprs, addrs := ParseAddress(expr)
	var best error
	for i := range exprs {
		v, err := try(exprs[i], addrs[i])
		if err == nil {
			return v, nil
		}
		if best == nil || !IsKind(err, KindResolve) {
			best = err
		}
	}
	var none T
	return none, best
}

func (c *command) handleValue(expr string, a Address, v Resolved, want string) (*Result, error) {
	if want == "" {
		switch {
		case wordComm.MatchString(v.Type):
			want = "comm"
		case wordDatatype.MatchString(v.Type):
			want = "type"
		}
	}
	if want == "" && notHandle.MatchString(v.Type) {
		return nil, errorf(KindUsage, 0, "The expression %s is of type %s; mpipp shows datatypes and communicators.", expr, v.Type)
	}
	var t *Datatype
	var m *Comm
	var typeErr, commErr error
	if want != "comm" {
		t, typeErr = c.datatype(expr, v)
	}
	if want != "type" && a.IsZero() {
		m, commErr = c.comm(expr, v)
	}
	switch {
	case t != nil && m != nil:
		return nil, errorf(KindUsage, 0, "The value of %s is the handle of a datatype (%s) and of a communicator (%s), and its "+
			"declared type, %s, does not tell which is meant. Write mpipp --type %s or mpipp --comm %s.",
			expr, t.Title(), m.Summary(), v.Type, expr, expr)
	case t != nil && !a.IsZero():
		return c.showPart(expr, t, a)
	case t != nil:
		return c.showType(expr, t), nil
	case m != nil:
		return c.showComm(expr, m), nil
	case typeErr != nil && commErr != nil && IsKind(typeErr, KindNotFound) && IsKind(commErr, KindNotFound):
		return nil, errorf(KindNotFound, 0, "The expression %s (of type %s) is neither a datatype nor a communicator of this rank. %s",
			expr, v.Type, typeErr)
	case typeErr != nil && (commErr == nil || !IsKind(typeErr, KindNotFound)):
		return nil, typeErr
	}
	return nil, commErr
}

func (c *command) value(expr string) (Resolved, error) {
	if n, err := strconv.ParseUint(expr, 0, 64); err == nil { // a literal needs no program
		return Resolved{Number: n, HasNumber: true, Type: "a number", Language: C}, nil
	}
	v, err := c.res.Resolve(expr)
	if err != nil {
		return v, &Error{
			Kind: KindResolve, Err: err,
			Message: fmt.Sprintf("The expression %s cannot be evaluated here: %s.", expr, strings.TrimSuffix(err.Error(), ".")),
		}
	}
	if v.Language == Fortran && !v.HasNumber && (wordDatatype.MatchString(v.Type) || wordComm.MatchString(v.Type)) {
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

func (c *command) datatype(expr string, v Resolved) (*Datatype, error) {
	if !v.HasNumber || v.Array || v.Struct && v.Language == C {
		return nil, errorf(KindUsage, 0, "The expression %s is of type %s; a datatype's handle is expected, a variable of type %s.",
			expr, v.Type, handleType("MPI_Datatype", v.Language))
	}
	var t *Datatype
	var err error
	switch {
	case v.Language == Fortran:
		t, err = c.r.DatatypeByFortran(int32(v.Number))
	case c.r.MPI() == MPICH && c.r.maskHandle(v.Number) == mpichDatatypeNull:
		return nil, nullDatatype(expr)
	default:
		t, err = c.r.DatatypeByHandle(v.Number)
	}
	if err != nil {
		return nil, c.explain(err, expr)
	}
	if t.basic() == BasicNull {
		return nil, nullDatatype(expr)
	}
	return t, nil
}

// The null handles of MPICH, which its mpi.h defines as numbers. Open MPI's are addresses of objects: the registry holds them.
const (
	mpichDatatypeNull = 0x0c000000
	mpichCommNull     = 0x04000000
)

func (c *command) comm(expr string, v Resolved) (*Comm, error) {
	if !v.HasNumber || v.Array || v.Struct && v.Language == C {
		return nil, errorf(KindUsage, 0, "The expression %s is of type %s; a communicator's handle is expected, a variable of type %s.",
			expr, v.Type, handleType("MPI_Comm", v.Language))
	}
	var m *Comm
	var err error
	switch {
	case c.r.MPI() == MPICH && c.r.maskHandle(v.Number) == mpichCommNull:
		return nil, nullComm(expr)
	case v.Language == Fortran:
		m, err = c.r.CommByFortran(int32(v.Number))
	default:
		m, err = c.r.CommByHandle(v.Number)
	}
	if err != nil {
		return nil, c.explain(err, expr)
	}
	if m.Kind() == CommNull {
		return nil, nullComm(expr)
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
func (c *command) explain(err error, expr string) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Kind == KindNotFound || e.Kind == KindFreed {
		return &Error{Kind: e.Kind, Address: e.Address, Err: e, Message: fmt.Sprintf("%s: %s", expr, e.Message)}
	}
	return err
}

func nullDatatype(expr string) error {
	return errorf(KindNull, 0, "%s is MPI_DATATYPE_NULL: the type was freed or never made. It describes no memory, and no MPI call "+
		"takes it.", expr)
}

func nullComm(expr string) error {
	return errorf(KindNull, 0, "%s is MPI_COMM_NULL: it was freed, or this rank is not a member of the communicator that was made.", expr)
}

func (c *command) showType(name string, t *Datatype) *Result {
	return &Result{Node: t.Node(name, c.where), text: func(w io.Writer, opt Options) error {
		return t.Text(w, name, c.where, c.opt.filled(opt))
	}}
}

func (c *command) showComm(name string, m *Comm) *Result {
	n := m.Node(name, c.where)
	return &Result{Node: n, text: func(w io.Writer, opt Options) error {
		if err := write(w, "%s: %s\n", name, n.Value); err != nil {
			return err
		}
		return n.Text(w, c.opt.filled(opt))
	}}
}
