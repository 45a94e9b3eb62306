package delve

import (
	"context"
	"errors"
	"fmt"
	"go/constant"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
)

// How much of a value is loaded: in a line of variables, where it is opened or asked for, and as an argument in a
// stack.
var (
	loadFull = proc.LoadConfig{
		FollowPointers: true, MaxVariableRecurse: 1, MaxStringLen: 4096, MaxArrayValues: 100,
		MaxStructFields: -1,
	}
	loadBrief = proc.LoadConfig{MaxStringLen: 64, MaxArrayValues: 8, MaxStructFields: 8}
)

type nodeKind int

const (
	locals nodeKind = iota
	arguments
	packageVariables
	registers
	object
)

// node is what a Ref stands for.
type node struct {
	kind  nodeKind
	frame backend.FrameID
	v     *proc.Variable // of object
	expr  string         // how Go names it; "" unknown
}

// scope evaluates in a frame.
func (o *owner) scope(at backend.FrameID) (*proc.EvalScope, error) {
	raw, err := o.stackFrom(at)
	if err != nil {
		return nil, err
	}
	_, g, err := o.goroutine(at.Thread)
	if err != nil {
		return nil, err
	}
	thread := o.target().CurrentThread().ThreadID()
	if g != nil && g.Thread != nil {
		thread = g.Thread.ThreadID()
	}
	return proc.FrameToScope(o.target(), o.target().Memory(), g, thread, raw...), nil
}

func (o *owner) Scopes(_ context.Context, at backend.FrameID) ([]backend.Scope, error) {
	scope, err := o.scope(at)
	if err != nil {
		return nil, err
	}
	add := func(kind nodeKind) backend.Ref { return o.refs.Add(&node{kind: kind, frame: at}) }
	vars, err := o.frameVariables(scope, locals)
	if err != nil {
		o.b.Log.Debug("the variables of a frame cannot be listed", "error", err) // as of C without debug information
	}
	args, _ := o.frameVariables(scope, arguments) //nolint:errcheck // likewise
	out := []backend.Scope{
		{Name: "Locals", Kind: "locals", Ref: add(locals), Named: len(vars)},
		{Name: "Arguments", Kind: "arguments", Ref: add(arguments), Named: len(args)},
	}
	if len(vars) == 0 { // editors open the first scope by themselves, so it should hold something
		out[0], out[1] = out[1], out[0]
	}
	if fn := scope.Fn; fn != nil && strings.HasSuffix(scope.File, ".go") {
		out = append(out, backend.Scope{
			Name: "Package " + fn.PackageName(), Ref: add(packageVariables), Expensive: true,
		})
	}
	return append(out, backend.Scope{Name: "Registers", Kind: "registers", Ref: add(registers), Expensive: true}), nil
}

// frameVariables are the locals or arguments of a frame that can be seen from its line.
func (o *owner) frameVariables(scope *proc.EvalScope, kind nodeKind) ([]*proc.Variable, error) {
	if scope.Fn == nil {
		return nil, nil
	}
	var all []*proc.Variable
	var err error
	if kind == locals {
		all, err = scope.LocalVariables(loadFull)
	} else {
		all, err = scope.FunctionArguments(loadFull)
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // Delve's words
	}
	out := all[:0]
	for _, v := range all {
		if v.DeclLine <= int64(scope.Line) && !strings.HasPrefix(v.Name, ".") && !strings.HasPrefix(v.Name, "~") {
			out = append(out, v)
		}
	}
	return out, nil
}

