package handle

import (
	"fmt"
	"math"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// kinds are what is shown of objects in a line, and in a tree; requests are package call's.
var kinds = map[registry.Kind]struct {
	text  func(*Object) string
	nodes func(*Object) []view.Node
}{
	registry.KindGroup:      {(*Object).groupText, (*Object).groupNodes},
	registry.KindWindow:     {(*Object).windowText, (*Object).windowNodes},
	registry.KindFile:       {(*Object).fileText, (*Object).fileNodes},
	registry.KindOp:         {(*Object).opText, (*Object).opNodes},
	registry.KindErrhandler: {(*Object).errhandlerText, (*Object).errhandlerNodes},
	registry.KindInfo:       {(*Object).infoText, (*Object).infoNodes},
}

// Summary says in one line what the object is.
func (o *Object) Summary() string {
	s := kinds[o.Class.Kind].text(o)
	if o.Freed {
		s += ", freed"
	}
	return s
}

// Node is the object as a tree.
func (o *Object) Node(name string) view.Node {
	n := view.Group(name, o.Summary(), append(kinds[o.Class.Kind].nodes(o), o.Common()...))
	n.Type = o.Class.Ctype
	return n
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// titled puts the object's name behind a word, in quotes.
func (o *Object) titled(word string) string {
	switch {
	case o.Name == "":
		return word
	case o.Predefined:
		return o.Name
	}
	return fmt.Sprintf("%s %q", word, o.Name)
}

const notInGroup = math.MaxUint32

func (o *Object) members() ([]int64, error) {
	g := abi.Read[abi.Group](o.Raw)
	size := abi.Size[abi.Group]()
	if int64(g.Size) < int64(size)+4*int64(g.NMembers) {
		return nil, fault.Corruptf(o.Address, "a group's record has %d bytes and claims %d members", g.Size, g.NMembers)
	}
	return o.Rank.Integers("the members of a group", o.Address+uint64(size), int(g.NMembers), false)
}

func (o *Object) groupText() string {
	g := abi.Read[abi.Group](o.Raw)
	place := "this one is not in it"
	if g.GroupRank != notInGroup {
		place = fmt.Sprintf("this one is rank %d", g.GroupRank)
	}
	s := fmt.Sprintf("%s of %s, %s", o.titled("group"), view.Plural(int64(g.NMembers), "rank"), place)
	if g.NMembers == 0 {
		return o.titled("group") + " without members"
	}
	if m, err := o.members(); err == nil {
		s += ": " + membersText(m)
	}
	return s
}

func (o *Object) groupNodes() []view.Node {
	g := abi.Read[abi.Group](o.Raw)
	rank := "not in it"
	if g.GroupRank != notInGroup {
		rank = fmt.Sprint(g.GroupRank)
	}
	kids := []view.Node{view.Number("size", g.NMembers), view.Leaf("rank", rank)}
	m, err := o.members()
	if err != nil {
		return append(kids, view.Leaf("members", err.Error()))
	}
	return append(kids, memberNode("members", m))
}

var windowKinds = map[abi.WindowKind]string{
	abi.WindowCreate: "MPI_Win_create", abi.WindowAllocate: "MPI_Win_allocate",
	abi.WindowDynamic: "MPI_Win_create_dynamic", abi.WindowShared: "MPI_Win_allocate_shared",
}

func (o *Object) windowText() string {
	w := abi.Read[abi.Window](o.Raw)
	s := o.titled("window")
	if abi.WindowKind(w.Kind) != abi.WindowDynamic {
		s += fmt.Sprintf(" of %s at 0x%x", view.ByteCount(w.Bytes), w.Base)
	}
	if c, err := o.Rank.CommIfAny(w.Comm); err == nil && c != nil {
		s += " over " + c.Brief()
	}
	if e := o.epochs(); e != "none" {
		s += ", " + e
	}
	return s
}

// CommIfAny reads the communicator at an address of a record; nil for 0.
func (r *Rank) CommIfAny(rec uint64) (*Comm, error) {
	if rec == 0 {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return r.CommAt(rec)
}

// epochs says which access and exposure epochs are open.
func (o *Object) epochs() string {
	w := abi.Read[abi.Window](o.Raw)
	var out []string
	if w.Epochs&abi.EpochFence != 0 {
		out = append(out, "fence")
	}
	for _, e := range []struct {
		bit   abi.Epoch
		what  string
		group uint64
	}{
		{abi.EpochStart, "access (MPI_Win_start)", w.AccessGroup},
		{abi.EpochPost, "exposure (MPI_Win_post)", w.ExposureGroup},
	} {
		if w.Epochs&e.bit == 0 {
			continue
		}
		text := e.what
		if e.group != 0 {
			if g, err := o.Rank.ObjectAt(registry.ClassOf(registry.KindGroup), e.group); err == nil {
				if m, err := g.members(); err == nil {
					text += " to " + membersText(m)
				}
			}
		}
		out = append(out, text)
	}
	if w.Epochs&abi.EpochLockAll != 0 {
		out = append(out, "lock of all")
	}
	for i := range min(w.NLocks, abi.LocksMax) {
		how := "shared"
		if w.Locks[i]&abi.LockExclusive != 0 {
			how = "exclusive"
		}
		out = append(out, fmt.Sprintf("%s lock of rank %d", how, w.Locks[i]&^abi.LockExclusive))
	}
	if w.NLocks > abi.LocksMax {
		out = append(out, fmt.Sprintf("%d more locks", w.NLocks-abi.LocksMax))
	}
	if len(out) == 0 {
		return "none"
	}
	return "open epoch: " + strings.Join(out, ", ")
}

func (o *Object) windowNodes() []view.Node {
	w := abi.Read[abi.Window](o.Raw)
	kind, known := windowKinds[abi.WindowKind(w.Kind)]
	if !known {
		kind = fmt.Sprintf("unknown kind %d", w.Kind)
	}
	kids := []view.Node{view.Leaf("kind", kind)}
	if abi.WindowKind(w.Kind) != abi.WindowDynamic {
		kids = append(
			kids, view.Leaf("base", fmt.Sprintf("0x%x", w.Base)), view.Leaf("size", view.ByteCount(w.Bytes)),
			view.Number("disp_unit", w.DispUnit),
		)
	}
	kids = append(kids, view.Leaf("epochs", o.epochs()))
	return append(kids, o.Rank.commNode(w.Comm)...)
}

// commNode shows the communicator that a record refers to.
func (r *Rank) commNode(rec uint64) []view.Node {
	c, err := r.CommIfAny(rec)
	switch {
	case err != nil:
		return []view.Node{view.Leaf("comm", err.Error())}
	case c == nil:
		return []view.Node{view.Leaf("comm", "not known")}
	}
	return []view.Node{c.Node("comm")}
}

// The access modes of MPI_File_open, the same in both libraries.
var fileModes = []struct {
	bit  int32
	name string
}{
	{2, "MPI_MODE_RDONLY"},
	{4, "MPI_MODE_WRONLY"},
	{8, "MPI_MODE_RDWR"},
	{1, "MPI_MODE_CREATE"},
	{64, "MPI_MODE_EXCL"},
	{16, "MPI_MODE_DELETE_ON_CLOSE"},
	{32, "MPI_MODE_UNIQUE_OPEN"},
	{128, "MPI_MODE_APPEND"},
	{256, "MPI_MODE_SEQUENTIAL"},
}

func modeText(mode int32) string {
	var out []string
	for _, m := range fileModes {
		if mode&m.bit != 0 {
			out = append(out, m.name)
			mode &^= m.bit
		}
	}
	if mode != 0 || len(out) == 0 {
		out = append(out, fmt.Sprintf("0x%x", uint32(mode)))
	}
	return strings.Join(out, " | ")
}

func (o *Object) fileText() string {
	f := abi.Read[abi.File](o.Raw)
	s := o.titled("file") + ", " + modeText(f.Amode)
	if c, err := o.Rank.CommIfAny(f.Comm); err == nil && c != nil {
		s += ", over " + c.Brief()
	}
	if t, err := o.Rank.DatatypeIfAny(f.Filetype); err == nil && t != nil && t.Combiner() != abi.CombinerNamed {
		s += ", view of " + t.Title()
	}
	return s
}

func (o *Object) fileNodes() []view.Node {
	f := abi.Read[abi.File](o.Raw)
	kids := []view.Node{view.Leaf("mode", modeText(f.Amode)), view.Number("displacement", f.Disp)}
	for _, t := range []struct {
		name string
		rec  uint64
	}{{"etype", f.Etype}, {"filetype", f.Filetype}} {
		switch dt, err := o.Rank.DatatypeIfAny(t.rec); {
		case err != nil:
			kids = append(kids, view.Leaf(t.name, err.Error()))
		case dt != nil:
			kids = append(kids, dt.Node(t.name))
		}
	}
	kids = append(kids, view.Leaf("representation", fmt.Sprintf("%q", registry.Text(f.Datarep[:]))))
	return append(kids, o.Rank.commNode(f.Comm)...)
}

func (o *Object) opText() string {
	if o.Predefined {
		return o.titled("operation")
	}
	s := "operation of the program's"
	if abi.Read[abi.Reduction](o.Raw).Commutes == 0 {
		return s + ", not commutative"
	}
	return s + ", commutative"
}

// Told says what an operation is: a predefined one by its name, another with its function.
func (o *Object) Told() string {
	s := o.Summary()
	for _, n := range o.functionNodes(abi.Read[abi.Reduction](o.Raw).Function) {
		s += ", " + n.Name + " " + n.Value
	}
	return s
}

var handlerKinds = map[abi.FunctionKind]string{
	abi.FunctionComm: "for communicators", abi.FunctionWindow: "for windows", abi.FunctionFile: "for files",
	abi.FunctionSession: "for sessions",
}

func (o *Object) errhandlerText() string {
	if o.Predefined {
		return o.titled("error handler")
	}
	return strings.TrimSpace("error handler of the program's " + handlerKinds[abi.FunctionKind(o.Kind)])
}

func (o *Object) opNodes() []view.Node {
	op := abi.Read[abi.Reduction](o.Raw)
	kids := o.functionNodes(op.Function)
	if !o.Predefined {
		kids = append(kids, view.Leaf("commutes", yesNo(op.Commutes != 0)))
	}
	return kids
}

func (o *Object) errhandlerNodes() []view.Node {
	return o.functionNodes(abi.Read[abi.Errhandler](o.Raw).Function)
}

// functionNodes show the program's function of an operation or error handler.
func (o *Object) functionNodes(addr uint64) []view.Node {
	if addr == 0 || o.Predefined {
		if o.State&abi.ObjectAddressOnly != 0 {
			return []view.Node{view.Leaf("function", "not known")}
		}
		return nil
	}
	text := fmt.Sprintf("0x%x", addr)
	if s := o.Rank.Line(addr + 1); s != "" { // it takes return addresses
		text = s
	}
	if o.State&abi.ObjectFortran != 0 {
		text += " (Fortran)"
	}
	return []view.Node{view.Leaf("function", text)}
}

const maxInfoText = abi.InfoKeysMax * (2 * abi.InfoValueMax)

// entries are the keys and values that are kept.
func (o *Object) entries() ([][2]string, error) {
	i := abi.Read[abi.Info](o.Raw)
	head := abi.Size[abi.Info]()
	size := int64(i.Size) - int64(head)
	if i.NEntries > abi.InfoKeysMax || size > maxInfoText || size < 0 {
		return nil, fault.Corruptf(o.Address, "an info's record has %d bytes and claims %d entries", i.Size, i.NEntries)
	}
	b, err := o.Rank.ReadFull(o.Address+uint64(head), size, "The entries of an info")
	if err != nil {
		return nil, err
	}
	parts := strings.Split(strings.ToValidUTF8(string(b), "?"), "\x00")
	if len(parts) < 2*int(i.NEntries) {
		return nil, fault.Corruptf(o.Address, "an info claims %d entries and has %d texts", i.NEntries, len(parts))
	}
	out := make([][2]string, i.NEntries)
	for k := range out {
		out[k] = [2]string{parts[2*k], parts[2*k+1]}
	}
	return out, nil
}

func (o *Object) infoText() string {
	if o.Predefined {
		return o.titled("info")
	}
	entries, err := o.entries()
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, e := range entries {
		out = append(out, fmt.Sprintf("%s=%q", e[0], e[1]))
	}
	if rest := int64(abi.Read[abi.Info](o.Raw).NKeys) - int64(len(entries)); rest > 0 {
		out = append(out, fmt.Sprintf("%d more that are not recorded", rest))
	}
	if len(out) == 0 {
		return "info without entries"
	}
	return "info {" + strings.Join(out, ", ") + "}"
}

func (o *Object) infoNodes() []view.Node {
	entries, err := o.entries()
	if err != nil {
		return []view.Node{view.Leaf("entries", err.Error())}
	}
	var kids []view.Node
	for _, e := range entries {
		kids = append(kids, view.Leaf(e[0], fmt.Sprintf("%q", e[1])))
	}
	if o.State&abi.ObjectTruncated != 0 {
		kids = append(kids, view.Leaf("…", "not all is recorded"))
	}
	return kids
}
