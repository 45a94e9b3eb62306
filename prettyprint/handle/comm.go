package handle

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
	"github.com/cohort-debugger/cohort/rankset"
)

// kindText is a kind of communicator in sentences.
func kindText(k abi.CommKind) string {
	switch k {
	case abi.CommIntra:
		return "intracommunicator"
	case abi.CommInter:
		return "intercommunicator"
	case abi.CommCart:
		return "Cartesian communicator"
	case abi.CommGraph:
		return "graph communicator"
	case abi.CommDistGraph:
		return "distributed graph communicator"
	case abi.CommNull:
		return "MPI_COMM_NULL"
	}
	return fmt.Sprintf("communicator of unknown kind %d", uint32(k))
}

const maxDims = 1 << 16

// Comm is one communicator of the registry.
type Comm struct {
	rank    *Rank
	name    string
	Record  abi.Comm
	members []uint32 // world ranks, by rank in the communicator
	remote  []uint32
	cart    []int32 // dims, periods, coords
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
	size := int64(abi.Size[abi.Comm]())
	need := size + 4*(int64(h.NMembers)+int64(h.NRemote)+3*int64(h.NDims))
	if int64(h.Size) < need || h.NDims > maxDims {
		return nil, fault.Corruptf(rec, "a communicator's record has %d bytes and claims %d members, %d remote members and "+
			"%d dimensions",
			h.Size, h.NMembers, h.NRemote, h.NDims)
	}
	b, err := r.ReadFull(rec+uint64(size), need-size, "The members of a communicator")
	if err != nil {
		return nil, err
	}
	c := &Comm{rank: r, name: head.Name, Record: h}
	take := func(n int) []uint32 {
		out := make([]uint32, n)
		for i := range out {
			out[i] = binary.LittleEndian.Uint32(b[4*i:])
		}
		b = b[4*n:]
		return out
	}
	c.members, c.remote = take(int(h.NMembers)), take(int(h.NRemote))
	for _, v := range take(3 * int(h.NDims)) {
		c.cart = append(c.cart, int32(v))
	}
	r.comms[rec] = c
	return c, nil
}

// Kind is the kind of communicator.
func (c *Comm) Kind() abi.CommKind { return abi.CommKind(c.Record.Kind) }

// Name is the name by MPI_Comm_set_name or the predefined one, or empty.
func (c *Comm) Name() string { return c.name }

// Size is the number of ranks in it (of an intercommunicator: in the local group).
func (c *Comm) Size() int { return int(c.Record.CommSize) }

// Rank is this rank's number in it.
func (c *Comm) Rank() int { return int(c.Record.CommRank) }

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
func (c *Comm) Freed() bool { return c.Record.State&abi.ObjectFreed != 0 }

// GlobalID is the same in all members of the communicator; MPI_COMM_WORLD has 1.
func (c *Comm) GlobalID() uint64 { return c.Record.GlobalID }

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
	if c.Kind() == abi.CommNull {
		return "MPI_COMM_NULL"
	}
	name := ""
	if c.Name() != "" {
		name = " " + c.Name()
	}
	s := fmt.Sprintf("%s%s of %s, this one is rank %d: %s", kindText(c.Kind()), name, view.Plural(int64(c.Size()), "rank"), c.Rank(),
		membersText(c.members))
	if c.Kind() == abi.CommInter {
		s += "; remote group " + membersText(c.remote)
	}
	return s
}

// Node is the communicator as a tree.
func (c *Comm) Node(name string) view.Node {
	kids := []view.Node{view.Leaf("kind", kindText(c.Kind()))}
	if c.Name() != "" {
		kids = append(kids, view.Leaf("name", fmt.Sprintf("%q", c.Name())))
	}
	kids = append(kids, view.Number("size", c.Size()), view.Number("rank", c.Rank()), memberNode("members", c.members))
	if c.Kind() == abi.CommInter {
		kids = append(kids, memberNode("remote", c.remote))
	}
	if dims, periods, coords := c.Cart(); len(dims) > 0 {
		kids = append(kids, view.Leaf("dims", ints(dims)), view.Leaf("periods", ints(periods)),
			view.Leaf("coords", ints(coords)))
	}
	switch parent, err := c.Parent(); {
	case err != nil:
		kids = append(kids, view.Leaf("parent", err.Error()))
	case parent != nil && parent.Name() != "":
		kids = append(kids, view.Leaf("parent", parent.Name()))
	case parent != nil:
		kids = append(kids, view.Leaf("parent", fmt.Sprintf("%s (handle 0x%x)", parent.Brief(), parent.Record.Handle)))
	case c.Record.ParentID != 0:
		kids = append(kids, view.Leaf("parent", "a communicator that is not live any more"))
	}
	state := "live"
	if c.Freed() {
		state = "freed"
	}
	kids = append(kids, view.Leaf("state", state))
	if c.Record.CallSite != 0 {
		kids = append(kids, view.Leaf("created", c.rank.CreatedText(c.Record.CallSite, c.Record.Event)))
	}
	handle := fmt.Sprintf("0x%x", c.Record.Handle)
	if c.Record.FHandle != registry.NoFortran {
		handle += fmt.Sprintf(" (Fortran %d)", c.Record.FHandle)
	}
	kids = append(kids, view.Leaf("handle", handle))
	n := view.Group(name, c.Summary(), kids)
	n.Type = "MPI_Comm"
	return n
}

// memberNode shows world ranks as a rank set, and opened, which rank of the communicator each is.
func memberNode(name string, ranks []uint32) view.Node {
	return view.List(name, membersText(ranks), len(ranks), func(i int) view.Node {
		value := "a process outside MPI_COMM_WORLD"
		if ranks[i] != OutsideWorld {
			value = fmt.Sprintf("rank %d of MPI_COMM_WORLD", ranks[i])
		}
		return view.Leaf(fmt.Sprintf("[%d]", i), value)
	})
}

func membersText(ranks []uint32) string {
	if len(ranks) == 0 {
		return "members unknown"
	}
	numbers := make([]int, len(ranks))
	for i, r := range ranks {
		if numbers[i] = int(r); r == OutsideWorld {
			numbers[i] = -1
		}
	}
	s := rankset.InOrder(numbers)
	if !slices.IsSorted(ranks) {
		s += " in this order"
	}
	return s
}

// OutsideWorld stands for a process that is not in MPI_COMM_WORLD (of a job that was connected or spawned).
const OutsideWorld = math.MaxUint32

func ints(v []int32) string {
	s := make([]string, len(v))
	for i := range v {
		s[i] = fmt.Sprint(v[i])
	}
	return "{" + strings.Join(s, ", ") + "}"
}

func (r *Rank) RankText(n int64, in *Comm) string {
	switch {
	case n == r.ProcNull():
		return "MPI_PROC_NULL"
	case n == r.AnySource():
		return "any rank"
	case in == nil:
		return fmt.Sprintf("rank %d", n)
	}
	group := in.Members()
	if in.Kind() == abi.CommInter {
		group = in.Remote()
	}
	s := fmt.Sprintf("rank %d", n)
	switch {
	case n < 0 || n >= int64(len(group)) && len(group) > 0:
		s += " (no such rank: the communicator has " + view.Plural(int64(len(group)), "rank") + ")"
	case in.GlobalID() != 1 && len(group) > 0 && group[n] != OutsideWorld && int64(group[n]) != n:
		s += fmt.Sprintf(" (%d in MPI_COMM_WORLD)", group[n])
	}
	return s
}
