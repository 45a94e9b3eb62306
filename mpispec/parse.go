package mpispec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Table is a table of functions. It does not change once it is made, and serves any number of goroutines.
type Table struct {
	functions []*Function
	byName    map[string]*Function // by the name in lower case
	byOp      []*Function          // who has an operation first; nil: no such operation
}

// Functions are all functions in the order of the table, the forms with large counts at the end. The caller must not
// change them.
func (t *Table) Functions() []*Function { return t.functions }

// Lookup finds a function by its name in C, MPI_Send or PMPI_Send or MPI_Send_c; Fortran's may be in any case.
func (t *Table) Lookup(name string) (*Function, bool) {
	if f, ok := t.byName[strings.TrimPrefix(name, "P")]; ok { // as in C, which costs no allocation
		return f, true
	}
	f, ok := t.byName[strings.TrimPrefix(strings.ToLower(name), "p")]
	return f, ok
}

// Op is the function of an operation, or what stands for it where it is none; nil for an unknown number.
func (t *Table) Op(op Op) *Function {
	if int(op) < len(t.byOp) {
		return t.byOp[op]
	}
	return nil
}

// Operations are the numbers in use, in order.
func (t *Table) Operations() []Op {
	var all []Op
	for op, f := range t.byOp {
		if f != nil {
			all = append(all, Op(op))
		}
	}
	return all
}

// Parse reads a table in the notation that the package describes.
func Parse(text string) (*Table, error) {
	p := &parser{
		table: &Table{byName: map[string]*Function{}, byOp: make([]*Function, OpOther+1)},
		types: map[string]string{}, section: map[string]string{},
	}
	var row string
	line := 0
	flush := func() error {
		defer func() { row = "" }()
		if row == "" {
			return nil
		}
		if err := p.row(row); err != nil {
			return fmt.Errorf("the row that ends before line %d: %w", line, err)
		}
		return nil
	}
	for text := range strings.Lines(text) {
		line++
		if strings.HasPrefix(text, "\t") {
			row += " " + strings.TrimSpace(text)
			continue
		}
		if err := flush(); err != nil {
			return nil, err
		}
		if text = strings.TrimSpace(text); !strings.HasPrefix(text, "#") {
			row = text
		}
	}
	line++
	if err := flush(); err != nil {
		return nil, err
	}
	if err := p.large(); err != nil {
		return nil, err
	}
	for _, f := range p.table.functions {
		if of := p.table.Op(f.Op); of != nil {
			f.Operation = of.Short()
		}
	}
	return p.table, nil
}

type parser struct {
	table   *Table
	types   map[string]string // of parameters, by name
	section map[string]string // traits of the rows that follow
	forms   []largeForm
}

// largeForm is a function whose form with large counts is still to be made: the parameters of both.
type largeForm struct {
	f      *Function
	params []Param
}

