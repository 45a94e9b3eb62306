package dap

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
)

// maxInstructions bounds one disassemble, and how far from its reference it may begin.
const maxInstructions = 10_000

// disassemble answers with as many instructions as were asked for, as DAP demands; those that there are not say so.
func disassemble(k *call, a godap.DisassembleArguments) (any, error) {
	rank, address, err := k.address(a.MemoryReference, a.Offset)
	if err != nil {
		return nil, err
	}
	skip, count := a.InstructionOffset, a.InstructionCount
	if count < 0 || count > maxInstructions || skip < -maxInstructions || skip > maxInstructions {
		return nil, refuse(
			"disassemble cannot give %d instructions from number %d: both numbers must be at most %d",
			count,
			skip,
			maxInstructions,
		)
	}
	req := backend.DisassembleRequest{Addr: address, Before: max(-skip, 0), Count: max(skip+count, 0)}
	list, err := onRank(k, rank, func(b backend.Backend) ([]backend.Instruction, error) {
		return b.Disassemble(k.ctx, req)
	})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(list, func(i backend.Instruction) bool { return i.Address >= address })
	if at < 0 {
		at = len(list)
	}
	body := godap.DisassembleResponseBody{Instructions: make([]godap.DisassembledInstruction, count)}
	for n := range body.Instructions {
		i := at + skip + n
		if i < 0 || i >= len(list) {
			where := fmt.Sprintf("%#x", address+uint64(int64(skip+n)))
			body.Instructions[n] = godap.DisassembledInstruction{Address: where, Instruction: "(no code)"}
			continue
		}
		body.Instructions[n] = k.c.instruction(list[i], a.ResolveSymbols)
	}
	return body, nil
}

func (c *client) instruction(i backend.Instruction, symbols bool) godap.DisassembledInstruction {
	out := godap.DisassembledInstruction{
		Address: fmt.Sprintf("%#x", i.Address), InstructionBytes: hex.EncodeToString(i.Bytes), Instruction: i.Text,
	}
	if symbols && i.Function != "" {
		out.Symbol = fmt.Sprintf("%s+%d", i.Function, i.Offset)
	}
	if i.Line > 0 && readable(i.File) {
		out.Location, out.Line = c.source(i.File), c.lineOut(i.Line)
	}
	return out
}

// setInstructionBreakpoints replaces all instruction breakpoints of the client. Each is its rank's alone unless ranks
// are named.
func setInstructionBreakpoints(k *call, a protocol.SetInstructionBreakpointsArguments) (any, error) {
	list, err := k.setAll(backend.InstructionBreakpoints, len(a.Breakpoints), func(i int) (job.Breakpoint, error) {
		b := a.Breakpoints[i]
		rank, address, err := k.address(b.InstructionReference, b.Offset)
		bp := job.Breakpoint{
			Source: backend.InstructionBreakpoints, Address: address, Condition: b.Condition,
			HitCondition: b.HitCondition,
		}
		switch {
		case err != nil:
			return bp, err
		case b.Mode == protocol.ModeCausal:
			return bp, refuse("an instruction breakpoint cannot have the mode causal")
		case b.Ranks == "" && !strings.HasPrefix(strings.TrimSpace(b.Condition), "["):
			b.Ranks = strconv.Itoa(rank)
		}
		return k.d.checkBreakpoint(bp, b.BreakpointExtra)
	})
	for i := range list {
		if list[i].Verified {
			list[i].InstructionReference, list[i].Offset = a.Breakpoints[i].InstructionReference, a.Breakpoints[i].Offset
		}
	}
	return godap.SetInstructionBreakpointsResponseBody{Breakpoints: list}, err
}
