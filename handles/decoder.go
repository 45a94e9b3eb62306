package handles

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint"
)

// A Decoder implements backend.HandleDecoder and backend.HandleDescriber for the rank behind one backend. It holds no state between calls.
type Decoder struct{ rank backend.Backend }

// New returns the decoder of a rank.
func New(rank backend.Backend) *Decoder { return &Decoder{rank} }

var (
	_ backend.HandleDecoder   = (*Decoder)(nil)
	_ backend.HandleDescriber = (*Decoder)(nil)
)

// NoRegistryError: libcohort is not in the program, or has not begun.
type NoRegistryError struct{ Why string }

func (e *NoRegistryError) Error() string { return e.Why }

// memory reads a rank's memory through its backend.
type memory struct {
	ctx  context.Context //nolint:containedctx // lives for one command
	rank backend.Backend
}

// ReadMemory implements prettyprint.MemoryReader.
func (m memory) ReadMemory(addr uint64, p []byte) (int, error) {
	data, err := m.rank.ReadMemory(m.ctx, addr, len(p))
	n := copy(p, data)
	if err == nil && n < len(p) {
		err = fmt.Errorf("unmapped at 0x%x", addr+uint64(n))
	}
	return n, err
}

// symbols is a backend that knows where symbols are without evaluating anything.
type symbols interface {
	SymbolAddress(ctx context.Context, name string) (uint64, error)
}

func (d *Decoder) open(ctx context.Context, res *resolver) (*prettyprint.Registry, error) {
	addr, err := d.registry(ctx, res)
	if err != nil {
		var state *backend.StateError
		if errors.As(err, &state) || ctx.Err() != nil {
			return nil, err
		}
		return nil, &NoRegistryError{"This rank runs without Cohort's library libcohort.so, so MPI handles cannot be decoded. " +
			"It is loaded when the program is linked to an MPI library dynamically and was started by cohort, without noInterpose."}
	}
	return prettyprint.Open(memory{ctx, d.rank}, addr)
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
	res := &resolver{ctx: ctx, rank: d.rank, frame: frame}
	registry, err := d.open(ctx, res)
	if err != nil {
		return backend.EvaluateResult{}, err
	}
	result, err := prettyprint.CommandLine(registry, res, args)
	if err != nil {
		return backend.EvaluateResult{}, err
	}
	var text strings.Builder
	if err := result.Text(&text, prettyprint.Options{}); err != nil {
		return backend.EvaluateResult{}, err
	}
	if text.Len() > maxText {
		return backend.EvaluateResult{}, fmt.Errorf("the answer has %d bytes of text, and at most %d are sent; "+
			"ask for less with --list, and for the rest with --from", text.Len(), maxText)
	}
	if result.File != nil {
		path, err := writeFile(result.File)
		if err != nil {
			return backend.EvaluateResult{}, err
		}
		fmt.Fprintf(&text, "The picture is in %s\n", path)
	}
	return backend.EvaluateResult{
		Text:     text.String(),
		Variable: backend.Variable{Name: "mpipp " + args, Value: result.Node.Value, Type: result.Node.Type, Address: result.Node.Address, ReadOnly: true},
	}, nil
}

// maxText bounds an answer: it travels in one frame (launch/wire), and somebody is to read it.
const maxText = 48 << 20

// writeFile writes what the user asked for, whole or not at all: ranks may do so at once. A relative name is one in the directory in which the rank was started.
func writeFile(file *prettyprint.File) (path string, err error) {
	if path, err = filepath.Abs(file.Name); err != nil {
		return "", fmt.Errorf("writing %s: %w", file.Name, err)
	}
	if old, err := os.Stat(path); err == nil && !old.Mode().IsRegular() {
		return "", fmt.Errorf("writing %s: it exists, and is no regular file", path)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".cohort-*.svg")
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	_, err = temporary.Write(file.Data)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", path, errors.Join(err, os.Remove(temporary.Name())))
	}
	return path, nil
}

var (
	datatypeWord = regexp.MustCompile(`(?i)\bmpi_datatype\b`)
	commWord     = regexp.MustCompile(`(?i)\bmpi_comm\b`)
)

// maxTree bounds what one handle shows in Variables: children of a list, and nodes in all. The rest is counted.
const (
	maxTreeList  = 100
	maxTreeNodes = 2000
)

// DescribeHandle implements backend.HandleDescriber for datatypes and communicators.
func (d *Decoder) DescribeHandle(ctx context.Context, typeName string, handle uint64) (backend.HandleTree, error) {
	res := &resolver{ctx: ctx, rank: d.rank, frame: backend.FrameID{Thread: 1}}
	isType, isComm := datatypeWord.MatchString(typeName), commWord.MatchString(typeName)
	if !isType && !isComm {
		return backend.HandleTree{}, &backend.UnsupportedError{What: "Decoding " + typeName}
	}
	registry, err := d.open(ctx, res)
	if err != nil {
		return backend.HandleTree{}, err
	}
	fortran := strings.HasPrefix(typeName, "Type ") // TYPE(MPI_Datatype) of mpi_f08 holds the Fortran handle
	var node prettyprint.Node
	if isType {
		t, err := datatype(registry, handle, fortran)
		if err != nil {
			return backend.HandleTree{}, err
		}
		node = t.Node("", res.Locate)
		node.Value = t.Summary()
	} else {
		c, err := comm(registry, handle, fortran)
		if err != nil {
			return backend.HandleTree{}, err
		}
		node = c.Node("", res.Locate)
		node.Value = c.Summary()
	}
	budget := maxTreeNodes
	return tree(node, &budget)
}

func datatype(r *prettyprint.Registry, handle uint64, fortran bool) (*prettyprint.Datatype, error) {
	if fortran {
		return r.DatatypeByFortran(int32(handle)) // a Fortran handle is a default INTEGER
	}
	return r.DatatypeByHandle(handle)
}

func comm(r *prettyprint.Registry, handle uint64, fortran bool) (*prettyprint.Comm, error) {
	if fortran {
		return r.CommByFortran(int32(handle)) // likewise
	}
	return r.CommByHandle(handle)
}

func tree(n prettyprint.Node, budget *int) (backend.HandleTree, error) {
	*budget--
	out := backend.HandleTree{Name: n.Name, Value: n.Value, Type: n.Type}
	shown := min(n.NumChildren, maxTreeList)
	if *budget < shown {
		shown = 0
	}
	kids, err := n.Children(0, shown)
	if err != nil {
		return out, err
	}
	for _, k := range kids {
		t, err := tree(k, budget)
		if err != nil {
			return out, err
		}
		out.Children = append(out.Children, t)
	}
	if rest := n.NumChildren - shown; rest > 0 {
		out.Children = append(out.Children, backend.HandleTree{Name: "…", Value: fmt.Sprintf("%d more; mpipp in the console shows them", rest)})
	}
	return out, nil
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
