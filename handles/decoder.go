package handles

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// A Decoder decodes the MPI objects of the rank behind one debugger. It holds no state between calls; trees that it gave
// away read the rank when they are opened.
type Decoder struct {
	rank backend.Inspector
	// NoRegistry says why a rank has no registry, where somebody knows better than this package.
	NoRegistry string
}

// New returns the decoder of a rank.
func New(rank backend.Inspector) *Decoder { return &Decoder{rank: rank} }

// NoRegistryError: libcohort is not in the program, or has not begun.
type NoRegistryError struct{ Why string }

func (e *NoRegistryError) Error() string { return e.Why }

// Tree is a decoded MPI object as a tree of variables. Value "" of the root: keep the debugger's own.
type Tree struct {
	Name, Value, Type string
	Address           uint64
	// Len is how many children Open gives; with Indexed they are entries of one list.
	Len     int
	Indexed bool
	// Open returns the children [from, to). It may be called from any goroutine, but not after the rank has resumed.
	Open func(ctx context.Context, from, to int) ([]Tree, error)
}

// memory reads a rank's memory through its backend.
type memory struct{ *session }

// ReadMemory implements registry.MemoryReader.
func (m memory) ReadMemory(addr uint64, p []byte) (int, error) {
	data, err := m.rank.ReadMemory(m.ctx, addr, len(p))
	n := copy(p, data)
	if err == nil && n < len(p) {
		err = fmt.Errorf("unmapped at 0x%x", addr+uint64(n))
	}
	return n, err
}

// session is one view of a rank's registry, for one answer and the trees in it. It is used by one goroutine at a time,
// each with a context of its own.
type session struct {
	rank     backend.Inspector
	resolver *resolver
	registry *handle.Rank

	mu  sync.Mutex
	ctx context.Context //nolint:containedctx // of the call that holds mu
}

// with lets f use the session.
func (s *session) with(ctx context.Context, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = ctx
	return f()
}

// open begins a session with the registry as it is now.
func (d *Decoder) open(ctx context.Context, frame backend.FrameID) (*session, error) {
	s := &session{rank: d.rank, ctx: ctx}
	s.resolver = &resolver{session: s, frame: frame}
	addr, err := d.rank.SymbolAddress(ctx, "cohort_registry")
	if err != nil {
		var state *backend.StateError
		if errors.As(err, &state) || ctx.Err() != nil {
			return nil, err
		}
		if d.NoRegistry != "" {
			return nil, &NoRegistryError{d.NoRegistry}
		}
		return nil, &NoRegistryError{"This rank runs without Cohort's library libcohort.so, so MPI handles cannot be " +
			"decoded. " +
			"It is loaded when the program is linked to an MPI library dynamically and was started by cohort, " +
			"without noInterpose."}
	}
	if s.registry, err = handle.Open(memory{s}, addr); err != nil {
		return nil, err
	}
	s.registry.SetSurroundings(s.resolver.surroundings())
	return s, nil
}

// Run runs a line of the mpipp command, without the word mpipp. The tree has the answer's name, value and type.
func (d *Decoder) Run(ctx context.Context, frame backend.FrameID, args string) (backend.EvaluateResult, Tree, error) {
	refused := func(err error) (backend.EvaluateResult, Tree, error) { return backend.EvaluateResult{}, Tree{}, err }
	s, err := d.open(ctx, frame)
	if err != nil {
		return refused(err)
	}
	result, err := command.Run(s.registry, s.resolver, args)
	if err != nil {
		return refused(err)
	}
	var text strings.Builder
	if err := result.Text(&text, view.Options{}); err != nil {
		return refused(err)
	}
	if text.Len() > maxText {
		return refused(fmt.Errorf("the answer has %d bytes of text, and at most %d are sent; "+
			"ask for less with --list, and for the rest with --from", text.Len(), maxText))
	}
	tree := s.tree(result.Node)
	out := backend.EvaluateResult{Text: text.String(), Variable: tree.variable()}
	out.Name = "mpipp " + args
	if result.File != nil {
		out.File = &backend.File{Name: result.File.Name, Data: result.File.Data}
	}
	return out, tree, nil
}

// maxText bounds an answer: it travels in one frame (launch/wire), and somebody is to read it.
const maxText = 48 << 20

// tree shows a node with its children, which are made when they are asked for.
func (s *session) tree(n view.Node) Tree {
	out := Tree{Name: n.Name, Value: n.Value, Type: n.Type, Len: n.NumChildren, Indexed: n.IsList}
	if n.HasAddress {
		out.Address = n.Address
	}
	out.Open = func(ctx context.Context, from, to int) ([]Tree, error) {
		var kids []Tree
		err := s.with(ctx, func() error {
			nodes, err := n.Children(from, to)
			for _, k := range nodes {
				kids = append(kids, s.tree(k))
			}
			return err
		})
		return kids, err
	}
	return out
}

// Describe returns the meaning of a handle of the MPI type that typeName names ("MPI_Datatype", "const MPI_Comm", ...;
// "Type MPI_Datatype" in Fortran). An error leaves the variable as the debugger shows it.
func (d *Decoder) Describe(ctx context.Context, typeName string, handle uint64) (Tree, error) {
	if registry.KindOf(typeName) == 0 {
		return Tree{}, &backend.UnsupportedError{What: "Decoding " + typeName}
	}
	s, err := d.open(ctx, backend.FrameID{Thread: 1})
	if err != nil {
		return Tree{}, err
	}
	fortran := strings.HasPrefix(typeName, "Type ") // TYPE(MPI_Datatype) of mpi_f08 holds the Fortran handle
	node, err := call.Describe(s.registry, typeName, handle, fortran)
	if err != nil {
		return Tree{}, err
	}
	return s.tree(node), nil
}