func (o *owner) Variables(_ context.Context, req backend.VariablesRequest) ([]backend.Variable, error) {
	n, err := o.refs.Get(req.Ref)
	if err != nil {
		return nil, err
	}
	if n.kind == object {
		return o.children(n, req)
	}
	if req.Filter == "indexed" {
		return nil, nil
	}
	scope, err := o.scope(n.frame)
	if err != nil {
		return nil, err
	}
	var out []backend.Variable
	switch n.kind { //nolint:exhaustive // object was served
	case registers:
		out, err = o.registers(n)
	case packageVariables:
		out, err = o.packageVariables(scope, n)
	default:
		var vars []*proc.Variable
		vars, err = o.frameVariables(scope, n.kind)
		for _, v := range vars {
			expr := v.Name
			if v.Flags&proc.VariableShadowed != 0 {
				expr = ""
			}
			shown := o.show(n.frame, v.Name, expr, v, req.Hex)
			if expr == "" {
				shown.Name += " (shadowed)"
			}
			out = append(out, shown)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the variables cannot be read: %w", err)
	}
	from, to := base.Page(req.Start, req.Count, len(out))
	return out[from:to], nil
}

// packageVariables are those of the frame's package.
func (o *owner) packageVariables(scope *proc.EvalScope, n *node) ([]backend.Variable, error) {
	names, err := scope.PackageVariables(proc.LoadConfig{})
	if err != nil {
		return nil, err //nolint:wrapcheck // Delve's words
	}
	prefix := scope.Fn.PackageName() + "."
	var out []backend.Variable
	for _, v := range names {
		name, ok := strings.CutPrefix(v.Name, prefix)
		if !ok || strings.Contains(name, "_cgo") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_C") {
			continue
		}
		loaded, err := scope.EvalExpression(name, loadFull)
		if err != nil {
			out = append(out, backend.Variable{Name: name, Value: "<" + err.Error() + ">", ReadOnly: true})
			continue
		}
		out = append(out, o.show(n.frame, name, name, loaded, false))
	}
	return out, nil
}

func (o *owner) registers(n *node) ([]backend.Variable, error) {
	k, g, err := o.goroutine(n.frame.Thread)
	if err != nil || k.goroutine != 0 && (g == nil || g.Thread == nil) {
		return nil, errors.New("this goroutine is on no thread, so it has no registers")
	}
	thread := o.target().CurrentThread()
	if g != nil {
		thread = g.Thread
	}
	regs, err := thread.Registers()
	if err != nil {
		return nil, err //nolint:wrapcheck // Delve's words
	}
	slice, err := regs.Slice(false)
	if err != nil {
		return nil, err //nolint:wrapcheck // Delve's words
	}
	out := make([]backend.Variable, len(slice))
	for i, r := range slice {
		out[i] = backend.Variable{
			Name: strings.ToLower(r.Name), Value: fmt.Sprintf("%#x", r.Reg.Uint64Val), ReadOnly: true,
		}
	}
	return out, nil
}

// text is a value in one line, without its type: that is shown beside it.
func text(v *proc.Variable) string {
	if v.Unreadable != nil {
		return "<" + v.Unreadable.Error() + ">"
	}
	s := api.ConvertVar(v).SinglelineString()
	if name := api.ConvertVar(v).Type; v.Kind == reflect.Struct || v.Kind == reflect.Array || v.Kind == reflect.Slice {
		s = strings.TrimSpace(strings.TrimPrefix(s, name))
	}
	return s
}

// number is the value of an integer or a pointer, also of one that is all that a structure holds: a Go type around a
// handle of C's.
func number(v *proc.Variable) (uint64, bool) {
	switch v.Kind { //nolint:exhaustive // the others are none
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if v.Value == nil {
			return 0, false
		}
		n, ok := constant.Int64Val(constant.ToInt(v.Value))
		return uint64(n), ok
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if v.Value == nil {
			return 0, false
		}
		return constant.Uint64Val(constant.ToInt(v.Value))
	case reflect.Ptr, reflect.UnsafePointer:
		if len(v.Children) == 1 {
			return v.Children[0].Addr, true
		}
	case reflect.Struct:
		if len(v.Children) == 1 && v.Len == 1 {
			return number(&v.Children[0])
		}
	}
	return 0, false
}

