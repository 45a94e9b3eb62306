package call

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cohort-debugger/cohort/backend"

	"github.com/cohort-debugger/cohort/prettyprint/mpicall"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// FromSource evaluates a call in source text, in the frame of res and without side effects: an argument
// that calls a function is not evaluated. constants are what macros of the source stand for ([mpicall.Constants]), for
// those that the debugger does not know. at names the place.
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
	expr, ok := a.call.Argument(parameter)
	if !ok || expr == "" {
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

var callC = regexp.MustCompile(`([A-Za-z_]\w*)\s*(<[^<>()]*>)?\s*\(`)

// callIn names the function that an expression of C calls; "" if it calls none that is to be seen.
func callIn(expr string) string {
	for _, m := range callC.FindAllStringSubmatch(expr, -1) {
		switch m[1] {
		case "sizeof", "alignof", "_Alignof", "static_cast", "reinterpret_cast", "const_cast":
		default:
			return m[1]
		}
	}
	return ""
}

func (a *sourceArguments) value(expr string) (backend.Value, error) {
	if got, ok := a.values[expr]; ok {
		return got.v, got.err
	}
	got := a.evaluate(expr)
	a.values[expr] = got
	return got.v, got.err
}

func (a *sourceArguments) evaluate(expr string) outcome {
	if !a.call.Fortran {
		if name := callIn(expr); name != "" {
			return outcome{err: fault.Errorf(fault.Resolve, 0, "%s calls %s, and Cohort calls no function of the "+
				"program.",
				expr, name)}
		}
		if expr == "NULL" || expr == "nullptr" {
			return outcome{v: backend.Value{HasNumber: true, Pointer: true, Type: "void *", Language: backend.C}}
		}
	}
	v, err := a.c.Value(expr)
	if err == nil {
		return outcome{v: v}
	}
	if known, changed := mpicall.Substitute(expr, a.constants); changed {
		if v, err2 := a.c.Value(known); err2 == nil {
			return outcome{v: v}
		}
	}
	return outcome{err: err}
}

func (a *sourceArguments) place(parameter string) (place, error) {
	expr, constant, err := a.named(parameter)
	if err != nil {
		return place{}, err
	}
	switch constant {
	case "MPI_IN_PLACE":
		return place{inPlace: true}, nil
	case "MPI_BOTTOM":
		return place{}, nil
	}
	if a.call.Fortran {
		if expr, err = firstOfSection(expr); err != nil {
			return place{}, err
		}
	}
	v, err := a.value(expr)
	if err != nil {
		return place{}, err
	}
	addr, err := AddressOf(expr, v)
	if err == nil && !a.call.Fortran && addr == a.c.Rank.InPlace() {
		return place{inPlace: true}, nil
	}
	return place{addr: addr}, err
}

// firstOfSection turns an array section of Fortran whose elements lie side by side into its first element. What an MPI
// call is given of another one is a copy, which the source does not tell.
func firstOfSection(expr string) (string, error) {
	open := strings.IndexByte(expr, '(')
	if open <= 0 || !strings.HasSuffix(expr, ")") || !strings.Contains(expr[open:], ":") {
		return expr, nil
	}
	name := expr[:open]
	subscripts, err := SplitArguments(strings.ReplaceAll(expr[open+1:len(expr)-1], " ", ""))
	refused := fault.Errorf(fault.Resolve, 0, "%s is an array section whose elements may not lie side by side: the "+
		"call may "+
		"be given a copy, whose address is not known here.", expr)
	if err != nil || !simpleName(strings.ReplaceAll(name, "%", "")) {
		return "", refused
	}
	ended := false // after the first subscript that is not a bare colon, only scalars may follow
	for i, s := range subscripts {
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
			subscripts[i] = low
		}
	}
	return name + "(" + strings.Join(subscripts, ",") + ")", nil
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
	if err != nil {
		return 0, err
	}
	if !v.HasNumber || v.Pointer {
		return 0, fault.Errorf(fault.Usage, 0, "%s is of type %s; an integer is expected.", expr, v.Type)
	}
	return int64(v.Number), nil
}

func (a *sourceArguments) numbers(parameter string, n int, wide bool) ([]int64, error) {
	at, err := a.place(parameter)
	if err != nil {
		return nil, err
	}
	return a.c.Rank.Integers(a.text(parameter), at.addr, n, wide)
}

