package prettyprint

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

// CommKind is the kind of a communicator, numbered as enum cohort_comm_kind.
type CommKind uint32

// The kinds of enum cohort_comm_kind.
const (
	CommIntra     CommKind = 1
	CommInter     CommKind = 2
	CommCart      CommKind = 3
	CommGraph     CommKind = 4
	CommNull      CommKind = 5
	CommDistGraph CommKind = 6
)

func (k CommKind) String() string {
	switch k {
	case CommIntra:
		return "intracommunicator"
	case CommInter:
		return "intercommunicator"
	case CommCart:
		return "Cartesian communicator"
	case CommGraph:
		return "graph communicator"
	case CommDistGraph:
		return "distributed graph communicator"
	case CommNull:
		return "MPI_COMM_NULL"
	}
	return fmt.Sprintf("communicator of unknown kind %d", uint32(k))
}

const maxDims = 1 << 16

// Comm is one communicator of the registry.
type Comm struct {
	reg     *Registry
	hdr     abiComm
	members []uint32 // world ranks, by rank in the communicator
	remote  []uint32
	cart    []int32 // dims, periods, coords
}

// CommByHandle returns the live communicator whose C handle is h; only the low HandleSize bytes of h count.
func (r *Registry) CommByHandle(h uint64) (*Comm, error) {
	h = r.maskHandle(h)
	rec, freed, err := r.find(r.abi.comms, h, "communicators")
	if err != nil {
		return nil, err
	}
	if rec == 0 {
		return nil, r.unknownHandle("communicator", "MPI_Comm", fmt.Sprintf("0x%x", h), h, freed)
	}
	return r.comm(rec)
}

// CommByFortran returns the live communicator whose Fortran handle is f.
func (r *Registry) CommByFortran(f int32) (*Comm, error) {
	var freed bool
	rec, err := r.commWhere(func(h abiComm) bool {
		if h.fHandle != f || f == abiNoFortran {
			return false
		}
		freed = freed || h.state&commFreed != 0
		return h.state&commFreed == 0
	})
	if err != nil {
		return nil, err
	}
	if rec == 0 {
		return nil, r.unknownHandle("communicator", "INTEGER or TYPE(MPI_Comm)", fmt.Sprint(f), uint64(uint32(f)),
			freed)
	}
	return r.comm(rec)
}

// CommByName returns a live communicator by its name, such as MPI_COMM_WORLD.
func (r *Registry) CommByName(name string) (*Comm, error) {
	rec, err := r.commWhere(func(h abiComm) bool { return h.name == name && h.state&commFreed == 0 })
	if err != nil {
		return nil, err
	}
	if rec == 0 {
		return nil, errorf(KindNotFound, 0, "This rank has no communicator named %s.", name)
	}
	return r.comm(rec)
}

// commWhere returns the record of the first communicator that match accepts, or 0.
func (r *Registry) commWhere(match func(h abiComm) bool) (uint64, error) {
	slots, err := r.slots(&r.commSlots, r.abi.comms, "communicators")
	if err != nil {
		return 0, err
	}
	r.prefetch(slots, commHeader)
	for _, s := range slots.live {
		h, err := r.commHeader(s.record)
		if err != nil {
			return 0, err
		}
		if match(h) {
			return s.record, nil
		}
	}
	return 0, nil
}

func (r *Registry) commHeader(rec uint64) (abiComm, error) {
	if c, ok := r.comms[rec]; ok {
		return c.hdr, nil
	}
	if b, ok := r.commSlots.header(rec, commHeader); ok {
		return decodeComm(b), nil
	}
	b, err := r.readFull(rec, commHeader, "A communicator's record")
	if err != nil {
		return abiComm{}, err
	}
	return decodeComm(b), nil
}

