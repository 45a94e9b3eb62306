package prettyprint

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// Summary says in one line what the object is.
func (o *Object) Summary() string {
	s := ""
	switch o.info.kind { //nolint:exhaustive // datatypes and communicators are no Objects
	case HandleGroup:
		s = o.groupText()
	case HandleWindow:
		s = o.windowText()
	case HandleFile:
		s = o.fileText()
	case HandleOp:
		s = o.opText()
	case HandleErrhandler:
		s = o.errhandlerText()
	case HandleInfo:
		s = o.infoText()
	case HandleRequest:
		s = o.request().summary()
	}
	if o.Freed() {
		s += ", freed"
	}
	return s
}

// Node is the object as a tree. where names the source line of an instruction and may be nil.
func (o *Object) Node(name string, env Surroundings) Node {
	var kids []Node
	switch o.info.kind { //nolint:exhaustive // likewise
	case HandleGroup:
		kids = o.groupNodes()
	case HandleWindow:
		kids = o.windowNodes()
	case HandleFile:
		kids = o.fileNodes()
	case HandleOp:
		kids = o.functionNodes(decodeReduction(o.raw).function, env)
		if !o.Predefined() {
			kids = append(kids, leafNode("commutes", yesNo(decodeReduction(o.raw).commutes != 0)))
		}
	case HandleErrhandler:
		kids = o.functionNodes(decodeErrhandler(o.raw).function, env)
	case HandleInfo:
		kids = o.infoNodes()
	case HandleRequest:
		kids = o.request().nodes(env)
	}
	kids = append(kids, o.common(env.where())...)
	n := groupNode(name, o.Summary(), kids)
	n.Type = o.info.ctype
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
	case o.name == "":
		return word
	case o.Predefined():
		return o.name
	}
	return fmt.Sprintf("%s %q", word, o.name)
}

const notInGroup = math.MaxUint32

func (o *Object) members() ([]uint32, error) {
	g := decodeGroup(o.raw)
	if int64(g.size) < groupHeader+4*int64(g.nMembers) || g.nMembers > maxParts {
		return nil, corrupt(o.rec, "a group's record has %d bytes and claims %d members", g.size, g.nMembers)
	}
	b, err := o.reg.readFull(o.rec+groupHeader, 4*int64(g.nMembers), "The members of a group")
	if err != nil {
		return nil, err
	}
	out := make([]uint32, g.nMembers)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out, nil
}

func (o *Object) groupText() string {
	g := decodeGroup(o.raw)
	place := "this one is not in it"
	if g.groupRank != notInGroup {
		place = fmt.Sprintf("this one is rank %d", g.groupRank)
	}
	s := fmt.Sprintf("%s of %s, %s", o.titled("group"), plural(int64(g.nMembers), "rank"), place)
	if g.nMembers == 0 {
		return o.titled("group") + " without members"
	}
	if m, err := o.members(); err == nil {
		s += ": " + membersText(m)
	}
	return s
}

func (o *Object) groupNodes() []Node {
	g := decodeGroup(o.raw)
	rank := "not in it"
	if g.groupRank != notInGroup {
		rank = fmt.Sprint(g.groupRank)
	}
	kids := []Node{numberNode("size", g.nMembers), leafNode("rank", rank)}
	m, err := o.members()
	if err != nil {
		return append(kids, leafNode("members", err.Error()))
	}
	return append(kids, memberNode("members", m))
}

var windowKinds = map[uint32]string{
	1: "MPI_Win_create", 2: "MPI_Win_allocate", 3: "MPI_Win_create_dynamic",
	4: "MPI_Win_allocate_shared",
}

func (o *Object) windowText() string {
	w := decodeWindow(o.raw)
	s := o.titled("window")
	if w.kind != 3 {
		s += fmt.Sprintf(" of %s at 0x%x", byteCount(w.bytes), w.base)
	}
	if c, err := o.reg.commRecord(w.comm); err == nil && c != nil {
		s += " over " + c.brief()
	}
	if e := o.epochs(); e != "none" {
		s += ", " + e
	}
	return s
}

// brief names a communicator in a few words.
func (c *Comm) brief() string {
	if c.Name() != "" {
		return c.Name()
	}
	return fmt.Sprintf("%s of %s", c.Kind(), plural(int64(c.Size()), "rank"))
}