// show turns a value into a variable, with a Ref if there is something in it.
func (o *owner) show(at backend.FrameID, name, expr string, v *proc.Variable, hex bool) backend.Variable {
	out := backend.Variable{Name: name, Value: text(v), Type: v.TypeString(), EvaluateName: expr, Address: address(v)}
	out.Number, out.HasNumber = number(v)
	out.Pointer = out.HasNumber && (v.Kind == reflect.Ptr || v.Kind == reflect.UnsafePointer)
	if v.Unreadable != nil {
		out.ReadOnly = true
		return out
	}
	if hex && out.HasNumber && v.Kind != reflect.Struct {
		out.Value = fmt.Sprintf("%#x", out.Number)
	}
	switch v.Kind { //nolint:exhaustive // the others have no children
	case reflect.Array, reflect.Slice:
		out.Indexed = int(v.Len)
	case reflect.Map:
		out.Named = int(v.Len)
	case reflect.Struct:
		out.Named = int(v.Len)
	case reflect.Ptr:
		if len(v.Children) == 1 && v.Children[0].Addr != 0 && v.Children[0].Kind != reflect.Invalid {
			out.Named = 1
		}
	case reflect.Interface:
		if len(v.Children) == 1 && v.Children[0].Kind != reflect.Invalid {
			out.Named = 1
		}
	}
	if out.Named+out.Indexed > 0 {
		out.Ref = o.refs.Add(&node{kind: object, frame: at, v: v, expr: expr})
	}
	return out
}

// address is where a value is in the program's memory; Delve gives addresses of its own to what is in registers.
func address(v *proc.Variable) uint64 {
	if v.Flags&proc.VariableFakeAddress != 0 || v.Addr >= proc.FakeAddressBase&^0xffffffffffff {
		return 0
	}
	return v.Addr
}

// mostListed bounds a request for all children.
const mostListed = 1000

// children lists what is in a value.
func (o *owner) children(n *node, req backend.VariablesRequest) ([]backend.Variable, error) {
	v := n.v
	indexed := v.Kind == reflect.Array || v.Kind == reflect.Slice
	if req.Filter == "indexed" && !indexed || req.Filter == "named" && indexed {
		return nil, nil
	}
	switch v.Kind { //nolint:exhaustive // the rest has a few children, which are loaded
	case reflect.Array, reflect.Slice, reflect.Map:
		from, to := base.Page(req.Start, req.Count, int(v.Len))
		rest := max(to-from-mostListed, 0)
		to -= rest
		cfg := loadFull
		cfg.MaxArrayValues = to - from
		page, err := v.LoadResliced(from, cfg)
		if err != nil {
			return nil, fmt.Errorf("the elements cannot be read: %w", err)
		}
		var out []backend.Variable
		if v.Kind == reflect.Map {
			for i := 0; i+1 < len(page.Children); i += 2 {
				k := text(&page.Children[i])
				out = append(out, o.show(n.frame, k, "", &page.Children[i+1], req.Hex))
			}
		} else {
			for i := range page.Children {
				out = append(out, o.show(n.frame, strconv.Itoa(from+i), child(n.expr, fmt.Sprintf("[%d]", from+i)),
					&page.Children[i], req.Hex))
			}
		}
		if rest > 0 {
			out = append(out, base.More(rest))
		}
		return out, nil
	}
	var out []backend.Variable
	for i := range v.Children {
		c := &v.Children[i]
		name, expr := c.Name, child(n.expr, "."+c.Name)
		switch v.Kind { //nolint:exhaustive // the rest are structures
		case reflect.Ptr:
			name, expr = "*"+simple(n.expr), ""
			if n.expr != "" {
				expr = "(*" + n.expr + ")"
			}
		case reflect.Interface:
			name, expr = "data", child(n.expr, ".(data)")
		}
		out = append(out, o.show(n.frame, name, expr, o.deeper(n.frame, c, expr), req.Hex))
	}
	from, to := base.Page(req.Start, req.Count, len(out))
	return out[from:to], nil
}

// child is the expression of a part of an expression's value.
func child(of, part string) string {
	if of == "" {
		return ""
	}
	return of + part
}

