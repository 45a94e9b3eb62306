package plaingdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/effect"
)

// rank is the program in gdb as a backend.Backend, of which it has what package handles needs: reading, and evaluating
// without effects.
type rank struct {
	*server
	backend.Backend // nil: the rest is not called
}

// question is what the script is asked.
type question struct {
	Ask string `json:"ask"`
	// address and length, and the bounds of what may be read along with it
	Ranges     [][4]uint64 `json:"ranges,omitempty"`
	Command    string      `json:"command,omitempty"`
	Expression string      `json:"expression,omitempty"`
	Symbol     string      `json:"symbol,omitempty"`
	PC         uint64      `json:"pc,omitempty"`
	Inner      bool        `json:"inner,omitempty"` // the frame that the selected one has called
}

// reply is the script's answer to a question.
type reply struct {
	Error   string  `json:"error"`
	Memory  []piece `json:"memory"`
	Text    string  `json:"text"`
	Address uint64  `json:"address"`
	Line    int     `json:"line"`
	File    string  `json:"file"`
	Start   uint64  `json:"start"`
	PC      uint64  `json:"pc"`
	Level   int     `json:"level"`
	Name    string  `json:"symbol"`
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

// Evaluate implements backend.Backend for expressions without effects and for the questions that package handles asks
// gdb itself.
func (r *rank) Evaluate(_ context.Context, req backend.EvaluateRequest) (backend.EvaluateResult, error) {
	expression := strings.TrimSpace(req.Expression)
	command, console := strings.CutPrefix(expression, "-exec ")
	var text string
	var err error
	switch pc, isLine := strings.CutPrefix(command, "info line *"); {
	case console && isLine:
		text, err = r.infoLine(pc)
	case console:
		var got reply
		if got, err = r.ask(question{Ask: "execute", Command: command}); err != nil && r.broken == nil {
			err = fmt.Errorf("gdb refuses %q: %w", command, err)
		}
		text = strings.TrimSuffix(got.Text, "\n")
	default:
		text, err = r.value(expression)
	}
	return backend.EvaluateResult{Variable: backend.Variable{Name: expression, Value: text}, Text: text}, err
}

func (r *rank) value(expression string) (string, error) {
	language, err := r.ask(question{Ask: "execute", Command: "show language"})
	if err != nil {
		return "", err
	}
	if what := effect.Of(expression, strings.Contains(language.Text, "fortran")); what != "" {
		return "", fmt.Errorf("%s is not evaluated here, because %s would change the program", expression, what)
	}
	got, err := r.ask(question{Ask: "evaluate", Expression: expression})
	if err != nil {
		return "", fmt.Errorf("cannot evaluate %s: %w", expression, err)
	}
	return got.Text, nil
}

// infoLine says what gdb's command says, which would have effects on gdb's convenience variables and its list command.
func (r *rank) infoLine(text string) (string, error) {
	pc, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return "", fmt.Errorf("the address %q is none: %w", text, err)
	}
	got, err := r.ask(question{Ask: "line", PC: pc})
	switch {
	case err != nil:
		return "", err
	case got.Line == 0 || got.File == "":
		return fmt.Sprintf("No line number information available for address 0x%x <%s>", pc, got.Name), nil
	}
	return fmt.Sprintf("Line %d of %q starts at address 0x%x <%s>.", got.Line, got.File, got.Start, got.Name), nil
}

// SymbolAddress finds a symbol, as the backend of Cohort's own gdb does.
func (r *rank) SymbolAddress(_ context.Context, name string) (uint64, error) {
	got, err := r.ask(question{Ask: "address", Symbol: name})
	if err != nil {
		return 0, fmt.Errorf("the symbol %s has no address: %w", name, err)
	}
	return got.Address, nil
}

// StackTrace implements backend.Backend for the frame that is selected, whatever its level, and, to a request with the
// thread of that answer and the level below, for the frame that it has called. That is what package handles needs.
func (r *rank) StackTrace(_ context.Context, req backend.StackTraceRequest) (backend.StackTraceResult, error) {
	got, err := r.ask(question{Ask: "frame", Inner: req.Thread == selectedThread})
	switch {
	case err != nil:
		return backend.StackTraceResult{}, fmt.Errorf("reading the stack: %w", err)
	case req.Thread == selectedThread && req.Start != got.Level:
		return backend.StackTraceResult{}, &backend.UnsupportedError{What: "Reading the whole stack"}
	}
	frame := backend.Frame{
		ID: backend.FrameID{Thread: selectedThread, Level: got.Level}, Function: got.Name,
		File: got.File, Line: got.Line, PC: got.PC,
	}
	return backend.StackTraceResult{Frames: []backend.Frame{frame}, Total: -1}, nil
}

// selectedThread is the thread of an answer about the selected frame.
const selectedThread = 1

// Bounds of what is read along, and of what is kept, in bytes.
const (
	pageSize  = 4096
	maxAround = 1 << 16
	maxKept   = 64 << 20
)

// ReadMemory implements backend.Backend. Whole pages are read, and kept as long as the program's state is the same.
func (r *rank) ReadMemory(_ context.Context, addr uint64, n int) ([]byte, error) {
	if n <= 0 {
		return []byte{}, nil
	}
	size := uint64(n)
	if addr+size < addr {
		return nil, fmt.Errorf("no memory can be read at %#x", addr)
	}
	if data := r.kept(addr, size); data != nil {
		return data, nil
	}
	low, high := addr, addr+size
	if size <= maxAround {
		low, high = addr&^(pageSize-1), (addr+size+pageSize-1)&^(pageSize-1)
		if high < addr {
			low, high = addr, addr+size
		}
	}
	got, err := r.ask(question{Ask: "memory", Ranges: [][4]uint64{{addr, size, low, high}}})
	if err != nil {
		return nil, err
	}
	if len(got.Memory) != 1 || got.Memory[0].addr > addr || addr-got.Memory[0].addr >= uint64(len(got.Memory[0].data)) {
		return nil, fmt.Errorf("no memory can be read at %#x", addr)
	}
	r.keep(got.Memory[0])
	data := got.Memory[0].data[addr-got.Memory[0].addr:]
	return data[:min(size, uint64(len(data)))], nil
}

// piece is memory that was read.
type piece struct {
	addr uint64
	data []byte
}

// kept returns what was read before.
func (s *server) kept(addr, size uint64) []byte {
	i, found := slices.BinarySearchFunc(s.memory, addr, func(p piece, addr uint64) int {
		return cmp.Compare(p.addr, addr)
	})
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	p := s.memory[i]
	if off := addr - p.addr; off < uint64(len(p.data)) && size <= uint64(len(p.data))-off {
		return p.data[off : off+size]
	}
	return nil
}

func (s *server) keep(p piece) {
	total := len(p.data)
	for _, q := range s.memory {
		total += len(q.data)
	}
	if total > maxKept {
		s.memory = nil
	}
	i, found := slices.BinarySearchFunc(s.memory, p.addr, func(q piece, addr uint64) int {
		return cmp.Compare(q.addr, addr)
	})
	if found {
		s.memory[i] = p
		return
	}
	s.memory = slices.Insert(s.memory, i, p)
}

// UnmarshalJSON reads [address, "base64"].
func (p *piece) UnmarshalJSON(text []byte) error {
	return unmarshalPair(text, &p.addr, &p.data)
}
