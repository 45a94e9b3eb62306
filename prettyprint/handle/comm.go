package handle

import (
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
	"github.com/cohort-debugger/cohort/rankset"
)

var commKinds = map[abi.CommKind]string{
	abi.CommIntra: "intracommunicator", abi.CommInter: "intercommunicator", abi.CommCart: "Cartesian communicator",
	abi.CommGraph: "graph communicator", abi.CommDistGraph: "distributed graph communicator",
	abi.CommNull: "MPI_COMM_NULL",
}

const maxDims = 1 << 16

// Comm is one communicator of the registry. Its fields are read only.
type Comm struct {
	registry.Head
	Record abi.Comm
	Kind   abi.CommKind
	Size   int // ranks in it; of an intercommunicator, in the local group
	Rank   int // this rank's number in it
	// ranks in MPI_COMM_WORLD, or OutsideWorld, by rank in it; of an intercommunicator, of its local group
	Members []int64
	Remote  []int64 // likewise, of an intercommunicator's remote group
	Peers   []int64 // those of the two that messages go to and come from
	// Of a Cartesian communicator; else they are empty.
	Dims, Periods, Coords []int64

	rank *Rank
}

// CommOfHandle returns the live communicator whose handle is h, in Fortran if fortran is set.
func (r *Rank) CommOfHandle(h uint64, fortran bool) (*Comm, error) {
	head, err := r.Lookup(registry.ClassOf(registry.KindComm), h, fortran)
	if err != nil {
		return nil, err
	}
	return r.CommAt(head.Address)
}

// CommByName returns a live communicator by its name, such as MPI_COMM_WORLD.
func (r *Rank) CommByName(name string) (*Comm, error) {
	head, err := r.ByName(registry.ClassOf(registry.KindComm), name, false)
	if err != nil {
		return nil, err
	}
	return r.CommAt(head.Address)
}

// CommAt decodes the record at rec.
func (r *Rank) CommAt(rec uint64) (*Comm, error) {
	if c, ok := r.comms[rec]; ok {
		return c, nil
	}
	head, err := r.Head(registry.ClassOf(registry.KindComm), rec)
	if err != nil {
		return nil, err
	}
	h := abi.Read[abi.Comm](head.Raw)
	size, members, dims := abi.Size[abi.Comm](), int64(h.NMembers), int64(h.NDims)
	n := members + int64(h.NRemote) + 3*dims
	if int64(h.Size) < int64(size)+4*n || h.NDims > maxDims {
		return nil, fault.Corruptf(rec, "a communicator's record has %d bytes and claims %d members, %d remote "+
			"members and %d dimensions", h.Size, h.NMembers, h.NRemote, h.NDims)
	}
	v, err := r.Integers("the members of a communicator", rec+uint64(size), int(n), false)
	if err != nil {
		return nil, err
	}
	c := &Comm{
		Head: head, Record: h, Kind: abi.CommKind(h.Kind), Size: int(h.CommSize), Rank: int(h.CommRank), rank: r,
		Members: v[:members], Remote: v[members : n-3*dims],
		Dims: v[n-3*dims : n-2*dims], Periods: v[n-2*dims : n-dims], Coords: v[n-dims:],
	}
	if c.Peers = c.Members; c.Kind == abi.CommInter {
		c.Peers = c.Remote
	}
	r.comms[rec] = c
	return c, nil
}

// kindText is its kind in sentences.
func (c *Comm) kindText() string {
	if text, ok := commKinds[c.Kind]; ok {
		return text
	}
	return fmt.Sprintf("communicator of unknown kind %d", c.Kind)
}

// Brief names it in a few words.
func (c *Comm) Brief() string {
	if c.Name != "" {
		return c.Name
	}
	return fmt.Sprintf("%s of %s", c.kindText(), view.Plural(int64(c.Size), "rank"))
}

// Told says which communicator it is, so that two ranks say the same of one, and different things of two; written is
// how the program calls it, or "".
func (c *Comm) Told(written string) string {
	told := c.told(written)
	if written == "" || strings.EqualFold(written, told) {
		return told
	}
	return written + " (" + told + ")"
}

func (c *Comm) told(written string) string {
	const world = 1
	switch {
	case c.Record.GlobalID == world:
		return "MPI_COMM_WORLD"
	case c.Kind == abi.CommNull:
		return "MPI_COMM_NULL"
	case c.Predefined && c.Name != "":
		return c.Name
	}
	s := c.kindText()
	if c.Name != "" && c.Name != written {
		s += fmt.Sprintf(" %q", c.Name)
	}
	s += " of ranks " + membersText(c.Members)
	if c.Kind == abi.CommInter {
		s += " with " + membersText(c.Remote)
	}
	if c.Record.GlobalID != 0 {
		s += fmt.Sprintf(", id %08x", uint32(c.Record.GlobalID))
	}
	return s
}

