package gdb

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/gdbmi"
)

// manyChildren is the size from which gdb's own listing of an array's children is avoided: it makes an
// object for every element, also for a page of ten (1.3 s for 300,000, measured).
const manyChildren = 1000

// mostListed bounds a request for all children.
const mostListed = 5000

func (o *owner) Scopes(ctx context.Context, at backend.FrameID) ([]backend.Scope, error) {
	names, err := o.listNames(ctx, at)
	if err != nil {
		return nil, err
	}
	nargs := 0
	for _, n := range names {
		if n.arg {
			nargs++
		}
	}
	fortran := o.isFortran(ctx, at)
	add := func(kind nodeKind) backend.Ref {
		return o.refs.Add(&node{kind: kind, frame: at, fortran: fortran})
	}
	scopes := []backend.Scope{
		{Name: "Locals", Kind: "locals", Ref: add(locals), Named: len(names) - nargs},
		{Name: "Arguments", Kind: "arguments", Ref: add(arguments_), Named: nargs},
		{Name: "Registers", Kind: "registers", Ref: add(registers), Expensive: true},
	}
	if len(names) == nargs { // editors open the first scope by themselves, so it should hold something
		scopes[0], scopes[1] = scopes[1], scopes[0]
	}
	return scopes, nil
}

type localName struct {
	name     string
	arg      bool
	shadowed bool // an inner block has another of this name
	value    string
}

// listNames returns the arguments and locals of a frame, innermost block first, as gdb gives them.
func (o *owner) listNames(ctx context.Context, at backend.FrameID) ([]localName, error) {
	r, err := o.send(ctx, inFrame("stack-list-variables", at).Opt("--no-values"))
	if err != nil {
		return nil, fmt.Errorf("the variables of frame %d of thread %d cannot be listed: %s", at.Level, at.Thread,
			message(err))
	}
	names, err := readNames(r)
	for _, n := range names {
		if n.shadowed {
			// Its value cannot be had by its name; this listing goes by symbol.
			if r, err = o.send(ctx, inFrame("stack-list-variables", at).Opt("--all-values")); err == nil {
				return readNames(r)
			}
			break
		}
	}
	return names, err
}

func readNames(r gdbmi.Record) ([]localName, error) {
	var names []localName
	seen := map[string]bool{}
	f := r.Fields()
	for t := range f.Tuples("variables") {
		n := localName{name: t.String("name"), arg: t.OptBool("arg"), value: t.OptString("value")}
		n.shadowed = seen[n.name]
		seen[n.name] = true
		names = append(names, n)
	}
	return names, f.Err()
}

// form says how variables are to be shown.
type form struct {
	hex       bool
	addresses bool // they have Address
}

func formOf(req backend.VariablesRequest) form { return form{req.Hex, req.Addresses} }

func (o *owner) Variables(ctx context.Context, req backend.VariablesRequest) ([]backend.Variable, error) {
	n, err := o.refs.Get(req.Ref)
	if err != nil {
		return nil, err
	}
	if o.stale {
		if _, err := o.send(ctx, gdbmi.Cmd("var-update", "--no-values", "*")); err != nil {
			return nil, err
		}
		o.stale = false
	}
	if n.kids == nil {
		n.kids = map[string]string{}
	}
	indexed := n.kind == object && isArray(n.v)
	if req.Filter == "indexed" && !indexed || req.Filter == "named" && indexed {
		return nil, nil
	}
	switch n.kind { //nolint:exhaustive // object is the rest
	case locals, arguments_:
		return o.frameVariables(ctx, n, req)
	case registers:
		return o.registers(ctx, n, req)
	}
	return o.children(ctx, n, req)
}

