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
	for row := range strings.Lines(strings.ReplaceAll(text, "\n\t", " ")) {
		if row = strings.TrimSpace(row); row == "" || row[0] == '#' {
			continue
		}
		if err := p.row(row); err != nil {
			return nil, fmt.Errorf("the row %q: %w", row, err)
		}
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
	"event": classNames[:], "as": nil, "uncovered": {""}, "value": {""}, "lifecycle": {""},
	"objects": {""}, "operation": {""},
	"local": {""}, "nonlocal": {""}, "poll": {""}, "completes": {"none", "one", "all", "any", "some"},
	"after": {"all", "exchange", "root", "toroot", "lower", "none"},
	"mode":  {"standard", "buffered", "synchronous", "ready"},
	"among": {""}, "orders": {""}, "synchronizes": {""}, "forms": nil,
	"fortran": {"plain", "", "own", "pass"}, "f08": {"own"},
	"always": {""}, "hidden": {""}, "verbs": nil, "since": nil, "until": nil, "missing": nil, "returns": nil,
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
func (p *parser) add(name, number string, words []string, traits map[string]string) (*Function, error) {
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
	all := make([]written, len(words))
	for i, word := range words {
		all[i] = p.parameter(word)
	}
	small, large := parameters(all)
	if !slices.Equal(small, large) {
		f.large = large
	}
	f.Params = small
	f.setRoles()
	f.setBuffers(all)
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
	f.Nonlocal = has("nonlocal") && !has("local")
	f.Among, f.Poll, f.Orders, f.Synchronizes = has("among"), has("poll"), has("orders"), has("synchronizes")
	f.F08Own, f.Always, f.Hidden = has("f08"), has("always"), has("hidden")
	choose(&f.Class, "event", traits)
	choose(&f.Completes, "completes", traits)
	choose(&f.Mode, "mode", traits)
	choose(&f.After, "after", traits)
	choose(&f.Fortran, "fortran", traits)
	if has("verbs") {
		f.verbs = strings.ReplaceAll(traits["verbs"], ".", " ")
	}
	if has("returns") {
		f.Returns = traits["returns"]
	}
	f.Missing, f.Since = traits["missing"], 10
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

// choose sets what a trait says by the place of its value among those that it may have.
func choose[T ~uint8](into *T, trait string, traits map[string]string) {
	if value, ok := traits[trait]; ok {
		*into = T(slices.Index(knownTraits[trait], value))
	}
}

// written is a parameter as a row has it.
type written struct {
	Param            // in the function
	large     string // its type in the form with large counts
	largeOnly bool   // it is in that form only
	buffer    BufferDirection
	times     string // of a buffer
	atRoot    bool
}

var directions = map[string]BufferDirection{">": Sends, "<": Receives, "=": Both, "~": BcastBuf}

func (p *parser) parameter(word string) written {
	word, largeOnly := strings.CutPrefix(word, "+")
	name := strings.TrimLeft(word, "*&<>=~")
	sign := word[:len(word)-len(name)]
	w := written{largeOnly: largeOnly, buffer: directions[sign]}
	name, w.atRoot = strings.CutSuffix(name, "@root")
	name, kinds, typed := strings.Cut(name, ":")
	if !typed {
		name, w.times, _ = strings.Cut(name, "*")
		name, w.Length, w.Array = strings.Cut(name, "[")
		kinds = p.types[name]
	} else if !strings.Contains(kinds, "[]") { // which are those of a C type
		kinds, w.Length, w.Array = strings.Cut(kinds, "[")
	}
	w.Name, w.Length = name, strings.TrimSuffix(w.Length, "]")
	switch {
	case w.buffer != 0:
		kinds = "void*"
	case name == "...":
		kinds = name
	}
	switch sign {
	case "*", "<":
		w.Direction = Out
	case "&", "=", "~":
		w.Direction = InOut
	}
	w.Const = w.Direction == In && (w.Array || w.buffer != 0)
	var two bool
	if w.Type, w.large, two = strings.Cut(kinds, "|"); !two {
		w.large = w.Type
	}
	return w
}

// parameters are those of the function and of its form with large counts.
func parameters(all []written) (small, large []Param) {
	for _, w := range all {
		q := w.Param
		q.setType()
		if !w.largeOnly {
			small = append(small, q)
		}
		q = w.Param
		q.Type = w.large
		q.setType()
		large = append(large, q)
	}
	return small, large
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

var timesOf = map[string]Times{
	"": Once, "n": PerMember, "in": PerSource, "out": PerTarget, "me": OwnOf, "sum": SumOf,
}

// setBuffers finds the parameters that describe each buffer.
func (f *Function) setBuffers(all []written) {
	first, last := 0, false // the first of the buffers that share what follows, and whether the parameter before is one
	for _, w := range all {
		q := f.Param(w.Name)
		if w.buffer != 0 {
			if !last {
				first = len(f.Buffers)
			}
			last = true
			b := Buffer{Address: w.Name, Direction: w.buffer, AtRoot: w.atRoot}
			var known bool
			if b.Times, known = timesOf[w.times]; !known {
				b.Times, b.Parts = Partitions, w.times
			}
			f.Buffers = append(f.Buffers, b)
			q.Role = RoleBuffer
			continue
		}
		last = false
		for i := first; i < len(f.Buffers); i++ {
			f.Buffers[i].describe(q)
		}
	}
}

// describe takes a parameter that follows a buffer, if it says something of it.
func (b *Buffer) describe(q *Param) {
	counts := strings.Contains(q.Name, "count") || strings.HasSuffix(q.Name, "size")
	switch {
	case strings.HasSuffix(q.Name, "displs"):
		b.Displs, q.Role = q.Name, RoleDispls
	case q.Type == "MPI_Datatype" && b.Type == "":
		b.Type, b.ByType = q.Name, q.Array
	case counts && b.Count == "" && b.Type == "":
		b.Count, q.Role = q.Name, RoleCount
		b.Array = q.Array && b.Times != OwnOf && b.Times != SumOf
	case q.Name == "target_count":
		q.Role = RoleCount
	}
}

// large makes the forms with large counts.
func (p *parser) large() error {
	for _, small := range p.table.functions {
		if small.large == nil {
			continue
		}
		f := *small
		f.Name += "_c"
		f.Params, f.large = f.large, nil
		for i := range f.Params {
			if q := small.Param(f.Params[i].Name); q != nil {
				f.Params[i].Role = q.Role
			}
		}
		f.Since, f.Small, f.Base, f.Nonblocking, f.Persistent = 40, small, nil, nil, nil
		f.Fortran, f.F08Own, f.Orders = FortranPlain, false, false
		// It is made of the call of its small form, for which its arrays are copied: so they must not be needed after
		// it.
		arrays := slices.ContainsFunc(f.Params, func(q Param) bool { return q.Array && q.Role == RoleCount })
		if f.Class == ClassCollectiveInit || f.Class == ClassIcollective && arrays {
			f.Coverage, f.Op, f.Class = Uncovered, OpOther, ClassNone
		}
		small.Large = &f
		if err := p.enter(&f); err != nil {
			return err
		}
	}
	large := func(f *Function) *Function {
		if f == nil {
			return nil
		}
		return f.Large
	}
	for _, f := range p.table.functions { // the forms of forms
		if f.Large != nil {
			l := f.Large
			l.Base, l.Nonblocking, l.Persistent = large(f.Base), large(f.Nonblocking), large(f.Persistent)
		}
	}
	return nil
}