func (p *parser) row(row string) error {
	if traits, ok := strings.CutPrefix(row, "["); ok {
		p.section = map[string]string{}
		return readTraits(p.section, strings.TrimSuffix(traits, "]"))
	}
	if rest, ok := strings.CutPrefix(row, "type "); ok {
		kind, names, _ := strings.Cut(rest, ":")
		for name := range strings.FieldsSeq(names) {
			p.types[name] = kind
		}
		return nil
	}
	names, rest, found := strings.Cut(row, ":")
	if !found {
		return fmt.Errorf("%q names no functions", row)
	}
	parameters, words, _ := strings.Cut(rest, ";")
	traits := maps.Clone(p.section)
	if err := readTraits(traits, words); err != nil {
		return err
	}
	for name := range strings.FieldsSeq(names) {
		if err := p.family(name, strings.Fields(parameters), traits); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// knownTraits are the traits, with the values that they may have; nil: any.
var knownTraits = map[string][]string{
	"event": classNames[:], "as": nil, "uncovered": {""}, "value": {""}, "lifecycle": {""}, "objects": {""}, "operation": {""},
	"local": {""}, "nonlocal": {""}, "poll": {""}, "completes": {"none", "one", "all", "any", "some"},
	"after": {"all", "exchange", "root", "toroot", "lower", "none"},
	"mode":  {"standard", "buffered", "synchronous", "ready"},
	"among": {""}, "orders": {""}, "synchronizes": {""}, "forms": nil, "fortran": {"plain", "", "own", "pass"}, "f08": {"own"},
	"always": {""}, "hidden": {""}, "verbs": nil, "since": nil, "until": nil, "lacks": nil, "returns": nil,
}

func readTraits(into map[string]string, words string) error {
	for word := range strings.FieldsSeq(words) {
		name, value, _ := strings.Cut(word, "=")
		allowed, known := knownTraits[name]
		if !known || allowed != nil && !slices.Contains(allowed, value) {
			return fmt.Errorf("%q is no trait", word)
		}
		into[name] = value
	}
	return nil
}

// family adds a function with its forms, but for those with large counts.
func (p *parser) family(named string, parameters []string, traits map[string]string) error {
	name, numbers, _ := strings.Cut(named, "=")
	first, second, _ := strings.Cut(numbers, "/")
	f, err := p.add(name, first, parameters, traits)
	if err != nil {
		return err
	}
	for form := range strings.SplitSeq(traits["forms"], ",") {
		if form == "" {
			continue
		}
		traits, lower := maps.Clone(traits), strings.ToLower(name[:1])+name[1:]
		delete(traits, "nonlocal")
		delete(traits, "orders")
		var made *Function
		switch form {
		case "I":
			traits["event"], traits["since"] = "icollective", "3.0"
			made, err = p.add("I"+lower, second, append(slices.Clip(parameters), "*request"), traits)
			f.Nonblocking = made
		case "R":
			delete(traits, "event")
			traits["uncovered"], traits["since"] = "", "3.0"
			made, err = p.add("R"+lower, "", append(slices.Clip(parameters), "*request"), traits)
			f.Nonblocking = made
		case "init":
			traits["event"], traits["since"], traits["nonlocal"] = "collective-init", "4.0", ""
			traits["fortran"] = "plain"
			made, err = p.add(name+"_init", "", append(slices.Clip(parameters), "info", "*request"), traits)
			f.Persistent = made
		default:
			err = fmt.Errorf("%q is no form", form)
		}
		if err != nil {
			return err
		}
		made.Base = f
	}
	return nil
}

// add adds one function.
func (p *parser) add(name, number string, parameters []string, traits map[string]string) (*Function, error) {
	f := &Function{Name: "MPI_" + name, Returns: "int", verbs: "sends/receives"}
	if err := f.setTraits(traits); err != nil {
		return nil, err
	}
	if number != "" {
		op, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return nil, err
		}
		f.Op = Op(op)
		for len(p.table.byOp) <= int(op) {
			p.table.byOp = append(p.table.byOp, nil)
		}
		if other := p.table.byOp[op]; other != nil {
			return nil, fmt.Errorf("operation %d is that of %s", op, other.Name)
		}
		p.table.byOp[op] = f
	}
	as, same := p.table.byName["MPI_"+traits["as"]]
	switch {
	case f.Op != OpNone:
	case same:
		f.Op = as.Op
	case f.Class == ClassCollectiveInit:
		f.Op = OpCollectiveInit
	case f.Coverage == Uncovered:
		f.Op = OpOther
	}
	if (f.Op == OpNone) != (f.Class == ClassNone && f.Coverage != Uncovered) {
		return nil, fmt.Errorf("operation %d of class %s", f.Op, f.Class)
	}
	if _, ok := traits["operation"]; ok {
		return f, nil
	}
	small, large, err := p.parameters(f, parameters)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(small, large) {
		p.forms = append(p.forms, largeForm{f, large})
	}
	f.Params = small
	f.setRoles()
	f.setBuffers(parameters)
	return f, p.enter(f)
}

func (p *parser) enter(f *Function) error {
	for _, key := range []string{f.Name, strings.ToLower(f.Name)} {
		if p.table.byName[key] != nil {
			return fmt.Errorf("%s is in the table twice", f.Name)
		}
		p.table.byName[key] = f
	}
	p.table.functions = append(p.table.functions, f)
	return nil
}

func (f *Function) setTraits(traits map[string]string) error {
	has := func(name string) bool { _, ok := traits[name]; return ok }
	which := func(name string) int { return slices.Index(knownTraits[name], traits[name]) }
	for name, coverage := range map[string]Coverage{
		"event": Recorded, "uncovered": Uncovered, "value": Value, "lifecycle": Lifecycle, "objects": Objects,
	} {
		if has(name) {
			if f.Coverage != Unneeded {
				return fmt.Errorf("two coverages: %v", traits)
			}
			f.Coverage = coverage
		}
	}
	if has("event") {
		f.Class = Class(which("event"))
	}
	f.Nonlocal = has("nonlocal") && !has("local")
	f.Among, f.Poll, f.Orders, f.Synchronizes = has("among"), has("poll"), has("orders"), has("synchronizes")
	f.F08Own, f.Always, f.Hidden = has("f08"), has("always"), has("hidden")
	if has("completes") {
		f.Completes = Completion(which("completes"))
	}
	if has("mode") {
		f.Mode = SendMode(which("mode"))
	}
	if has("after") {
		f.After = Dependence(which("after"))
	}
	if has("fortran") {
		f.Fortran = Fortran(which("fortran"))
	}
	if has("verbs") {
		f.verbs = strings.ReplaceAll(traits["verbs"], ".", " ")
	}
	if has("returns") {
		f.Returns = traits["returns"]
	}
	f.Lacks, f.Since = traits["lacks"], 10
	for name, v := range map[string]*Version{"since": &f.Since, "until": &f.Until} {
		if major, minor, ok := strings.Cut(traits[name], "."); ok {
			n, err := strconv.Atoi(major + minor)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			*v = Version(n)
		}
	}
	return nil
}

// parameters reads those of the function and of its form with large counts.
func (p *parser) parameters(f *Function, all []string) (small, large []Param, err error) {
	for _, word := range all {
		text, largeOnly := strings.CutPrefix(word, "+")
		sign := text[0]
		text = strings.TrimLeft(text, "*&<>=~")
		text, kinds, typed := strings.Cut(text, ":")
		var length string
		var array bool
		if typed { // an array of a written type, but for a C type that has brackets itself
			if i := strings.LastIndex(kinds, "["); i >= 0 && !strings.HasSuffix(kinds, "[]") &&
				!strings.Contains(kinds, "[]") {
				kinds, length, array = kinds[:i], strings.TrimSuffix(kinds[i+1:], "]"), true
			}
		} else {
			text, length, array = strings.Cut(text, "[")
			length = strings.TrimSuffix(length, "]")
		}
		if text != "..." {
			text, _, _ = strings.Cut(text, "*")
			text, _, _ = strings.Cut(text, "@")
		}
		q := Param{Name: text, Array: array, Length: length}
		switch sign {
		case '*', '<':
			q.Direction = Out
		case '&', '=', '~':
			q.Direction = InOut
		}
		buffer := strings.IndexByte("<>=~", sign) >= 0
		switch {
		case buffer:
			kinds = "void*"
		case text == "...":
			kinds = "..."
		case !typed:
			kinds = p.types[text]
		}
		kind, largeKind, two := strings.Cut(kinds, "|")
		if !two {
			largeKind = kind
		}
		q.Const = q.Direction == In && (array || buffer)
		q.Type = kind
		q.setType()
		other := q
		other.Type = largeKind
		other.setType()
		if !largeOnly {
			small = append(small, q)
		}
		large = append(large, other)
	}
	return small, large, nil
}

// setType makes the type of a parameter that of C.
func (q *Param) setType() {
	kind, isConst := strings.CutPrefix(q.Type, "const.")
	switch {
	case kind == "":
		kind = "int"
	case kind == "char":
		kind, q.Const = "char*", q.Direction == In
	case (kind == "MPI_Status" || kind == "MPI_F08_status") && q.Direction == In:
		kind, q.Const = kind+"*", true
	}
	q.Type, q.Const = kind, q.Const || isConst
}

var rolesByName = map[string]Role{
	"dest": RoleDest, "source": RoleSource, "tag": RoleTag, "sendtag": RoleTag, "recvtag": RoleTag, "root": RoleRoot,
	"target_rank": RoleTarget, "flag": RoleFlag, "index": RoleIndex, "array_of_indices": RoleIndex,
}

func (f *Function) setRoles() {
	comm := false
	for i := range f.Params {
		q := &f.Params[i]
		switch role := rolesByName[q.Name]; {
		case role == RoleFlag || role == RoleIndex:
			if q.Direction == Out && q.Array == (q.Name == "array_of_indices") {
				q.Role = role
			}
		case role != RoleNone:
			q.Role = role
		case q.Name == "rank" && f.OneSided():
			q.Role = RoleTarget
		case q.Type == "MPI_Comm" && q.Direction != Out && !comm:
			q.Role, comm = RoleComm, true
		}
	}
}

var (
	directions = map[byte]BufferDirection{'>': Sends, '<': Receives, '=': Both, '~': BcastBuf}
	timesOf    = map[string]Times{
		"": Once, "n": PerMember, "in": PerSource, "out": PerTarget, "me": OwnOf, "sum": SumOf,
	}
)

// setBuffers finds the parameters that describe each buffer. words are the parameters as they are written.
func (f *Function) setBuffers(words []string) {
	for i := 0; i < len(words); i++ {
		first := len(f.Buffers)
		for ; i < len(words) && directions[words[i][0]] != 0; i++ {
			name, atRoot := strings.CutSuffix(words[i][1:], "@root")
			name, times, _ := strings.Cut(name, "*")
			b := Buffer{Address: name, Direction: directions[words[i][0]], AtRoot: atRoot}
			if t, ok := timesOf[times]; ok {
				b.Times = t
			} else {
				b.Times, b.Parts = Partitions, times
			}
			f.Buffers = append(f.Buffers, b)
			f.Param(name).Role = RoleBuffer
		}
		if first == len(f.Buffers) {
			continue
		}
		var shared Buffer
		for ; i < len(words) && directions[words[i][0]] == 0; i++ {
			q := f.Param(strings.TrimLeft(words[i], "*&")[:nameEnd(strings.TrimLeft(words[i], "*&"))])
			switch {
			case q == nil:
			case strings.HasSuffix(q.Name, "displs"):
				shared.Displs, q.Role = q.Name, RoleDispls
			case q.Type == "MPI_Datatype" && shared.Type == "":
				shared.Type, shared.ByType = q.Name, q.Array
			case shared.Count == "" && shared.Type == "" &&
				(strings.Contains(q.Name, "count") || strings.HasSuffix(q.Name, "size")):
				shared.Count, shared.Array, q.Role = q.Name, q.Array, RoleCount
			case q.Name == "target_count":
				q.Role = RoleCount
			}
		}
		i--
		for j := first; j < len(f.Buffers); j++ {
			b := &f.Buffers[j]
			b.Count, b.Type, b.Displs, b.ByType = shared.Count, shared.Type, shared.Displs, shared.ByType
			b.Array = shared.Array && b.Times != OwnOf && b.Times != SumOf
		}
	}
}

// nameEnd is the length of the name that a written parameter begins with.
func nameEnd(word string) int {
	if i := strings.IndexAny(word, ":[*@"); i >= 0 {
		return i
	}
	return len(word)
}

// large makes the forms with large counts.
func (p *parser) large() error {
	for _, form := range p.forms {
		f := *form.f
		f.Name += "_c"
		f.Params = form.params
		for i := range f.Params {
			if q := form.f.Param(f.Params[i].Name); q != nil {
				f.Params[i].Role = q.Role
			}
		}
		f.Since, f.Small, f.Base, f.Nonblocking, f.Persistent = 40, form.f, nil, nil, nil
		f.Fortran, f.F08Own, f.Orders = FortranPlain, false, false
		// It is made of the call of its small form, for which its arrays are copied: so they must not be needed after
		// it.
		arrays := slices.ContainsFunc(f.Params, func(q Param) bool { return q.Array && q.Role == RoleCount })
		if f.Class == ClassCollectiveInit || f.Class == ClassIcollective && arrays {
			f.Coverage, f.Op, f.Class = Uncovered, OpOther, ClassNone
		}
		form.f.Large = &f
		if err := p.enter(&f); err != nil {
			return err
		}
	}
	for _, f := range p.table.functions { // the forms of forms
		if f.Large == nil {
			continue
		}
		link := func(of *Function) *Function {
			if of == nil {
				return nil
			}
			return of.Large
		}
		f.Large.Base, f.Large.Nonblocking, f.Large.Persistent = link(f.Base), link(f.Nonblocking), link(f.Persistent)
	}
	return nil
}
