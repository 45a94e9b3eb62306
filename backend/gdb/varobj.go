package gdb

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/gdb/cli"
	"github.com/cohort-debugger/cohort/gdbmi"
)

// node is what a Ref stands for.
type node struct {
	kind    nodeKind
	frame   backend.FrameID
	fortran bool
	v       varobj
	kids    map[string]string // names of children that were shown, to gdb's names of their variable objects
}

type nodeKind int

const (
	locals nodeKind = iota
	arguments_
	registers
	object
)

// varobj is one of gdb's variable objects.
type varobj struct {
	name     string // gdb's; "" if there is none
	expr     string // how the program's language names it; "" unknown
	typ      string
	value    string
	children int
	dynamic  bool // a pretty printer makes its children
	hint     string
	more     bool
}

// dropRefs deletes gdb's variable objects in one go, before the rank resumes.
func (o *owner) dropRefs(ctx context.Context) {
	for _, name := range o.roots {
		if _, err := o.send(ctx, gdbmi.Cmd("var-delete", name)); err != nil {
			o.b.Log.Debug("a variable object could not be deleted", "name", name, "error", err)
		}
	}
	o.forget()
}

// forget makes every reference invalid.
func (o *owner) forget() {
	o.refs.Clear()
	o.roots, o.stale = nil, false
}

// createVar makes a variable object of an expression in a frame.
func (o *owner) createVar(ctx context.Context, at backend.FrameID, expr string) (varobj, error) {
	r, expr, err := named(ctx, o, at, expr, func(expr string) (gdbmi.Record, error) {
		return o.send(ctx, inFrame("var-create", at).Opt("-", "*", expr))
	})
	if err != nil {
		return varobj{}, err
	}
	f := r.Fields()
	v := readVarobj(f)
	v.expr = expr
	if err := f.Err(); err != nil {
		return varobj{}, err
	}
	o.roots = append(o.roots, v.name)
	return v, nil
}

// intrinsic are names that gdb takes for functions in Fortran, also where a variable has them; rank and size are in
// most MPI programs.
var intrinsic = regexp.MustCompile(`(?i)^(abs|allocated|associated|ceiling|cmplx|floor|` +
	`kind|lbound|loc|mod|modulo|rank|shape|size|ubound)$`)

// named carries out f with an expression, and where gdb refuses it with the name that a variable of the frame has which
// gdb does not understand by its name alone. It returns the expression that was meant.
func named[T any](ctx context.Context, o *owner, at backend.FrameID, expr string, f func(expr string) (T, error)) (
	T, string, error,
) {
	v, err := f(expr)
	if err != nil && intrinsic.MatchString(expr) {
		if frame, unknown := o.FrameAt(ctx, at); unknown == nil && frame.Function != "" {
			name := frame.Function + "::" + expr
			if second, failed := f(name); failed == nil {
				return second, name, nil
			}
		}
	}
	return v, expr, err
}

func readVarobj(f *gdbmi.Fields) varobj {
	return varobj{
		name: f.String("name"), typ: f.OptString("type"), value: f.OptString("value"),
		children: f.OptInt("numchild", 0), dynamic: f.OptBool("dynamic"), hint: f.OptString("displayhint"),
		more: f.OptBool("has_more"),
	}
}

var (
	cArray    = regexp.MustCompile(`\[(\d+)\]$`)
	charArray = regexp.MustCompile(`^(const |volatile )*(char|unsigned char|signed char) \[\d+\]$`)
	fArray    = regexp.MustCompile(` \(([-\d:,* ]+)\)$`)
	ofLength  = regexp.MustCompile(`\bof length (\d+)\b`)
	// A null pointer has, for gdb, the members of what it would point to, and theirs, without end; none can be read.
	nullPointer = regexp.MustCompile(`^(\(.*\) )?0x0$`)
	// the value of an integer or a pointer
	numberText = regexp.MustCompile(`^(\(.*\) )?(0x[0-9a-f]+|-?\d+)( |$)`)
	// of those, a pointer's
	pointerText = regexp.MustCompile(`^(\(.*\) )?0x`)
	floating    = regexp.MustCompile(`^[^*]*(float|double|real|complex)[^*]*$`) // and no pointer to one
)

func isArray(v varobj) bool {
	return v.hint == "array" || !v.dynamic && v.children > 0 && (cArray.MatchString(v.typ) || fArray.MatchString(v.typ))
}

