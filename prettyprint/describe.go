package prettyprint

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// SetSurroundings tells the registry what is known of where the rank runs.
func (r *Registry) SetSurroundings(env Surroundings) { r.env = env }

// Describe shows a variable by its declared type (see [KindOfType]): value is the handle, of Fortran if fortran is set,
// or for MPI_Status its address. A null handle, one that was freed, and one of a kind that is not kept have a node that
// says so.
func (r *Registry) Describe(declared string, value uint64, fortran bool) (Node, error) {
	kind := KindOfType(declared)
	if kind == 0 {
		return Node{}, errorf(KindUsage, 0, "%s is no type of MPI handles.", declared)
	}
	k := infoOf(kind)
	n, err := r.nodeOf(k, value, fortran)
	switch {
	case err == nil:
		return n, nil
	case IsKind(err, KindNull):
		n = leafNode("", k.null)
	case IsKind(err, KindFreed):
		n = leafNode("", k.shown(fortran, r.maskOf(k, value))+": a "+k.word+" that was freed")
	case IsKind(err, KindNotKept):
		n = groupNode("", k.shown(fortran, r.maskOf(k, value))+" ("+k.words()+" are not kept in this run)",
			[]Node{leafNode("why", err.Error())})
	default:
		return Node{}, err
	}
	n.Type = k.ctype
	return n, nil
}

// nodeOf shows a handle.
func (r *Registry) nodeOf(k *kindInfo, value uint64, fortran bool) (Node, error) {
	switch k.kind { //nolint:exhaustive // the others are Objects
	case HandleStatus:
		s, err := r.StatusAt(value)
		if err != nil {
			return Node{}, err
		}
		return s.Node(""), nil
	case HandleDatatype:
		t, err := r.typeOfHandle(value, fortran)
		if err != nil {
			return Node{}, err
		}
		return t.Node("", r.env.where()), nil
	case HandleComm:
		m, err := r.commOfHandle(value, fortran)
		if err != nil {
			return Node{}, err
		}
		return m.Node("", r.env.where()), nil
	}
	o, err := r.objectOfHandle(k, value, fortran)
	if err != nil {
		return Node{}, err
	}
	return o.Node("", r.env), nil
}

func (r *Registry) typeOfHandle(h uint64, fortran bool) (t *Datatype, err error) {
	switch k := infoOf(HandleDatatype); {
	case fortran && r.isNullFortran(k, int32(h)), !fortran && r.isNull(k, r.maskHandle(h)):
		return nil, k.nullError(k.shown(fortran, r.maskHandle(h)))
	case fortran:
		t, err = r.DatatypeByFortran(int32(h))
	default:
		t, err = r.DatatypeByHandle(h)
	}
	if err == nil && t.basic() == BasicNull {
		return nil, infoOf(HandleDatatype).nullError(fmt.Sprintf("0x%x", t.Handle()))
	}
	return t, err
}

func (r *Registry) commOfHandle(h uint64, fortran bool) (m *Comm, err error) {
	k := infoOf(HandleComm)
	switch {
	case fortran && r.isNullFortran(k, int32(h)), !fortran && r.isNull(k, r.maskHandle(h)):
		return nil, k.nullError(k.shown(fortran, r.maskHandle(h)))
	case fortran:
		m, err = r.CommByFortran(int32(h))
	default:
		m, err = r.CommByHandle(h)
	}
	if err == nil && m.Kind() == CommNull {
		return nil, k.nullError(fmt.Sprintf("0x%x", h))
	}
	return m, r.nullByName(k, h, fortran, err)
}

func (r *Registry) objectOfHandle(k *kindInfo, h uint64, fortran bool) (o *Object, err error) {
	if fortran {
		return r.ObjectByFortran(k.kind, int32(h))
	}
	o, err = r.ObjectByHandle(k.kind, h)
	return o, r.nullByName(k, h, fortran, err)
}