var identifier = regexp.MustCompile(`^\w+$`)

func simple(expr string) string {
	if identifier.MatchString(expr) {
		return expr
	}
	return ""
}

// deeper loads a part of a value, of which only the outermost levels were loaded with it.
func (o *owner) deeper(at backend.FrameID, v *proc.Variable, expr string) *proc.Variable {
	if expr == "" {
		if a := address(v); a != 0 && v.DwarfType != nil {
			expr = fmt.Sprintf("*(*%q)(%#x)", v.TypeString(), a)
		}
	}
	if expr == "" {
		return v
	}
	scope, err := o.scope(at)
	if err != nil {
		return v
	}
	loaded, err := scope.EvalExpression(expr, loadFull)
	if err != nil || loaded.Kind != v.Kind {
		return v
	}
	return loaded
}

func (o *owner) SetVariable(ctx context.Context, req backend.SetVariableRequest) (backend.Variable, error) {
	if req.Ref == 0 {
		return o.assign(req.Frame, req.Name, req)
	}
	n, err := o.refs.Get(req.Ref)
	if err != nil {
		return backend.Variable{}, err
	}
	all, err := o.Variables(ctx, backend.VariablesRequest{Ref: req.Ref})
	if err != nil {
		return backend.Variable{}, err
	}
	for _, v := range all {
		if v.Name != req.Name {
			continue
		}
		if v.EvaluateName == "" || v.ReadOnly {
			break
		}
		return o.assign(n.frame, v.EvaluateName, req)
	}
	return backend.Variable{}, fmt.Errorf("there is no variable %q that can be set here", req.Name)
}

func (o *owner) assign(at backend.FrameID, expr string, req backend.SetVariableRequest) (backend.Variable, error) {
	scope, err := o.scope(at)
	if err != nil {
		return backend.Variable{}, err
	}
	if err := scope.SetVariable(expr, req.Value); err != nil {
		return backend.Variable{}, fmt.Errorf("%s cannot be set to %s: %w", req.Name, req.Value, err)
	}
	now, err := o.value(at, expr) // in a new scope, which has not read the frame yet
	if err != nil {
		return backend.Variable{}, err
	}
	return o.show(at, req.Name, expr, now, false), nil
}

var printCommand = regexp.MustCompile(`^(?:p|print)(?:\s+(.*))$`)

func (o *owner) Evaluate(_ context.Context, req backend.EvaluateRequest) (backend.EvaluateResult, error) {
	expr := strings.TrimSpace(req.Expression)
	if req.Context == backend.ContextREPL {
		if strings.HasPrefix(expr, "`") || strings.HasPrefix(expr, "-exec ") {
			return backend.EvaluateResult{}, &backend.UnsupportedError{What: "A console of gdb commands"}
		}
		if m := printCommand.FindStringSubmatch(expr); m != nil {
			expr = strings.TrimSpace(m[1])
		}
	}
	if err := o.b.NeedStopped("evaluate " + expr); err != nil {
		return backend.EvaluateResult{}, err
	}
	v, err := o.value(req.Frame, expr)
	if err != nil {
		return backend.EvaluateResult{}, err
	}
	shown := o.show(req.Frame, expr, expr, v, req.Hex)
	return backend.EvaluateResult{Variable: shown, Text: shown.Value}, nil
}

// value evaluates an expression; Delve calls no function of the program for it.
func (o *owner) value(at backend.FrameID, expr string) (*proc.Variable, error) {
	if expr == "" {
		return nil, errors.New("there is no expression to evaluate")
	}
	scope, err := o.scope(at)
	if err != nil {
		return nil, err
	}
	v, err := scope.EvalExpression(expr, loadFull)
	if err == nil && v.Unreadable != nil {
		err = v.Unreadable
	}
	if err != nil {
		return nil, fmt.Errorf("cannot evaluate %s: %w", expr, err)
	}
	return v, nil
}
