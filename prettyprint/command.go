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

// Locator is implemented by a Resolver that can name the source line of an instruction: "heat.c:120 in exchange". An
// empty string means that it is not known.
type Locator interface {
	Locate(pc uint64) string
}

// Result is what the command found: a tree for DAP and JSON, and text for the console.
type Result struct {
	Node Node
	// File is what the user asked to have written, or nil. This package writes no files: the caller does, relative to
	// the user's directory.
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
const Usage = `mpipp                         all live handles of the rank; the calls that its threads are in and pending requests first
mpipp TYPE                    the datatype: its constructor, size, extent, signature, state
mpipp TYPE BUFFER [COUNT]     the values that COUNT (default 1) instances of the datatype TYPE select at BUFFER
mpipp COMM                    the communicator: its members, kind and place of this rank
mpipp REQUEST                 the request: operation, peer, tag, communicator, count, type, since when, where posted
mpipp X                       likewise a group, window, file, operation, error handler, info or status
mpipp --call                  the MPI call that the rank is in or its line holds: its buffers as the call sees them
mpipp --tree TYPE             the expanded type-tree: the address and offset of each basic element
mpipp --layout TYPE [COUNT]   a picture of the memory that COUNT instances select
mpipp --svg FILE TYPE [COUNT] the same picture as an SVG file
mpipp --match SEND [COUNT] to RECV [COUNT]           whether what is sent fits what is received, and where not
mpipp --match [0] SEND [COUNT] to [3] RECV [COUNT]   the same for types of two ranks
mpipp --match [0] to [3]      the same for the calls that two ranks are in or at, or the requests: [0] REQUEST to [3]
mpipp --match 2:17            in a replay: the same for the message of an event of the recording; the ranks are run to its two calls.
                              If the event has several messages: mpipp --match 2:17 from 0, or to 3, tag 7, message 2
mpipp --stack X               by which functions a handle was made
TYPE, COMM, BUFFER, COUNT, REQUEST and X are expressions of the program's language; MPI_INT and other predefined names work too.
TYPE may end in an address within the datatype: t[2][5], t(STRUCT)[2][5](CHAR), and t{3}[2] for the fourth of COUNT instances.
Options, before the rest:
  --type, --comm, --request, --group, --win, --file, --op, --errhandler, --info, --status
                   what X is, where its declared type does not tell
  --buffer         with a request: the values in its buffers
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
		r.env.Locate = loc.Locate
	}
	switch opt.action {
	case "help":
		return &Result{Node: leafNode("help", Usage), text: func(w io.Writer, _ Options) error {
			return write(w, "%s\n", Usage)
		}}, nil
	case "tree":
		return c.tree(args)
	case "layout", "svg":
		return c.picture(args)
	case "match":
		return c.match(args)
	case "export":
		return c.export(args)
	case "stack":
		return c.stack(args)
	case "call":
		return c.calls(args)
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
		if opt.action != "" && opt.action != "type" {
			return nil, errorf(KindUsage, 0, "mpipp --%s takes one %s; %d arguments were given.", opt.action,
				kindOfOption(opt.action), len(args))
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

var predefined = regexp.MustCompile(`^MPI_[A-Z][A-Z0-9_]*$`)

// handle shows what one argument stands for; want is the option that tells its kind, or empty.
func (c *command) handle(expr, want string) (*Result, error) {
	if predefined.MatchString(expr) {
		if result, known, err := c.predefinedHandle(expr, kindOfOption(want)); known {
			return result, err
		}
	}
	return tryAddresses(expr, func(expr string, a Address) (*Result, error) {
		v, err := c.value(expr)
		if err != nil {
			return nil, err
		}
		return c.handleValue(expr, a, v, kindOfOption(want))
	})
}

// predefinedHandle shows what MPI calls by that name; known is false if it is no name of MPI's: a program may have
// names that look so.
func (c *command) predefinedHandle(name string, want HandleKind) (result *Result, known bool, err error) {
	for i := range kinds {
		k := &kinds[i]
		if want != 0 && want != k.kind {
			continue
		}
		if name == k.null {
			return nil, true, k.nullError(name)
		}
		switch k.kind { //nolint:exhaustive // the others have no predefined ones, or are Objects
		case HandleDatatype:
			p, err := c.typeArgument(name)
			if err == nil {
				return c.showType(name, p.t), true, nil
			}
			if !IsKind(err, KindNotFound) {
				return nil, true, err
			}
		case HandleComm:
			if m, err := c.r.CommByName(name); err == nil && strings.HasPrefix(name, "MPI_COMM_") {
				return c.showComm(name, m), true, nil
			}
		case HandleGroup, HandleOp, HandleErrhandler, HandleInfo:
			if o, err := c.r.ObjectByName(k.kind, name); err == nil {
				result, err := c.showObject(name, o)
				return result, true, err
			}
		}
	}
	_, err = c.res.Resolve(name)
	if err == nil {
		return nil, false, nil
	}
	if want == 0 || want == HandleDatatype {
		_, err = c.r.DatatypeByName(name)
		if IsKind(err, KindNotFound) {
			err = errorf(KindNotFound, 0, "The rank's %s has no predefined handle %s, or none that Cohort keeps.",
				c.r.MPI(), name)
		}
		return nil, true, err
	}
	return nil, false, nil
}

// tryAddresses calls try with an expression and the address that may follow it, beginning with the whole as an
// expression. An error about the handle that an expression is ends the search: requests[2] that is null is no address
// within requests. Else, if none succeeds, the error is that of the shortest expression that could be
// evaluated: it tells most.
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
		if aboutHandle(err) {
			break
		}
	}
	var none T
	return none, best
}

// aboutHandle reports whether an error tells what is wrong with a handle, and not that there is none.
func aboutHandle(err error) bool {
	return IsKind(err, KindNull) || IsKind(err, KindFreed) || IsKind(err, KindNotFound) || IsKind(err, KindNotKept)
}

func (c *command) handleValue(expr string, a Address, v Resolved, want HandleKind) (*Result, error) {
	if want == 0 {
		want = KindOfType(v.Type)
	}
	if want != 0 {
		if !a.IsZero() && want != HandleDatatype {
			return nil, errorf(KindUsage, 0, "%s is a %s; only datatypes have addresses such as %s in them.", expr,
				want, a)
		}
		return c.handleOf(infoOf(want), expr, a, v)
	}
	if !a.IsZero() {
		return c.handleOf(infoOf(HandleDatatype), expr, a, v)
	}
	var found []*Result
	var of []*kindInfo
	var first error
	for i := range kinds {
		k := &kinds[i]
		r, err := c.handleOf(k, expr, a, v)
		switch {
		case err == nil:
			found, of = append(found, r), append(of, k)
		case IsKind(err, KindNotKept), IsKind(err, KindNull) && v.Language == Fortran && first != nil:
			// 0 is null of many kinds
		case first == nil || IsKind(first, KindNotFound) && !IsKind(err, KindNotFound):
			first = err
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var what, how []string
		for i, r := range found {
			what = append(what, fmt.Sprintf("of a %s (%s)", of[i].word, r.Node.Value))
			how = append(how, fmt.Sprintf("mpipp --%s %s", of[i].option, expr))
		}
		return nil, errorf(KindUsage, 0,
			"The value of %s is the handle %s, and its declared type, %s, does not tell which is meant. Write %s.",
			expr, joinAnd(what, "and"), v.Type, joinAnd(how, "or"))
	case IsKind(first, KindNotFound):
		return nil, errorf(KindNotFound, 0, "The expression %s (of type %s) is no handle of this rank: neither a "+
			"datatype nor a communicator nor anything else "+
			"that is kept. %s", expr, v.Type, first)
	}
	return nil, first
}

func joinAnd(parts []string, word string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " " + word + " " + parts[len(parts)-1]
}

// handleOf shows a value as a handle of one kind.
func (c *command) handleOf(k *kindInfo, expr string, a Address, v Resolved) (*Result, error) {
	switch k.kind { //nolint:exhaustive // the others are Objects
	case HandleDatatype:
		t, err := c.datatype(expr, v)
		if err != nil {
			return nil, err
		}
		if !a.IsZero() {
			return c.showPart(expr, t, a)
		}
		return c.showType(expr, t), nil
	case HandleComm:
		m, err := c.comm(expr, v)
		if err != nil {
			return nil, err
		}
		return c.showComm(expr, m), nil
	}
	return c.showHandle(k, expr, v)
}

func (c *command) value(expr string) (Resolved, error) {
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

func (c *command) datatype(expr string, v Resolved) (*Datatype, error) {
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

// Two of the null handles of MPICH, which its mpi.h defines as numbers. Open MPI's are addresses of objects.
const (
	mpichDatatypeNull = 0x0c000000
	mpichCommNull     = 0x04000000
)

func (c *command) comm(expr string, v Resolved) (*Comm, error) {
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

func nullDatatype(expr string) error { return infoOf(HandleDatatype).nullError(expr) }

func nullComm(expr string) error { return infoOf(HandleComm).nullError(expr) }

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