func (a *sourceArguments) datatype(parameter string) (datatype.Part, error) {
	expr, constant, err := a.named(parameter)
	if err != nil {
		return datatype.Part{}, err
	}
	if constant == "MPI_DATATYPE_NULL" {
		return datatype.Part{}, registry.ClassOf(registry.KindDatatype).NullError(constant)
	}
	if constant != "" {
		if t, err := a.c.Rank.DatatypeByName(constant); err == nil {
			return datatype.Part{Name: constant, Type: t}, nil
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

func (a *sourceArguments) datatypes(parameter string, n int) ([]datatype.Part, error) {
	at, err := a.place(parameter)
	if err != nil {
		return nil, err
	}
	return a.c.Rank.DatatypeArray(a.text(parameter), at.addr, n, a.call.Fortran)
}

func (a *sourceArguments) comm(parameter string) (*handle.Comm, error) {
	expr, constant, err := a.named(parameter)
	if err != nil {
		return nil, err
	}
	switch constant {
	case "MPI_COMM_NULL":
		return nil, registry.ClassOf(registry.KindComm).NullError(constant)
	case "MPI_COMM_WORLD", "MPI_COMM_SELF":
		if m, err := a.c.Rank.CommByName(constant); err == nil {
			return m, nil
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

// scalars are arguments that are shown as their numbers.
var scalars = map[string]bool{
	"dest": true, "source": true, "tag": true, "sendtag": true, "recvtag": true, "root": true, "target_rank": true,
	"target_disp": true, "target_count": true,
	"offset": true, "insize": true, "outsize": true, "partitions": true,
}

func (a *sourceArguments) node(parameter string) (view.Node, bool) {
	expr := a.text(parameter)
	switch {
	case expr == "":
		return view.Node{}, false
	case parameter == "request" || parameter == "array_of_requests":
		return a.requests(parameter)
	case parameter == "op" || parameter == "target_datatype":
		return view.Leaf(parameter, expr), true
	case !scalars[parameter]:
		return view.Node{}, false
	}
	n, err := a.number(parameter)
	if err != nil {
		return view.Leaf(parameter, expr+" (not evaluated: "+err.Error()+")"), true
	}
	return view.Number(parameter, n), true
}

// requests shows the requests that a call is given; those that it makes are not there yet.
func (a *sourceArguments) requests(parameter string) (view.Node, bool) {
	if f := a.call.Function; len(f.Buffers) > 0 || f.Has("comm") {
		return view.Node{}, false
	}
	if o, given, err := a.givenRequest(parameter); given {
		if err != nil {
			return view.Leaf(parameter, err.Error()), true
		}
		return o, true
	}
	array, err := a.requestArray()
	if err != nil {
		return view.Leaf("requests", "not evaluated: "+err.Error()), true
	}
	return requestList(a.c.Rank, *array), true
}

// givenRequest is for MPI_Request_get_status, which takes the handle itself.
func (a *sourceArguments) givenRequest(parameter string) (n view.Node, given bool, err error) {
	v, _ := a.value(a.text(parameter)) // who asks for the array finds out why not
	if a.call.Fortran || !v.HasNumber || registry.KindOf(v.Type) != registry.KindRequest ||
		strings.Contains(v.Type, "MPI_Request *") || parameter != "request" {
		return view.Node{}, false, nil
	}
	n, err = Describe(a.c.Rank, "MPI_Request", v.Number, false)
	n.Name = parameter
	return n, true, err
}

// requestArray is where the requests are that the call is given; nil if it is given none.
func (a *sourceArguments) requestArray() (*requestArray, error) {
	f := a.call.Function
	out := &requestArray{n: 1, fortran: a.call.Fortran}
	parameter := "request"
	if f.Has("array_of_requests") {
		parameter = "array_of_requests"
		count := "count"
		if !f.Has(count) {
			count = "incount"
		}
		var err error
		if out.n, err = a.number(count); err != nil {
			return nil, err
		}
	}
	if !f.Has(parameter) || len(f.Buffers) > 0 || f.Has("comm") {
		return nil, nil
	}
	expr := a.text(parameter)
	v, err := a.value(expr)
	if err != nil {
		return nil, err
	}
	out.addr, err = AddressOf(expr, v)
	return out, err
}
