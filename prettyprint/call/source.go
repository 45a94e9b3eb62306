package call

import (
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"

	"github.com/cohort-debugger/cohort/prettyprint/mpicall"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// FromSource evaluates a call in source text, in the frame of res and without side effects: an argument that calls a
// function is not evaluated. constants are what macros of the source stand for ([mpicall.Constants]), for those that
// the debugger does not know. at names the place.
func FromSource(r *handle.Rank, res Resolver, call mpicall.Call, constants map[string]string, state State,
	at string,
) *Call {
	c := newCall(r, call.Function, call.Name, &sourceArguments{
		c: Evaluator{Rank: r, Resolver: res}, call: call, constants: constants, values: map[string]outcome{},
	}, state)
	c.source = at
	return c
}

// sourceArguments are arguments as expressions of the program's language.
type sourceArguments struct {
	c         Evaluator
	call      mpicall.Call
	constants map[string]string
	values    map[string]outcome // by expression: each is evaluated once
}

type outcome struct {
	v   backend.Value
	err error
}

func (a *sourceArguments) text(parameter string) string {
	s, _ := a.call.Argument(parameter)
	return s
}

// named is the text of an argument, and the same as the name of a constant of MPI, if it may be one.
func (a *sourceArguments) named(parameter string) (expr, constant string, err error) {
	if expr = a.text(parameter); expr == "" {
		return "", "", fault.Errorf(fault.Usage, 0, "The call has no argument %s.", parameter)
	}
	constant = expr
	if a.call.Fortran {
		constant = strings.ToUpper(expr)
	}
	if !Predefined.MatchString(constant) {
		constant = ""
	}
	return expr, constant, nil
}

func (a *sourceArguments) value(expr string) (backend.Value, error) {
	got, known := a.values[expr]
	if !known {
		got.v, got.err = a.evaluate(expr)
		a.values[expr] = got
	}
	return got.v, got.err
}

func (a *sourceArguments) evaluate(expr string) (backend.Value, error) {
	if !a.call.Fortran {
		if name := mpicall.Called(expr); name != "" {
			return backend.Value{}, fault.Errorf(fault.Resolve, 0,
				"%s calls %s, and Cohort calls no function of the program.", expr, name)
		}
		if expr == "NULL" || expr == "nullptr" {
			return backend.Value{HasNumber: true, Pointer: true, Type: "void *", Language: backend.C}, nil
		}
	}
	v, err := a.c.Value(expr)
	if err != nil {
		if known := mpicall.Substitute(expr, a.constants); known != expr {
			if v, err := a.c.Value(known); err == nil {
				return v, nil
			}
		}
	}
	return v, err
}

func (a *sourceArguments) sides(c *Call) (sides []callSide) {
	for _, spec := range c.fn.Buffers {
		s := callSide{spec: spec, verb: c.fn.Verb(spec.Direction)}
		switch {
		case spec.AtRoot && (c.root == rootOther || c.root == rootNobody):
			s.nothing(notRoot)
		case c.root == rootNobody:
			s.nothing(rootElsewhere)
		default:
			a.fill(c, &s)
		}
		sides = append(sides, s)
	}
	return sides
}

// fill evaluates what there is to know of a side.
func (a *sourceArguments) fill(c *Call, s *callSide) {
	if s.spec.Direction == mpispec.BcastBuf {
		switch c.root {
		case rootSelf:
			s.verb = c.fn.Verb(mpispec.Sends)
		case rootOther:
			s.verb = c.fn.Verb(mpispec.Receives)
		default:
			s.verb = "sends or receives"
		}
	}
	addr, isInPlace, err := a.place(s.spec.Address)
	switch {
	case err != nil:
		s.err = err
	case isInPlace:
		s.inPlace()
	default:
		s.parts, s.err = a.parts(c, s.spec, addr)
	}
}

// place is where a buffer is; inPlace: it is MPI_IN_PLACE.
func (a *sourceArguments) place(parameter string) (addr uint64, inPlace bool, err error) {
	expr, constant, err := a.named(parameter)
	if err != nil {
		return 0, false, err
	}
	switch constant {
	case "MPI_IN_PLACE":
		return 0, true, nil
	case "MPI_BOTTOM":
		return 0, false, nil
	}
	if a.call.Fortran {
		if expr, err = firstOfSection(expr); err != nil {
			return 0, false, err
		}
	}
	v, err := a.value(expr)
	if err == nil {
		addr, err = AddressOf(expr, v)
	}
	return addr, err == nil && !a.call.Fortran && addr == a.c.Rank.InPlace(), err
}

// parts evaluates counts, displacements and types of a buffer.
func (a *sourceArguments) parts(c *Call, spec mpispec.Buffer, addr uint64) ([]callPart, error) {
	n, err := a.peers(c, spec)
	if err != nil {
		return nil, err
	}
	if !spec.Array {
		part := callPart{addr: addr, count: 1}
		if part.Part, err = a.datatype(spec.Type); err != nil {
			return nil, err
		}
		if spec.Count != "" {
			if part.count, err = a.count(c, spec, n); err != nil {
				return nil, err
			}
		}
		switch spec.Times {
		case mpispec.PerMember, mpispec.PerSource, mpispec.PerTarget:
			part.peers = int64(n)
		default:
		}
		return []callPart{part}, nil
	}
	counts, err := a.numbers(spec.Count, n)
	if err != nil {
		return nil, err
	}
	displs := make([]int64, n)
	if spec.Displs != "" {
		if displs, err = a.numbers(spec.Displs, n); err != nil {
			return nil, err
		}
	}
	var types []datatype.Part
	if spec.ByType {
		at, _, err := a.place(spec.Type)
		if err != nil {
			return nil, err
		}
		if types, err = a.c.Rank.DatatypeArray(a.text(spec.Type), at, n, a.call.Fortran); err != nil {
			return nil, err
		}
	} else {
		one, err := a.datatype(spec.Type)
		if err != nil {
			return nil, err
		}
		types = []datatype.Part{one}
	}
	return placeParts(types, counts, displs, addr, spec.ByType)
}

// peers is how many ranks a buffer has parts for, or a count for each.
func (a *sourceArguments) peers(c *Call, spec mpispec.Buffer) (int, error) {
	switch {
	case !spec.Array && (spec.Times == mpispec.Once || spec.Times == mpispec.Partitions):
		return 1, nil
	case c.commErr != nil:
		return 0, c.commErr
	case spec.Times == mpispec.OwnOf:
		return 1, nil
	}
	n := c.comm.Size
	if c.comm.Kind == abi.CommInter {
		n = len(c.comm.Remote)
	}
	if spec.Times == mpispec.PerSource || spec.Times == mpispec.PerTarget {
		dims := c.comm.Dims
		if len(dims) == 0 {
			return 0, fault.Errorf(fault.NotDecoded, 0,
				"How many neighbours this rank has in %s is not recorded; for Cartesian communicators it is.",
				c.comm.Summary())
		}
		n = 2 * len(dims)
	}
	if n > registry.MaxParts {
		return 0, fault.Errorf(fault.TooLarge, 0,
			"The communicator has %d members; the buffers of at most %d are shown.",
			n, registry.MaxParts)
	}
	return n, nil
}

// count evaluates the count of a buffer in one piece.
func (a *sourceArguments) count(c *Call, spec mpispec.Buffer, n int) (int64, error) {
	if spec.Times == mpispec.OwnOf || spec.Times == mpispec.SumOf {
		me := c.comm.Rank
		if spec.Times == mpispec.OwnOf {
			n = me + 1
		}
		counts, err := a.numbers(spec.Count, n)
		if err != nil {
			return 0, err
		}
		if spec.Times == mpispec.OwnOf {
			return counts[me], nil
		}
		var sum int64
		for _, k := range counts {
			sum = datatype.SatAdd(sum, max(k, 0))
		}
		return sum, nil
	}
	count, err := a.number(spec.Count)
	if err != nil {
		return 0, err
	}
	if count < 0 {
		return 0, fault.Errorf(fault.Usage, 0, "The count %s is %d; MPI takes counts from 0 on.", c.nameOf(spec.Count),
			count)
	}
	times := int64(n)
	if spec.Times == mpispec.Partitions {
		times, err = a.number(spec.Parts)
	}
	return datatype.SatMul(count, max(times, 0)), err
}

// numbers evaluates an array of int, or of MPI_Count or MPI_Aint, which have 64 bits.
func (a *sourceArguments) numbers(parameter string, n int) ([]int64, error) {
	at, _, err := a.place(parameter)
	if err != nil {
		return nil, err
	}
	return a.c.Rank.Integers(a.text(parameter), at, n, a.call.Function.Param(parameter).Type != "int")
}

// firstOfSection turns an array section of Fortran whose elements lie side by side into its first element. What an MPI
// call is given of another one is a copy, which the source does not tell.
func firstOfSection(expr string) (string, error) {
	name, subscripts, ok := strings.Cut(expr, "(")
	if !ok || name == "" || !strings.HasSuffix(expr, ")") || !strings.Contains(subscripts, ":") {
		return expr, nil
	}
	refused := fault.Errorf(fault.Resolve, 0, "%s is an array section whose elements may not lie side by side: the "+
		"call may be given a copy, whose address is not known here.", expr)
	all, err := SplitArguments(strings.ReplaceAll(strings.TrimSuffix(subscripts, ")"), " ", ""))
	if err != nil || !word.MatchString(strings.ReplaceAll(name, "%", "")) {
		return "", refused
	}
	ended := false // after the first subscript that is not a bare colon, only scalars may follow
	for i, s := range all {
		low, high, section := strings.Cut(s, ":")
		switch {
		case !section:
			ended = true
		case ended || strings.Contains(high, ":"):
			return "", refused
		default:
			ended = low != "" || high != ""
			if low == "" {
				low = fmt.Sprintf("lbound(%s,%d)", name, i+1)
			}
			all[i] = low
		}
	}
	return name + "(" + strings.Join(all, ",") + ")", nil
}

func (a *sourceArguments) number(parameter string) (int64, error) {
	expr, constant, err := a.named(parameter)
	if err != nil {
		return 0, err
	}
	switch constant {
	case "MPI_ANY_SOURCE":
		return a.c.Rank.AnySource(), nil
	case "MPI_PROC_NULL":
		return a.c.Rank.ProcNull(), nil
	case "MPI_ROOT":
		return a.c.Rank.RootConst(), nil
	case "MPI_ANY_TAG":
		return registry.AnyTag, nil
	}
	v, err := a.value(expr)
	if err == nil && (!v.HasNumber || v.Pointer) {
		err = fault.Errorf(fault.Usage, 0, "%s is of type %s; an integer is expected.", expr, v.Type)
	}
	return int64(v.Number), err
}

// datatype is that of an argument; of none, MPI_PACKED.
func (a *sourceArguments) datatype(parameter string) (datatype.Part, error) {
	if parameter == "" {
		const packed = "MPI_PACKED"
		t, err := a.c.Rank.DatatypeByName(packed)
		return datatype.Part{Name: packed, Type: t}, err
	}
	expr, constant, err := a.named(parameter)
	if err != nil {
		return datatype.Part{}, err
	}
	if constant != "" {
		t, err := a.c.Rank.DatatypeByName(constant)
		if err == nil || fault.Is(err, fault.Null) {
			return datatype.Part{Name: constant, Type: t}, err
		}
	}
	v, err := a.value(expr)
	if err != nil {
		return datatype.Part{}, err
	}
	if kind := registry.KindOf(v.Type); kind != 0 && kind != registry.KindDatatype {
		return datatype.Part{}, fault.Errorf(fault.Usage, 0, "%s is of type %s, and a datatype is expected.", expr,
			v.Type)
	}
	t, err := a.c.Datatype(expr, v)
	return datatype.Part{Name: expr, Type: t}, err
}

func (a *sourceArguments) comm(parameter string) (*handle.Comm, error) {
	expr, constant, err := a.named(parameter)
	if err != nil {
		return nil, err
	}
	switch constant {
	case "MPI_COMM_WORLD", "MPI_COMM_SELF", "MPI_COMM_NULL":
		if m, err := a.c.Rank.CommByName(constant); err == nil || fault.Is(err, fault.Null) {
			return m, err
		}
	}
	v, err := a.value(expr)
	if err != nil {
		return nil, err
	}
	head, err := a.c.Handle(registry.ClassOf(registry.KindComm), expr, v)
	if err != nil {
		return nil, err
	}
	return a.c.Rank.CommAt(head.Address)
}

func (a *sourceArguments) op() (string, error) {
	expr, constant, err := a.named("op")
	if err != nil {
		return "", err
	}
	k := registry.ClassOf(registry.KindOp)
	if constant != "" {
		if head, err := a.c.Rank.ByName(k, constant, true); err == nil {
			return a.c.Rank.ObjectOf(head).Told(), nil
		}
	}
	v, err := a.value(expr)
	if err != nil {
		return "", err
	}
	head, err := a.c.Handle(k, expr, v)
	if err != nil {
		return "", err
	}
	told := a.c.Rank.ObjectOf(head).Told()
	if word.MatchString(expr) && !strings.EqualFold(expr, told) {
		told = expr + " (" + told + ")"
	}
	return told, nil
}

func (a *sourceArguments) node(parameter string) (view.Node, bool) {
	switch parameter {
	case "request", "array_of_requests":
		array, err := a.requests()
		if err == nil && array == nil {
			return view.Node{}, false
		}
		if n, ok := a.ownRequest(parameter); ok {
			return n, true
		}
		if err != nil {
			return view.Leaf("requests", "not evaluated: "+err.Error()), true
		}
		return array.node(a.c.Rank), true
	case "op":
		op, err := a.op()
		if err != nil {
			op = a.text(parameter)
		}
		return view.Leaf(parameter, op), op != ""
	case "target_datatype":
		expr := a.text(parameter)
		if p, err := a.datatype(parameter); err == nil {
			return view.Leaf(parameter, p.Type.Told(expr)), true
		}
		return view.Leaf(parameter, expr), expr != ""
	}
	return view.Node{}, false
}

// ownRequest is for MPI_Request_get_status, which takes the handle itself.
func (a *sourceArguments) ownRequest(parameter string) (view.Node, bool) {
	v, err := a.value(a.text(parameter))
	if err != nil || a.call.Fortran || !v.HasNumber || registry.KindOf(v.Type) != registry.KindRequest ||
		strings.Contains(v.Type, "MPI_Request *") || parameter != "request" {
		return view.Node{}, false
	}
	n, err := Describe(a.c.Rank, "MPI_Request", v.Number, false)
	if err != nil {
		return view.Leaf(parameter, err.Error()), true
	}
	n.Name = parameter
	return n, true
}

// requests are those that the call completes or starts, and not those that it makes, which are not there yet.
func (a *sourceArguments) requests() (*requestArray, error) {
	f := a.call.Function
	if len(f.Buffers) > 0 || f.Has("comm") {
		return nil, nil //nolint:nilnil // none is an answer
	}
	out := &requestArray{n: 1, fortran: a.call.Fortran}
	parameter := "request"
	if p := f.Param("array_of_requests"); p != nil {
		parameter = p.Name
		var err error
		if out.n, err = a.number(p.Length); err != nil {
			return nil, err
		}
	}
	expr := a.text(parameter)
	if expr == "" {
		return nil, nil //nolint:nilnil // likewise
	}
	v, err := a.value(expr)
	if err != nil {
		return nil, err
	}
	out.addr, err = AddressOf(expr, v)
	return out, err
}
