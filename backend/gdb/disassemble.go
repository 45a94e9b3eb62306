package gdb

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/gdbmi"
)

// longestInstruction is in bytes, of the processors that gdb knows here.
const longestInstruction = 16

// Disassemble goes back function by function: where an instruction begins is only known from the beginning of one.
func (o *owner) Disassemble(ctx context.Context, req backend.DisassembleRequest) ([]backend.Instruction, error) {
	list, err := o.instructions(ctx, "-s", fmt.Sprintf("%#x", req.Addr), "-e",
		fmt.Sprintf("%#x", req.Addr+uint64(max(req.Count, 1)*longestInstruction)))
	if refusedByGdb(err) { // the code ends before that
		list, err = o.instructions(ctx, "-a", fmt.Sprintf("%#x", req.Addr))
		list = slices.DeleteFunc(list, func(i backend.Instruction) bool { return i.Address < req.Addr })
	}
	if refusedByGdb(err) {
		return nil, fmt.Errorf("there is no code at %#x: %s", req.Addr, message(err))
	}
	if err != nil {
		return nil, err
	}
	list = list[:min(len(list), req.Count)]
	var before []backend.Instruction
	for at := req.Addr; len(before) < req.Before && at > 0; {
		function, err := o.instructions(ctx, "-a", fmt.Sprintf("%#x", at-1))
		if err != nil && !refusedByGdb(err) {
			return nil, err
		}
		function = slices.DeleteFunc(function, func(i backend.Instruction) bool { return i.Address >= at })
		if len(function) == 0 {
			break
		}
		before = append(function, before...)
		at = function[0].Address
	}
	return append(before[max(len(before)-req.Before, 0):], list...), nil
}

// instructions are those that gdb names, in the order of their addresses.
func (o *owner) instructions(ctx context.Context, which ...string) ([]backend.Instruction, error) {
	const withSourceAndBytes = "5"
	r, err := o.send(ctx, gdbmi.Cmd("data-disassemble").Opt(which...).Opt("--", withSourceAndBytes))
	if err != nil {
		return nil, err
	}
	var list []backend.Instruction
	f := r.Fields()
	add := func(t *gdbmi.Fields, file string, line int) error {
		i := backend.Instruction{Text: t.String("inst"), Function: t.OptString("func-name"), File: file, Line: line}
		i.Address, _ = t.OptAddr("address")
		i.Offset = uint64(max(t.OptInt("offset", 0), 0))
		var err error
		i.Bytes, err = hex.DecodeString(strings.ReplaceAll(t.OptString("opcodes"), " ", ""))
		list = append(list, i)
		return err
	}
	for t := range f.Tuples("asm_insns") {
		if !t.Has("line_asm_insn") {
			if err := add(t, "", 0); err != nil {
				return nil, err
			}
			continue
		}
		for i := range t.Tuples("line_asm_insn") {
			if err := add(i, t.OptString("fullname"), t.OptInt("line", 0)); err != nil {
				return nil, err
			}
		}
	}
	return list, f.Err()
}
