package handles

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint"
)

// A Decoder implements backend.HandleDecoder, HandleConsole, HandleDescriber and CallDescriber for the rank behind one
// backend. It holds no state between calls; trees that it gave away read the rank when they are opened.
type Decoder struct{ rank backend.Backend }

// New returns the decoder of a rank.
func New(rank backend.Backend) *Decoder { return &Decoder{rank} }

var (
	_ backend.HandleDecoder   = (*Decoder)(nil)
	_ backend.HandleConsole   = (*Decoder)(nil)
	_ backend.HandleDescriber = (*Decoder)(nil)
	_ backend.CallDescriber   = (*Decoder)(nil)
)

// NoRegistryError: libcohort is not in the program, or has not begun.
type NoRegistryError struct{ Why string }

func (e *NoRegistryError) Error() string { return e.Why }

// memory reads a rank's memory through its backend.
type memory struct{ *session }

// ReadMemory implements prettyprint.MemoryReader.
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
	rank     backend.Backend
	resolver *resolver
	registry *prettyprint.Registry

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

// symbols is a backend that knows where symbols are without evaluating anything.
type symbols interface {
	SymbolAddress(ctx context.Context, name string) (uint64, error)
}

// open begins a session with the registry as it is now.
func (d *Decoder) open(ctx context.Context, frame backend.FrameID) (*session, error) {
	s := &session{rank: d.rank, ctx: ctx}
	s.resolver = &resolver{session: s, frame: frame}
	addr, err := d.registry(ctx, s.resolver)
	if err != nil {
		var state *backend.StateError
		if errors.As(err, &state) || ctx.Err() != nil {
			return nil, err
		}
		return nil, &NoRegistryError{"This rank runs without Cohort's library libcohort.so, so MPI handles cannot be " +
			"decoded. " +
			"It is loaded when the program is linked to an MPI library dynamically and was started by cohort, " +
			"without noInterpose."}
	}
	if s.registry, err = prettyprint.Open(memory{s}, addr); err != nil {
		return nil, err
	}
	s.registry.SetSurroundings(s.resolver.surroundings())
	return s, nil
}

func (d *Decoder) registry(ctx context.Context, res *resolver) (uint64, error) {
	const name = "cohort_registry"
	if s, ok := d.rank.(symbols); ok {
		return s.SymbolAddress(ctx, name)
	}
	text, err := res.value("&" + name)
	if err != nil {
		return 0, err
	}
	addr, ok := lastAddress(text)
	if !ok {
		return 0, fmt.Errorf("the debugger gives the address of %s as %q, which is no address", name, text)
	}
	return addr, nil
}

// Command implements backend.HandleDecoder.
func (d *Decoder) Command(ctx context.Context, frame backend.FrameID, args string) (backend.EvaluateResult, error) {
	result, _, err := d.Run(ctx, frame, args)
	return result, err
}

// Run implements backend.HandleConsole.
func (d *Decoder) Run(ctx context.Context, frame backend.FrameID, args string) (backend.EvaluateResult,
	backend.HandleTree, error,
) {
	refused := func(err error) (backend.EvaluateResult, backend.HandleTree, error) {
		return backend.EvaluateResult{}, backend.HandleTree{}, err
	}
	s, err := d.open(ctx, frame)
	if err != nil {
		return refused(err)
	}
	result, err := prettyprint.CommandLine(s.registry, s.resolver, args)
	if err != nil {
		return refused(err)
	}
	var text strings.Builder
	if err := result.Text(&text, prettyprint.Options{}); err != nil {
		return refused(err)
	}
	if text.Len() > maxText {
		return refused(fmt.Errorf("the answer has %d bytes of text, and at most %d are sent; "+
			"ask for less with --list, and for the rest with --from", text.Len(), maxText))
	}
	tree := s.tree(result.Node)
	out := backend.EvaluateResult{
		Text: text.String(),
		Variable: backend.Variable{
			Name: "mpipp " + args, Value: tree.Value, Type: tree.Type, Address: tree.Address,
			ReadOnly: true,
		},
	}
	if result.File != nil {
		out.File = &backend.File{Name: result.File.Name, Data: result.File.Data}
	}
	return out, tree, nil
}

// maxText bounds an answer: it travels in one frame (launch/wire), and somebody is to read it.
const maxText = 48 << 20

// tree shows a node with its children, which are made when they are asked for.
func (s *session) tree(n prettyprint.Node) backend.HandleTree {
	out := backend.HandleTree{Name: n.Name, Value: n.Value, Type: n.Type, Len: n.NumChildren, Indexed: n.IsList}
	if n.HasAddress {
		out.Address = n.Address
	}
	out.Open = func(ctx context.Context, from, to int) ([]backend.HandleTree, error) {
		var kids []backend.HandleTree
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

// DescribeHandle implements backend.HandleDescriber.
func (d *Decoder) DescribeHandle(ctx context.Context, typeName string, handle uint64) (backend.HandleTree, error) {
	if prettyprint.KindOfType(typeName) == 0 {
		return backend.HandleTree{}, &backend.UnsupportedError{What: "Decoding " + typeName}
	}
	s, err := d.open(ctx, backend.FrameID{Thread: 1})
	if err != nil {
		return backend.HandleTree{}, err
	}
	fortran := strings.HasPrefix(typeName, "Type ") // TYPE(MPI_Datatype) of mpi_f08 holds the Fortran handle
	node, err := s.registry.Describe(typeName, handle, fortran)
	if err != nil {
		return backend.HandleTree{}, err
	}
	return s.tree(node), nil
}

var hexAddress = regexp.MustCompile(`0x[0-9a-fA-F]+`)

// lastAddress takes the address out of what gdb prints for a pointer: "(double (*)[66]) 0x7ffe0 <grid>".
func lastAddress(text string) (uint64, bool) {
	if i := strings.IndexByte(text, '<'); i > 0 && !strings.HasPrefix(text, "(<") {
		text = text[:i]
	}
	all := hexAddress.FindAllString(text, -1)
	if len(all) == 0 {
		return 0, false
	}
	addr, err := strconv.ParseUint(all[len(all)-1], 0, 64)
	return addr, err == nil
}