func (o *owner) frameVariables(ctx context.Context, n *node, req backend.VariablesRequest) ([]backend.Variable, error) {
	all, err := o.listNames(ctx, n.frame)
	if err != nil {
		return nil, err
	}
	var names []localName
	for _, l := range all {
		if l.arg == (n.kind == arguments_) {
			names = append(names, l)
		}
	}
	first, last := base.Page(req.Start, req.Count, len(names))
	var out []backend.Variable
	for _, l := range names[first:last] {
		s := backend.Variable{Name: l.name + " (shadowed)", Value: l.value, ReadOnly: true}
		if !l.shadowed {
			if s, err = o.part(ctx, n, l.name, l.name, formOf(req)); err != nil {
				return nil, err
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// part shows what an expression names within n, or why it cannot be read; the error is for a gdb that does not answer.
func (o *owner) part(ctx context.Context, n *node, name, expr string, as form) (backend.Variable, error) {
	v, err := o.createVar(ctx, n.frame, expr)
	if s, ok := unreadable(name, err); ok {
		return s, nil
	}
	if err != nil {
		return backend.Variable{}, err
	}
	n.kids[name] = v.name
	return o.show(ctx, n, name, v, as), nil
}

// unreadable shows gdb's refusal in the place of a value.
func unreadable(name string, err error) (backend.Variable, bool) {
	ce, ok := errors.AsType[*gdbmi.CommandError](err)
	if !ok {
		return backend.Variable{}, false
	}
	return backend.Variable{Name: name, Value: "<" + strings.TrimSuffix(ce.Msg, ".") + ">", ReadOnly: true}, true
}

// children lists the members of a variable object.
func (o *owner) children(ctx context.Context, n *node, req backend.VariablesRequest) ([]backend.Variable, error) {
	if isArray(n.v) && !n.v.dynamic {
		from, to := base.Page(req.Start, req.Count, n.v.children)
		rest := max(to-from-mostListed, 0)
		to -= rest
		var out []backend.Variable
		var err error
		if _, _, ok := elementExpr(n.v, n.fortran, 0); ok && n.v.children > manyChildren {
			out, err = o.elements(ctx, n, from, to, formOf(req))
		} else {
			out, err = o.listed(ctx, n, from, to, formOf(req))
		}
		if rest > 0 && err == nil {
			out = append(out, base.More(rest))
		}
		return out, err
	}
	from, to := max(req.Start, 0), -1
	switch {
	case req.Count > 0:
		to = from + req.Count
	case n.v.dynamic:
		to = from + mostListed
	case from == 0:
		from = -1
	}
	if n.v.dynamic || from < 0 {
		return o.listed(ctx, n, from, to, formOf(req))
	}
	// Access specifiers are spread out, so positions here are not gdb's: list all and cut.
	out, err := o.listed(ctx, n, -1, -1, formOf(req))
	lo, hi := base.Page(req.Start, req.Count, len(out))
	return out[lo:hi], err
}

// elements shows a page of a long array, each element by an expression of its own.
func (o *owner) elements(ctx context.Context, n *node, from, to int, as form) ([]backend.Variable, error) {
	out := make([]backend.Variable, 0, to-from)
	for i := from; i < to; i++ {
		name, expr, _ := elementExpr(n.v, n.fortran, i)
		s, err := o.part(ctx, n, name, expr, as)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// listed shows the children from (inclusive) to (exclusive) as gdb lists them; -1: all.
func (o *owner) listed(ctx context.Context, n *node, from, to int, as form) ([]backend.Variable, error) {
	c := gdbmi.Cmd("var-list-children", "--all-values", n.v.name)
	if from >= 0 {
		c = c.Opt(strconv.Itoa(from), strconv.Itoa(to))
	}
	r, err := o.send(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("the members of %s cannot be listed: %s", n.v.expr, message(err))
	}
	var out []backend.Variable
	f := r.Fields()
	var kids []varobj
	var exps []string
	for t := range f.Tuples("children") {
		v := readVarobj(t)
		// A listing does not say of a printer's object whether it has members; only strings are known to have none.
		v.more = v.more || v.dynamic && v.hint != "string"
		kids, exps = append(kids, v), append(exps, t.OptString("exp"))
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	if n.v.hint == "map" {
		return o.mapEntries(ctx, n, kids, as), nil
	}
	for i, v := range kids {
		if v.typ == "" && v.value == "" && isAccess(exps[i]) {
			inner := &node{kind: object, frame: n.frame, fortran: n.fortran, v: v, kids: n.kids}
			members, err := o.listed(ctx, inner, -1, -1, as)
			if err != nil {
				return nil, err
			}
			out = append(out, members...)
			continue
		}
		v.expr = childExpr(n.v, n.fortran, exps[i], max(from, 0)+i)
		if v.expr == "" && !n.v.dynamic && !n.fortran {
			if r, err := o.send(ctx, gdbmi.Cmd("var-info-path-expression", v.name)); err == nil {
				v.expr = r.Fields().OptString("path_expr")
			}
		}
		name := strings.Trim(exps[i], "[]")
		n.kids[name] = v.name
		out = append(out, o.show(ctx, n, name, v, as))
	}
	return out, nil
}

func isAccess(exp string) bool { return exp == "public" || exp == "private" || exp == "protected" }

// mapEntries pairs the children of a map, which gdb gives as key, value, key, value.
func (o *owner) mapEntries(ctx context.Context, n *node, kids []varobj, as form) []backend.Variable {
	var out []backend.Variable
	for i := 0; i+1 < len(kids); i += 2 {
		name := "[" + kids[i].value + "]"
		n.kids[name] = kids[i+1].name
		out = append(out, o.show(ctx, n, name, kids[i+1], as))
	}
	return out
}

// wideRegisters are left out: their values are long and are asked for by name when they matter.
var wideRegisters = regexp.MustCompile(`^([xyzk]?mm\d*|[xyz]mm.*|st\d|k\d|v\d+|q\d+|d\d+|s\d+|h\d+|b\d+|z\d+|` +
	`p\d+|vs\d+` +
	`|f[a-z]*\d*|mxcsr|.*_raw|ftag|fctrl|fstat|[abcd][lhx]|[sd]il|[sb]pl|[sd]i|[sb]p|e[a-d]x|e[sd]i|e[sb]p|r\d+[lwd])$`)

func (o *owner) registers(ctx context.Context, n *node, req backend.VariablesRequest) ([]backend.Variable, error) {
	if o.regNames == nil {
		r, err := o.send(ctx, gdbmi.Cmd("data-list-register-names"))
		if err != nil {
			return nil, err
		}
		o.regNames = r.Fields().Strings("register-names")
	}
	var numbers []string
	for i, name := range o.regNames {
		if name != "" && !wideRegisters.MatchString(name) {
			numbers = append(numbers, strconv.Itoa(i))
		}
	}
	from, to := base.Page(req.Start, req.Count, len(numbers))
	if from == to {
		return nil, nil
	}
	r, err := o.send(ctx, inFrame("data-list-register-values", n.frame).Opt("--skip-unavailable", "x").
		Opt(numbers[from:to]...))
	if err != nil {
		return nil, err
	}
	var out []backend.Variable
	f := r.Fields()
	for t := range f.Tuples("register-values") {
		i := t.Int("number")
		if i < 0 || i >= len(o.regNames) {
			continue
		}
		name := o.regNames[i]
		out = append(out, backend.Variable{Name: name, Value: t.String("value"), EvaluateName: "$" + name})
	}
	return out, f.Err()
}

func (o *owner) SetVariable(ctx context.Context, req backend.SetVariableRequest) (backend.Variable, error) {
	if err := o.notCore("set a variable"); err != nil {
		return backend.Variable{}, err
	}
	refused := func(err error) (backend.Variable, error) {
		return backend.Variable{}, fmt.Errorf("%s cannot be set to %s: %s", req.Name, req.Value, message(err))
	}
	if req.Ref == 0 {
		v, err := o.createVar(ctx, req.Frame, req.Name)
		if err != nil {
			return refused(err)
		}
		r, err := o.send(ctx, gdbmi.Cmd("var-assign", v.name, req.Value))
		if err != nil {
			return refused(err)
		}
		o.stale = true
		v.value = r.Fields().OptString("value")
		n := &node{frame: req.Frame, fortran: o.isFortran(ctx, req.Frame)}
		return o.show(ctx, n, req.Name, v, form{addresses: true}), nil
	}
	n, err := o.refs.Get(req.Ref)
	if err != nil {
		return backend.Variable{}, err
	}
	if n.kind == registers {
		if _, err := o.value(ctx, n.frame, "$"+req.Name+" = ("+req.Value+")"); err != nil {
			return refused(err)
		}
		o.stale = true
		v, err := o.value(ctx, n.frame, "$"+req.Name)
		return backend.Variable{Name: req.Name, Value: v}, err
	}
	name := n.kids[req.Name]
	if name == "" {
		if _, err := o.Variables(ctx, backend.VariablesRequest{Ref: req.Ref}); err != nil {
			return backend.Variable{}, err
		}
		if name = n.kids[req.Name]; name == "" {
			return backend.Variable{}, fmt.Errorf("there is no variable %q that can be set here", req.Name)
		}
	}
	r, err := o.send(ctx, gdbmi.Cmd("var-assign", name, req.Value))
	if err != nil {
		return refused(err)
	}
	o.stale = true
	f := r.Fields()
	v := backend.Variable{Name: req.Name, Value: f.String("value")}
	if r, err := o.send(ctx, gdbmi.Cmd("var-info-path-expression", name)); err == nil {
		v.Address = o.addressOf(ctx, n.frame, r.Fields().OptString("path_expr"))
	}
	return v, f.Err()
}
