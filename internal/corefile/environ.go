package corefile

import "bytes"

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
	pieces := f.dumped(last-min(last, maxAbove), last)
	if len(pieces) == 0 || pieces[len(pieces)-1][1] != last {
		return nil
	}
	from := pieces[len(pieces)-1][0]
	buf := make([]byte, last-from)
	if n, _ := f.ReadMemory(from, buf); n < len(buf) {
		return nil
	}
	for at := int(-from & 7); at+32 <= len(buf); at += 8 {
		if bytes.Equal(buf[at:at+32], f.auxv[:32]) {
			return f.variables(buf[:at])
		}
	}
	return nil
}

// variables reads the strings to which the pointers at the end of below point.
func (f *File) variables(below []byte) []string {
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
