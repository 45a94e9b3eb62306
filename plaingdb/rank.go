package plaingdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/gdb/cli"
	"github.com/cohort-debugger/cohort/internal/effect"
)

// rank is the program in gdb. Whatever thread and frame are asked about, the answer is of those that are selected.
type rank struct{ *server }

var _ backend.Inspector = (*rank)(nil)

// question is what the script is asked.
type question struct {
	Ask string `json:"ask"`
	// address and length, and the bounds of what may be read along with it
	Range      []uint64 `json:"range,omitempty"`
	Command    string   `json:"command,omitempty"`
	Expression string   `json:"expression,omitempty"`
	Symbol     string   `json:"symbol,omitempty"`
	PC         uint64   `json:"pc,omitempty"`
	Inner      bool     `json:"inner,omitempty"` // the frame that the selected one has called
}

// reply is the script's answer to a question.
type reply struct {
	Error   string `json:"error"`
	Text    string `json:"text"`
	Address uint64 `json:"address"`
	Memory  []byte `json:"memory"` // at Address
	Line    int    `json:"line"`
	File    string `json:"file"`
	Start   uint64 `json:"start"`
	PC      uint64 `json:"pc"`
	Level   int    `json:"level"`
	Name    string `json:"symbol"`
}

// ask asks the script; an error is gdb's, or the end of the conversation.
func (s *server) ask(q question) (reply, error) {
	var r reply
	if s.broken == nil {
		s.broken = s.send(q)
	}
	if s.broken == nil {
		s.broken = s.receive(&r)
	}
	if s.broken != nil {
		return reply{}, s.broken
	}
	if r.Error != "" {
		return r, errors.New(strings.TrimSuffix(r.Error, "."))
	}
	return r, nil
}

// Execute implements cli.Gdb.
func (r *rank) Execute(command string) (string, error) {
	got, err := r.ask(question{Ask: "execute", Command: command})
	if err != nil && r.broken == nil {
		err = fmt.Errorf("gdb refuses %q: %w", command, err)
	}
	return strings.TrimSuffix(got.Text, "\n"), err
}

// Resolve implements backend.Inspector.
func (r *rank) Resolve(_ context.Context, _ backend.FrameID, expr string) (backend.Value, error) {
	return cli.Resolve(r, expr)
}

// AliasOf implements backend.Inspector.
func (r *rank) AliasOf(_ context.Context, _ backend.FrameID, name string) (string, error) {
	return cli.AliasOf(r, name), nil
}

// KernelThread implements backend.Inspector.
func (r *rank) KernelThread(context.Context, backend.FrameID) (int32, error) {
	return cli.KernelThread(r), nil
}

// Target implements backend.Inspector. Whether there is a process here is not known.
func (r *rank) Target(context.Context) (backend.Target, error) {
	return backend.Target{Machine: cli.Machine(r)}, nil
}

// Value implements cli.Gdb.
func (r *rank) Value(expression string) (string, error) {
	if what := effect.Of(expression, cli.Language(r) == backend.Fortran); what != "" {
		return "", fmt.Errorf("%s is not evaluated here, because %s would change the program", expression, what)
	}
	got, err := r.ask(question{Ask: "evaluate", Expression: expression})
	if err != nil {
		return "", fmt.Errorf("cannot evaluate %s: %w", expression, err)
	}
	return got.Text, nil
}

// LineAt implements backend.Inspector. gdb's own command would have effects on its convenience variables and its list
// command.
func (r *rank) LineAt(_ context.Context, pc uint64) (backend.SourceLine, error) {
	got, err := r.ask(question{Ask: "line", PC: pc})
	if err != nil || got.Line == 0 || got.File == "" {
		return backend.SourceLine{}, err
	}
	return backend.SourceLine{
		File: got.File, Line: got.Line, Start: got.Start, Function: cli.Procedure(got.File, got.Name),
	}, nil
}

// SymbolAddress implements backend.Inspector.
func (r *rank) SymbolAddress(_ context.Context, name string) (uint64, error) {
	got, err := r.ask(question{Ask: "address", Symbol: name})
	if err != nil {
		return 0, fmt.Errorf("the symbol %s has no address: %w", name, err)
	}
	return got.Address, nil
}

// FrameAt implements backend.Inspector for the frame that is selected, whatever its level, and, asked with the thread
// of that answer and the level below, for the frame that it has called. That is what package handles needs.
func (r *rank) FrameAt(_ context.Context, frame backend.FrameID) (backend.Frame, error) {
	got, err := r.ask(question{Ask: "frame", Inner: frame.Thread == selectedThread})
	switch {
	case err != nil:
		return backend.Frame{}, fmt.Errorf("reading the stack: %w", err)
	case frame.Thread == selectedThread && frame.Level != got.Level:
		return backend.Frame{}, &backend.UnsupportedError{What: "Reading the whole stack"}
	}
	return backend.Frame{
		ID: backend.FrameID{Thread: selectedThread, Level: got.Level}, Function: got.Name,
		File: got.File, Line: got.Line, PC: got.PC,
	}, nil
}

// selectedThread is the thread of an answer about the selected frame.
const selectedThread = 1

// Bounds of what is read along, and of what is kept, in bytes.
const (
	pageSize  = 4096
	maxAround = 1 << 16
	maxKept   = 64 << 20
)

// ReadMemory implements backend.Inspector. Whole pages are read, and kept as long as the program's state is the same.
func (r *rank) ReadMemory(_ context.Context, addr uint64, n int) ([]byte, error) {
	if n <= 0 {
		return []byte{}, nil
	}
	size := uint64(n)
	if addr+size < addr {
		return nil, fmt.Errorf("no memory can be read at %#x", addr)
	}
	i, found := r.find(addr)
	if !found {
		i--
	}
	if i >= 0 {
		if data := r.memory[i].from(addr); uint64(len(data)) >= size {
			return data[:size], nil
		}
	}
	low, high := addr, addr+size
	if end := (high + pageSize - 1) &^ (pageSize - 1); size <= maxAround && end > addr {
		low, high = addr&^(pageSize-1), end
	}
	got, err := r.ask(question{Ask: "memory", Range: []uint64{addr, size, low, high}})
	if err != nil {
		return nil, err
	}
	p := piece{got.Address, got.Memory}
	data := p.from(addr)
	if len(data) == 0 {
		return nil, fmt.Errorf("no memory can be read at %#x", addr)
	}
	r.keep(p)
	return data[:min(size, uint64(len(data)))], nil
}

// piece is memory that was read.
type piece struct {
	addr uint64
	data []byte
}

// from is what the piece has from an address on.
func (p *piece) from(addr uint64) []byte {
	if addr < p.addr || addr-p.addr >= uint64(len(p.data)) {
		return nil
	}
	return p.data[addr-p.addr:]
}

// find is the place of a piece among those that are kept.
func (s *server) find(addr uint64) (i int, found bool) {
	return slices.BinarySearchFunc(s.memory, addr, func(p piece, addr uint64) int { return cmp.Compare(p.addr, addr) })
}

func (s *server) keep(p piece) {
	total := len(p.data)
	for _, q := range s.memory {
		total += len(q.data)
	}
	if total > maxKept {
		s.memory = nil
	}
	i, found := s.find(p.addr)
	if found {
		s.memory[i] = p
	} else {
		s.memory = slices.Insert(s.memory, i, p)
	}
}