// show turns a variable object into a variable, with a Ref if it has children.
func (o *owner) show(ctx context.Context, n *node, name string, v varobj, as form) backend.Variable {
	number := !v.dynamic && numberText.MatchString(v.value) && !floating.MatchString(v.typ)
	pointer := number && pointerText.MatchString(v.value)
	if as.hex && v.name != "" && number && v.children == 0 {
		if r, err := o.send(ctx, gdbmi.Cmd("var-set-format", v.name, "hexadecimal")); err == nil {
			v.value = r.Fields().OptString("value")
		}
	}
	s := backend.Variable{Name: name, Value: v.value, Type: v.typ, EvaluateName: v.expr, Pointer: pointer}
	if number {
		s.Number, s.HasNumber = cli.Number(v.value)
	}
	if as.addresses && !pointer && v.expr != "" {
		s.Address = o.addressOf(ctx, n.frame, v.expr)
	}
	switch {
	case v.value == "" && !v.dynamic && v.expr != "":
		// What cannot be read has no value here; say why rather than show nothing.
		text, err := o.value(ctx, n.frame, v.expr)
		s.Value = text
		if u, ok := unreadable(name, err); ok {
			s.Value, s.ReadOnly = u.Value, true
			return s
		}
	case charArray.MatchString(v.typ) && v.expr != "":
		if text, err := o.value(ctx, n.frame, v.expr); err == nil {
			s.Value = text
		}
	case v.value == "{...}" && v.expr != "":
		if text, err := o.value(ctx, n.frame, v.expr); err == nil {
			s.Value = brief(text)
			if m := ofLength.FindStringSubmatch(text); m != nil && v.dynamic && v.hint == "array" {
				s.Indexed, _ = strconv.Atoi(m[1])
			}
		}
	}
	if v.children == 0 && !(v.dynamic && v.more) || !v.dynamic && nullPointer.MatchString(v.value) {
		return s
	}
	s.Ref = o.refs.Add(&node{kind: object, frame: n.frame, fortran: n.fortran, v: v})
	switch {
	case isArray(v) && !v.dynamic:
		s.Indexed = v.children
	case !v.dynamic && !strings.HasSuffix(v.typ, "}"):
		s.Named = v.children
	}
	return s
}

// addressOf is where an expression's value is in memory; 0: it is not there.
func (o *owner) addressOf(ctx context.Context, at backend.FrameID, expr string) uint64 {
	text, err := o.value(ctx, at, "&("+expr+")")
	if err != nil {
		return 0
	}
	addr, _ := cli.Number(text)
	return addr
}

const briefMost = 160

// brief shortens the text of an aggregate at a character's border.
func brief(s string) string {
	if len(s) <= briefMost {
		return s
	}
	return strings.ToValidUTF8(s[:briefMost], "") + "…"
}

// FrameAt is what gdb tells of a frame; nothing if it cannot.
func (o *owner) FrameAt(ctx context.Context, at backend.FrameID) (backend.Frame, error) {
	r, err := o.send(ctx, inFrame("stack-info-frame", at))
	if err != nil {
		return backend.Frame{ID: at}, nil //nolint:nilerr // as said
	}
	t := r.Fields().Tuple("frame")
	f := o.frame(at.Thread, t)
	f.ID = at
	if f.File == "" {
		f.File = t.OptString("file")
	}
	return f, nil
}

// isFortran reports whether the frame's source is Fortran, by the file's name, which is also how compilers tell.
func (o *owner) isFortran(ctx context.Context, at backend.FrameID) bool {
	f, err := o.FrameAt(ctx, at)
	return err == nil && cli.IsFortran(f.File)
}

// fortranDims reads the bounds of each dimension from a type such as "real(kind=8), allocatable (0:9,1000)".
func fortranDims(typ string) (low, high []int, ok bool) {
	m := fArray.FindStringSubmatch(typ)
	if m == nil {
		return nil, nil, false
	}
	for d := range strings.SplitSeq(m[1], ",") {
		lo, hi, two := strings.Cut(strings.TrimSpace(d), ":")
		if !two {
			lo, hi = "1", lo
		}
		l, err1 := strconv.Atoi(lo)
		h, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil {
			return nil, nil, false
		}
		low, high = append(low, l), append(high, h)
	}
	return low, high, true
}

// elementExpr returns the name and the expression of element i, counted from 0, of an array.
func elementExpr(v varobj, fortran bool, i int) (name, expr string, ok bool) {
	if v.expr == "" {
		return "", "", false
	}
	if !fortran {
		name = strconv.Itoa(i)
		return name, fmt.Sprintf("(%s)[%d]", v.expr, i), true
	}
	low, _, ok := fortranDims(v.typ)
	if !ok {
		return "", "", false
	}
	last := len(low) - 1
	name = strconv.Itoa(low[last] + i)
	// The last dimension is the outermost in memory, and gdb's outermost children.
	base := v.expr
	if strings.HasSuffix(base, ")") && strings.Contains(base, "(:") {
		// A slice of ours, such as a(:,:,3): put the next index in the place of the last colon.
		colon := strings.LastIndex(base, ":")
		return name, base[:colon] + name + base[colon+1:], true
	}
	fixed := strings.Repeat(":,", last) + name
	return name, base + "(" + fixed + ")", true
}

// childExpr returns the expression of a member.
func childExpr(parent varobj, fortran bool, exp string, index int) string {
	if parent.expr == "" || parent.dynamic {
		return ""
	}
	if isArray(parent) {
		_, e, _ := elementExpr(parent, fortran, index)
		return e
	}
	if fortran {
		return parent.expr + "%" + exp
	}
	return "" // asked of gdb: it knows pointers and base classes
}