// nullByName replaces an error about a handle by the one that it is null, where only the address of a symbol tells: in
// Open MPI.
func (r *Registry) nullByName(k *kindInfo, h uint64, fortran bool, err error) error {
	if fortran || r.MPI() != OpenMPI || k.openNull == "" || r.env.Symbol == nil || !IsKind(err, KindNotFound) &&
		!IsKind(err, KindNotKept) {
		return err
	}
	if at, ok := r.env.Symbol(k.openNull); ok && at == h {
		return k.nullError(fmt.Sprintf("0x%x", h))
	}
	return err
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

// showHandle is mpipp X for anything but a datatype's part.
func (c *command) showHandle(k *kindInfo, expr string, v Resolved) (*Result, error) {
	if k.kind == HandleStatus {
		return c.showStatus(expr, v)
	}
	if err := noHandle(expr, v, k); err != nil {
		return nil, err
	}
	o, err := c.r.objectOfHandle(k, v.Number, v.Language == Fortran)
	switch {
	case IsKind(err, KindNull):
		return nil, k.nullError(expr)
	case err != nil:
		return nil, c.explain(err, expr)
	}
	return c.showObject(expr, o)
}

func (c *command) showObject(name string, o *Object) (*Result, error) {
	n := o.Node(name, c.r.env)
	return &Result{Node: n, text: func(w io.Writer, opt Options) error {
		opt = c.opt.filled(opt)
		if o.info.kind == HandleRequest {
			return c.requestText(w, name, o, opt)
		}
		if err := write(w, "%s: %s\n", name, n.Value); err != nil {
			return err
		}
		return n.Text(w, opt)
	}}, nil
}

// requestText writes a request for the console: what it does, since when, and with --buffer what lies in its buffers.
func (c *command) requestText(w io.Writer, name string, o *Object, opt Options) error {
	q := o.request()
	if err := write(w, "%s: %s\n", name, q.line(c.r.env)); err != nil {
		return err
	}
	if state := q.stateText(); state != firstWord(state) {
		if err := write(w, "%s\n", state); err != nil {
			return err
		}
	}
	call := q.call()
	for i := range call.sides {
		s := &call.sides[i]
		if c.opt.buffer && !s.none && s.err == nil {
			if err := call.sideText(w, s, opt); err != nil {
				return err
			}
			continue
		}
		n := call.sideNode(s)
		if err := write(w, "%s %s\n", n.Name, n.Value); err != nil {
			return err
		}
	}
	handle := o.common(nil)
	return write(w, "handle %s\n", handle[len(handle)-1].Value)
}

func (c *command) showStatus(expr string, v Resolved) (*Result, error) {
	addr, err := statusAddress(expr, v)
	if err != nil {
		return nil, err
	}
	s, err := c.r.StatusAt(addr)
	if err != nil {
		return nil, err
	}
	n := s.Node(expr)
	return &Result{Node: n, text: func(w io.Writer, opt Options) error {
		return write(w, "%s: %s\n", expr, s.Summary())
	}}, nil
}

func statusAddress(expr string, v Resolved) (uint64, error) {
	switch {
	case v.Array && KindOfType(v.Type) == HandleStatus:
		return 0, errorf(KindUsage, 0, "The expression %s is of type %s: several statuses. Write %s for the first.",
			expr, v.Type, firstOf(expr, v.Language))
	case v.Pointer && v.HasNumber:
		return v.Number, nil
	case v.HasAddr && (v.Struct || v.Array || v.Language == Fortran):
		return v.Address, nil
	}
	return 0, errorf(KindUsage, 0, "The expression %s is of type %s; an MPI_Status, or in Fortran an array of "+
		"MPI_STATUS_SIZE integers, is expected.", expr, v.Type)
}

// stack is mpipp --stack X: where a handle was made, by which functions.
func (c *command) stack(args []string) (*Result, error) {
	if len(args) != 1 {
		return nil, errorf(KindUsage, 0, "mpipp --stack takes one handle; %d arguments were given.", len(args))
	}
	v, err := c.value(args[0])
	if err != nil {
		return nil, err
	}
	k := infoOf(max(KindOfType(v.Type), HandleDatatype))
	if !v.HasNumber {
		return nil, errorf(KindUsage, 0, "The expression %s is of type %s, which is no handle.", args[0], v.Type)
	}
	fortran := v.Language == Fortran
	var at, site, event uint64
	var predefinedOne bool
	switch k.kind {
	case HandleDatatype:
		t, err := c.r.typeOfHandle(v.Number, fortran)
		if err != nil {
			return nil, c.explain(err, args[0])
		}
		at, site, event, predefinedOne = t.hdr.stack, t.hdr.callSite, t.hdr.event, t.Combiner() == CombinerNamed
	case HandleComm:
		m, err := c.r.commOfHandle(v.Number, fortran)
		if err != nil {
			return nil, c.explain(err, args[0])
		}
		at, site, event, predefinedOne = m.hdr.stack, m.hdr.callSite, m.hdr.event, m.hdr.callSite == 0
	default:
		o, err := c.r.objectOfHandle(k, v.Number, fortran)
		if err != nil {
			return nil, c.explain(err, args[0])
		}
		at, site, event, predefinedOne = o.hdr.stack, o.hdr.callSite, o.hdr.event, o.Predefined()
	}
	if predefinedOne {
		return nil, errorf(KindUsage, 0, "%s is predefined: nobody has made it.", args[0])
	}
	if at == 0 {
		why := "Whole stacks are kept with COHORT_STACKS=1 in the rank's environment."
		return nil, errorf(KindNotKept, 0, "The stack of where %s was made is not kept in this run; it was made %s. %s",
			args[0], createdText(site, event, c.where), why)
	}
	frames, err := c.r.stackFrames(at)
	if err != nil {
		return nil, err
	}
	var lines []string
	var kids []Node
	for i, pc := range frames {
		text := ""
		if c.where != nil {
			text = c.where(pc)
		}
		if text == "" {
			text = fmt.Sprintf("0x%x", pc)
		}
		lines = append(lines, fmt.Sprintf("  #%d %s", i, text))
		kids = append(kids, leafNode(fmt.Sprintf("#%d", i), text))
	}
	head := fmt.Sprintf("%s was made by", args[0])
	return &Result{Node: groupNode(args[0], head, kids), text: func(w io.Writer, _ Options) error {
		return write(w, "%s\n%s\n", head, strings.Join(lines, "\n"))
	}}, nil
}

const stackMax = 16 // COHORT_STACK_MAX

func (r *Registry) stackFrames(at uint64) ([]uint64, error) {
	b, err := r.readFull(at, stackHeader, "A stack")
	if err != nil {
		return nil, err
	}
	c := cursor{b: b}
	n := c.u32()
	if n == 0 || n > stackMax {
		return nil, corrupt(at, "a stack claims %d frames, and at most %d are kept", n, stackMax)
	}
	if b, err = r.readFull(at+stackHeader, 8*int64(n), "The frames of a stack"); err != nil {
		return nil, err
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = words(b).addr(i)
	}
	return out, nil
}
