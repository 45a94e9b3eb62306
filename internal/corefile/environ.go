package corefile

import (
	"bytes"
	"encoding/binary"
)

// Bounds of the environment; the kernel's own are of this order.
const (
	maxVariables = 1 << 16
	maxVariable  = 128 << 10
	maxAbove     = 8 << 20 // from the auxiliary vector to the program's name, which is the last on the stack
)

// Environment is the environment with which the process was started, NAME=VALUE each; nil if it is not in the core.
// What the program has changed since is not in it.
//
// The kernel puts onto the stack, from low to high addresses: argc, the pointers to the arguments and a null, the
// pointers to the environment and a null, the auxiliary vector, and then the strings, of which the program's path is
// the last. A copy of the auxiliary vector is among the core's notes, so that its place can be found, and before it is
// the environment.
func (f *File) Environment() []string {
	last, ok := f.aux(atExecfn)
	if !ok || len(f.auxv) < 32 {
		return nil
	}
	low := last - min(last, maxAbove)
	for _, piece := range f.dumped(low, last) {
		if piece[1] != last {
			continue
		}
		buf := make([]byte, piece[1]-piece[0])
		if n, _ := f.ReadMemory(piece[0], buf); n < len(buf) {
			return nil
		}
		at := f.findAux(buf, piece[0])
		if at < 0 {
			return nil
		}
		return f.variables(buf[:at])
	}
	return nil
}

// findAux returns where in buf, the memory at addr, the auxiliary vector is; -1: nowhere.
func (f *File) findAux(buf []byte, addr uint64) int {
	want := f.auxv[:32]
	for i := int(-addr & 7); i+len(want) <= len(buf); i += 8 {
		if bytes.Equal(buf[i:i+len(want)], want) {
			return i
		}
	}
	return -1
}

// variables reads the strings to which the pointers at the end of below point.
func (f *File) variables(below []byte) []string {
	le := binary.LittleEndian
	if len(below) < 8 || le.Uint64(below[len(below)-8:]) != 0 {
		return nil
	}
	var out []string
	for below = below[:len(below)-8]; len(below) >= 8 && len(out) < maxVariables; below = below[:len(below)-8] {
		pointer := le.Uint64(below[len(below)-8:])
		if pointer == 0 {
			break
		}
		if s, ok := f.cString(pointer); ok {
			out = append(out, s)
		}
	}
	return out
}

// cString reads a string that ends with a NUL.
func (f *File) cString(addr uint64) (string, bool) {
	var out []byte
	for len(out) < maxVariable {
		buf := make([]byte, 256)
		n, _ := f.ReadMemory(addr+uint64(len(out)), buf)
		if i := bytes.IndexByte(buf[:n], 0); i >= 0 {
			return string(append(out, buf[:i]...)), true
		}
		if n < len(buf) {
			return "", false
		}
		out = append(out, buf...)
	}
	return "", false
}