func (r *Registry) comm(rec uint64) (*Comm, error) {
	if c, ok := r.comms[rec]; ok {
		return c, nil
	}
	h, err := r.commHeader(rec)
	if err != nil {
		return nil, err
	}
	need := int64(commHeader) + 4*(int64(h.nMembers)+int64(h.nRemote)+3*int64(h.nDims))
	if int64(h.size) < need || h.nDims > maxDims {
		return nil, corrupt(rec, "a communicator's record has %d bytes and claims %d members, %d remote members and "+
			"%d dimensions",
			h.size, h.nMembers, h.nRemote, h.nDims)
	}
	b, err := r.readFull(rec+commHeader, need-commHeader, "The members of a communicator")
	if err != nil {
		return nil, err
	}
	c := &Comm{reg: r, hdr: h}
	take := func(n int) []uint32 {
		out := make([]uint32, n)
		for i := range out {
			out[i] = binary.LittleEndian.Uint32(b[4*i:])
		}
		b = b[4*n:]
		return out
	}
	c.members, c.remote = take(int(h.nMembers)), take(int(h.nRemote))
	for _, v := range take(3 * int(h.nDims)) {
		c.cart = append(c.cart, int32(v))
	}
	r.comms[rec] = c
	return c, nil
}

// Kind is the kind of communicator.
func (c *Comm) Kind() CommKind { return CommKind(c.hdr.kind) }

// Name is the name by MPI_Comm_set_name or the predefined one, or empty.
func (c *Comm) Name() string { return c.hdr.name }

// Size is the number of ranks in it (of an intercommunicator: in the local group).
func (c *Comm) Size() int { return int(c.hdr.commSize) }

// Rank is this rank's number in it.
func (c *Comm) Rank() int { return int(c.hdr.commRank) }

// Members are the ranks in MPI_COMM_WORLD of its ranks 0, 1, ...; of an intercommunicator, of its local group.
func (c *Comm) Members() []uint32 { return c.members }

// Remote are the ranks in MPI_COMM_WORLD of an intercommunicator's remote group.
func (c *Comm) Remote() []uint32 { return c.remote }

// Cart returns the dimensions, periods and this rank's coordinates of a Cartesian communicator, else nil slices.
func (c *Comm) Cart() (dims, periods, coords []int32) {
	n := len(c.cart) / 3
	return c.cart[:n], c.cart[n : 2*n], c.cart[2*n:]
}

// Freed reports whether the program freed the handle.
func (c *Comm) Freed() bool { return c.hdr.state&commFreed != 0 }

// GlobalID is the same in all members of the communicator; MPI_COMM_WORLD has 1.
func (c *Comm) GlobalID() uint64 { return c.hdr.globalID }

// Parent returns the communicator from which it was made; nil if it has none, or if that one is not in the registry any
// more.
func (c *Comm) Parent() (*Comm, error) {
	if c.hdr.parentID == 0 {
		return nil, nil //nolint:nilnil // no parent is an answer
	}
	rec, err := c.reg.commWhere(func(h abiComm) bool { return h.globalID == c.hdr.parentID })
	if err != nil || rec == 0 {
		return nil, err
	}
	return c.reg.comm(rec)
}

// Summary says in one line what the communicator is.
func (c *Comm) Summary() string {
	if c.Kind() == CommNull {
		return "MPI_COMM_NULL"
	}
	name := ""
	if c.Name() != "" {
		name = " " + c.Name()
	}
	s := fmt.Sprintf("%s%s of %s, this one is rank %d: %s", c.Kind(), name, plural(int64(c.Size()), "rank"), c.Rank(),
		membersText(c.members))
	if c.Kind() == CommInter {
		s += "; remote group " + membersText(c.remote)
	}
	return s
}