// commRecord reads the communicator at an address of a record; nil for 0.
func (r *Registry) commRecord(rec uint64) (*Comm, error) {
	if rec == 0 {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return r.comm(rec)
}

// epochs says which access and exposure epochs are open.
func (o *Object) epochs() string {
	w := decodeWindow(o.raw)
	var out []string
	if w.epochs&1 != 0 {
		out = append(out, "fence")
	}
	for _, e := range []struct {
		bit   uint32
		what  string
		group uint64
	}{{2, "access (MPI_Win_start)", w.accessGroup}, {4, "exposure (MPI_Win_post)", w.exposureGroup}} {
		if w.epochs&e.bit == 0 {
			continue
		}
		text := e.what
		if e.group != 0 {
			if g, err := o.reg.object(infoOf(HandleGroup), e.group); err == nil {
				if m, err := g.members(); err == nil {
					text += " to " + membersText(m)
				}
			}
		}
		out = append(out, text)
	}
	if w.epochs&8 != 0 {
		out = append(out, "lock of all")
	}
	for i := range min(w.nLocks, locksMax) {
		how := "shared"
		if w.locks[i]&(1<<31) != 0 {
			how = "exclusive"
		}
		out = append(out, fmt.Sprintf("%s lock of rank %d", how, w.locks[i]&^(1<<31)))
	}
	if w.nLocks > locksMax {
		out = append(out, fmt.Sprintf("%d more locks", w.nLocks-locksMax))
	}
	if len(out) == 0 {
		return "none"
	}
	return "open epoch: " + strings.Join(out, ", ")
}

func (o *Object) windowNodes() []Node {
	w := decodeWindow(o.raw)
	kind, known := windowKinds[w.kind]
	if !known {
		kind = fmt.Sprintf("unknown kind %d", w.kind)
	}
	kids := []Node{leafNode("kind", kind)}
	if w.kind != 3 {
		kids = append(
			kids, leafNode("base", fmt.Sprintf("0x%x", w.base)), leafNode("size", byteCount(w.bytes)),
			numberNode("disp_unit", w.dispUnit),
		)
	}
	kids = append(kids, leafNode("epochs", o.epochs()))
	return append(kids, o.reg.commNode(w.comm)...)
}

// commNode shows the communicator that a record refers to.
func (r *Registry) commNode(rec uint64) []Node {
	c, err := r.commRecord(rec)
	switch {
	case err != nil:
		return []Node{leafNode("comm", err.Error())}
	case c == nil:
		return []Node{leafNode("comm", "not known")}
	}
	return []Node{c.Node("comm", r.env.where())}
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
	f := decodeFile(o.raw)
	s := o.titled("file") + ", " + modeText(f.amode)
	if c, err := o.reg.commRecord(f.comm); err == nil && c != nil {
		s += ", over " + c.brief()
	}
	if t, err := o.reg.typeRecord(f.filetype); err == nil && t != nil && t.Combiner() != CombinerNamed {
		s += ", view of " + t.Title()
	}
	return s
}

// typeRecord reads the datatype at an address of a record; nil for 0.
func (r *Registry) typeRecord(rec uint64) (*Datatype, error) {
	if rec == 0 {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return r.datatype(rec)
}

func (o *Object) fileNodes() []Node {
	f := decodeFile(o.raw)
	kids := []Node{leafNode("mode", modeText(f.amode)), numberNode("displacement", f.disp)}
	for _, t := range []struct {
		name string
		rec  uint64
	}{{"etype", f.etype}, {"filetype", f.filetype}} {
		switch dt, err := o.reg.typeRecord(t.rec); {
		case err != nil:
			kids = append(kids, leafNode(t.name, err.Error()))
		case dt != nil:
			kids = append(kids, dt.Node(t.name, o.reg.env.where()))
		}
	}
	kids = append(kids, leafNode("representation", fmt.Sprintf("%q", f.datarep)))
	return append(kids, o.reg.commNode(f.comm)...)
}

func (o *Object) opText() string {
	if o.Predefined() {
		return o.titled("operation")
	}
	s := "operation of the program's"
	if decodeReduction(o.raw).commutes == 0 {
		return s + ", not commutative"
	}
	return s + ", commutative"
}

var handlerKinds = map[uint32]string{3: "for communicators", 4: "for windows", 5: "for files", 6: "for sessions"}

func (o *Object) errhandlerText() string {
	if o.Predefined() {
		return o.titled("error handler")
	}
	return strings.TrimSpace("error handler of the program's " + handlerKinds[o.hdr.kind])
}

// functionNodes show the program's function of an operation or error handler.
func (o *Object) functionNodes(addr uint64, env Surroundings) []Node {
	if addr == 0 || o.Predefined() {
		if o.hdr.state&objectAddressOnly != 0 {
			return []Node{leafNode("function", "not known")}
		}
		return nil
	}
	text := fmt.Sprintf("0x%x", addr)
	if where := env.where(); where != nil {
		if s := where(addr + 1); s != "" { // where takes return addresses
			text = s
		}
	}
	if o.hdr.state&objectFortran != 0 {
		text += " (Fortran)"
	}
	return []Node{leafNode("function", text)}
}

const (
	infoKeysMax = 64
	maxInfoText = infoKeysMax * (256 + 256)
)

// entries are the keys and values that are kept.
func (o *Object) entries() ([][2]string, error) {
	i := decodeInfo(o.raw)
	size := int64(i.size) - infoHeader
	if i.nEntries > infoKeysMax || size > maxInfoText || size < 0 {
		return nil, corrupt(o.rec, "an info's record has %d bytes and claims %d entries", i.size, i.nEntries)
	}
	b, err := o.reg.readFull(o.rec+infoHeader, size, "The entries of an info")
	if err != nil {
		return nil, err
	}
	parts := strings.Split(strings.ToValidUTF8(string(b), "?"), "\x00")
	if len(parts) < 2*int(i.nEntries) {
		return nil, corrupt(o.rec, "an info claims %d entries and has %d texts", i.nEntries, len(parts))
	}
	out := make([][2]string, i.nEntries)
	for k := range out {
		out[k] = [2]string{parts[2*k], parts[2*k+1]}
	}
	return out, nil
}

func (o *Object) infoText() string {
	if o.Predefined() {
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
	if rest := int64(decodeInfo(o.raw).nKeys) - int64(len(entries)); rest > 0 {
		out = append(out, fmt.Sprintf("%d more that are not kept", rest))
	}
	if len(out) == 0 {
		return "info without entries"
	}
	return "info {" + strings.Join(out, ", ") + "}"
}

func (o *Object) infoNodes() []Node {
	entries, err := o.entries()
	if err != nil {
		return []Node{leafNode("entries", err.Error())}
	}
	var kids []Node
	for _, e := range entries {
		kids = append(kids, leafNode(e[0], fmt.Sprintf("%q", e[1])))
	}
	if o.hdr.state&objectTruncated != 0 {
		kids = append(kids, leafNode("…", "not all is kept"))
	}
	return kids
}
