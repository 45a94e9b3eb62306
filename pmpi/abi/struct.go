//go:build amd64 || arm64 || loong64 || mips64le || ppc64le || riscv64

// On these machines a struct of Go has the layout that the header prescribes: little endian, 64-bit integers aligned
// to 8 bytes. On others this package does not compile.

package abi

import (
	"bytes"
	"unsafe"
)

// Bytes is the memory of a struct, in the layout that C has. Any bytes are a valid one: it has integers only.
func Bytes[T Struct](r *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(r)), unsafe.Sizeof(*r)) //nolint:gosec // the memory of r, no more
}

// Read copies a struct from the beginning of b. What b is too short for is 0.
func Read[T Struct](b []byte) (r T) {
	copy(Bytes(&r), b)
	return r
}

// Size is the number of bytes of a struct.
func Size[T Struct]() int {
	var r T
	return int(unsafe.Sizeof(r))
}

// Text is the string in a field of characters: up to the first NUL, or the whole field.
func Text(field []byte) string {
	text, _, _ := bytes.Cut(field, []byte{0})
	return string(text)
}