// Parent returns the communicator from which it was made; nil if it has none, or if that one is not in the registry any
// more.
func (c *Comm) Parent() (*Comm, error) {
	if c.Record.ParentID == 0 {
		return nil, nil //nolint:nilnil // no parent is an answer
	}
	heads, _, _, err := c.rank.Heads(registry.ClassOf(registry.KindComm))
	if err != nil {
		return nil, err
	}
	for _, h := range heads {
		if abi.Read[abi.Comm](h.Raw).GlobalID == c.Record.ParentID {
			return c.rank.CommAt(h.Address)
		}
	}
	return nil, nil //nolint:nilnil // likewise
}

// Summary says in one line what the communicator is.
func (c *Comm) Summary() string {
	if c.Kind == abi.CommNull {
		return "MPI_COMM_NULL"
	}
	s := fmt.Sprintf("%s of %s, this one is rank %d: %s", strings.TrimSpace(c.kindText()+" "+c.Name),
		view.Plural(int64(c.Size), "rank"), c.Rank, membersText(c.Members))
	if c.Kind == abi.CommInter {
		s += "; remote group " + membersText(c.Remote)
	}
	return s
}

// Node is the communicator as a tree.
func (c *Comm) Node(name string) view.Node {
	kids := []view.Node{view.Leaf("kind", c.kindText())}
	if c.Name != "" {
		kids = append(kids, view.Leaf("name", fmt.Sprintf("%q", c.Name)))
	}
	kids = append(kids, view.Number("size", c.Size), view.Number("rank", c.Rank), memberNode("members", c.Members))
	if c.Kind == abi.CommInter {
		kids = append(kids, memberNode("remote", c.Remote))
	}
	if len(c.Dims) > 0 {
		kids = append(kids, view.Leaf("dims", ints(c.Dims)), view.Leaf("periods", ints(c.Periods)),
			view.Leaf("coords", ints(c.Coords)))
	}
	switch parent, err := c.Parent(); {
	case err != nil:
		kids = append(kids, view.Leaf("parent", err.Error()))
	case parent != nil && parent.Name != "":
		kids = append(kids, view.Leaf("parent", parent.Name))
	case parent != nil:
		kids = append(kids, view.Leaf("parent", fmt.Sprintf("%s (handle 0x%x)", parent.Brief(), parent.Handle)))
	case c.Record.ParentID != 0:
		kids = append(kids, view.Leaf("parent", "a communicator that is not live any more"))
	}
	state := "live"
	if c.Freed {
		state = "freed"
	}
	kids = append(kids, view.Leaf("state", state))
	if c.CallSite != 0 {
		kids = append(kids, view.Leaf("created", c.rank.CreatedText(c.CallSite, c.Event)))
	}
	n := view.Group(name, c.Summary(), append(kids, view.Leaf("handle", c.HandleText())))
	n.Type = "MPI_Comm"
	return n
}

// memberNode shows world ranks as a rank set, and opened, which rank of the communicator each is.
func memberNode(name string, ranks []int64) view.Node {
	return view.List(name, membersText(ranks), len(ranks), func(i int) view.Node {
		value := "a process outside MPI_COMM_WORLD"
		if ranks[i] != OutsideWorld {
			value = fmt.Sprintf("rank %d of MPI_COMM_WORLD", ranks[i])
		}
		return view.Leaf(fmt.Sprintf("[%d]", i), value)
	})
}

func membersText(ranks []int64) string {
	if len(ranks) == 0 {
		return "members unknown"
	}
	numbers := make([]int, len(ranks))
	inOrder := true
	for i, r := range ranks {
		numbers[i] = int(r)
		// those outside come last
		inOrder = inOrder && (i == 0 || uint64(ranks[i-1]) <= uint64(r))
	}
	if s := rankset.InOrder(numbers); inOrder {
		return s
	}
	return rankset.InOrder(numbers) + " in this order"
}

// OutsideWorld stands for a process that is not in MPI_COMM_WORLD (of a job that was connected or spawned).
const OutsideWorld = -1

func ints(v []int64) string {
	s := make([]string, len(v))
	for i := range v {
		s[i] = fmt.Sprint(v[i])
	}
	return "{" + strings.Join(s, ", ") + "}"
}

func (r *Rank) RankText(n int64, in *Comm) string {
	s := fmt.Sprintf("rank %d", n)
	switch {
	case n == r.ProcNull():
		return "MPI_PROC_NULL"
	case n == r.AnySource():
		return "any rank"
	case in == nil:
		return s
	}
	size := int64(len(in.Peers))
	switch {
	case n < 0 || n >= size && size > 0:
		s += " (no such rank: the communicator has " + view.Plural(size, "rank") + ")"
	case in.Record.GlobalID != 1 && size > 0 && in.Peers[n] != OutsideWorld && in.Peers[n] != n:
		s += fmt.Sprintf(" (%d in MPI_COMM_WORLD)", in.Peers[n])
	}
	return s
}