// Node is the communicator as a tree.
func (c *Comm) Node(name string, where func(pc uint64) string) Node {
	kids := []Node{leafNode("kind", c.Kind().String())}
	if c.Name() != "" {
		kids = append(kids, leafNode("name", fmt.Sprintf("%q", c.Name())))
	}
	kids = append(kids, numberNode("size", c.Size()), numberNode("rank", c.Rank()), memberNode("members", c.members))
	if c.Kind() == CommInter {
		kids = append(kids, memberNode("remote", c.remote))
	}
	if dims, periods, coords := c.Cart(); len(dims) > 0 {
		kids = append(kids, leafNode("dims", ints(dims)), leafNode("periods", ints(periods)),
			leafNode("coords", ints(coords)))
	}
	switch parent, err := c.Parent(); {
	case err != nil:
		kids = append(kids, leafNode("parent", err.Error()))
	case parent != nil && parent.Name() != "":
		kids = append(kids, leafNode("parent", parent.Name()))
	case parent != nil:
		kids = append(kids, leafNode("parent", fmt.Sprintf("%s (handle 0x%x)", parent.brief(), parent.hdr.handle)))
	case c.hdr.parentID != 0:
		kids = append(kids, leafNode("parent", "a communicator that is not live any more"))
	}
	state := "live"
	if c.Freed() {
		state = "freed"
	}
	kids = append(kids, leafNode("state", state))
	if c.hdr.callSite != 0 {
		kids = append(kids, leafNode("created", createdText(c.hdr.callSite, c.hdr.event, where)))
	}
	handle := fmt.Sprintf("0x%x", c.hdr.handle)
	if c.hdr.fHandle != abiNoFortran {
		handle += fmt.Sprintf(" (Fortran %d)", c.hdr.fHandle)
	}
	kids = append(kids, leafNode("handle", handle))
	n := groupNode(name, c.Summary(), kids)
	n.Type = "MPI_Comm"
	return n
}

// memberNode shows world ranks as a rank set, and opened, which rank of the communicator each is.
func memberNode(name string, ranks []uint32) Node {
	return listNode(name, membersText(ranks), len(ranks), func(i int) Node {
		if ranks[i] == outsideWorld {
			return leafNode(fmt.Sprintf("[%d]", i), "a process outside MPI_COMM_WORLD")
		}
		return Node{Name: fmt.Sprintf("[%d]", i), Value: fmt.Sprintf("rank %d of MPI_COMM_WORLD", ranks[i])}
	})
}

func membersText(ranks []uint32) string {
	if len(ranks) == 0 {
		return "members unknown"
	}
	s := RankSet(ranks)
	if !slices.IsSorted(ranks) {
		s += " in this order"
	}
	return s
}

// outsideWorld stands for a process that is not in MPI_COMM_WORLD (of a job that was connected or spawned).
const outsideWorld = math.MaxUint32

// RankSet writes ranks as Cohort's rank sets are written, in the order given: 0-3,7 or 0-12:4. A process outside
// MPI_COMM_WORLD is a question mark.
func RankSet(ranks []uint32) string {
	var out []string
	for i := 0; i < len(ranks); {
		step, j := int64(0), i+1
		if j < len(ranks) && !slices.Contains(ranks[i:j+1], outsideWorld) {
			step = int64(ranks[j]) - int64(ranks[i])
		}
		for j < len(ranks) && step > 0 && ranks[j] != outsideWorld && int64(ranks[j])-int64(ranks[j-1]) == step {
			j++
		}
		switch {
		case step == 1 && j-i >= 2:
			out = append(out, fmt.Sprintf("%d-%d", ranks[i], ranks[j-1]))
		case step > 1 && j-i >= 3:
			out = append(out, fmt.Sprintf("%d-%d:%d", ranks[i], ranks[j-1], step))
		case ranks[i] == outsideWorld:
			j = i + 1
			out = append(out, "?")
		default:
			j = i + 1
			out = append(out, fmt.Sprint(ranks[i]))
		}
		i = j
	}
	return strings.Join(out, ",")
}

func ints(v []int32) string {
	s := make([]string, len(v))
	for i := range v {
		s[i] = fmt.Sprint(v[i])
	}
	return "{" + strings.Join(s, ", ") + "}"
}
