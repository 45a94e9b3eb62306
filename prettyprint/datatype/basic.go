package datatype

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cohort-debugger/cohort/pmpi/abi"
)

const maxBasicSize = 64 // bytes of one value; the largest that exist have 32

// basic is what a leaf of the type tree holds.
func (t *Type) basic() abi.Basic {
	switch t.Combiner() {
	case abi.CombinerNamed:
		return t.Record.Basic
	case abi.CombinerF90Real:
		return abi.BasicFloat
	case abi.CombinerF90Complex:
		return abi.BasicComplex
	case abi.CombinerF90Integer:
		return abi.BasicInt
	default:
		return abi.BasicNone
	}
}

// part is one value inside a basic element: pairs have two.
type part struct {
	basic               abi.Basic
	offset, size, align int64
}

// parts are the values that one basic element is made of.
func (t *Type) parts() []part {
	if t.partsOnce != nil {
		return t.partsOnce
	}
	size := int64(t.Record.BasicSize)
	if size == 0 && t.Record.TypeSize != unknownFigure {
		size = t.Record.TypeSize
	}
	if t.basic() != abi.BasicPair {
		t.partsOnce = []part{{t.basic(), 0, size, alignOf(t.basic(), size)}}
		return t.partsOnce
	}
	first := part{t.Record.Pair, 0, size, alignOf(t.Record.Pair, size)}
	second := part{abi.BasicInt, 0, 4, 4}
	if strings.HasPrefix(t.Name, "MPI_2") { // MPI_2INT, and Fortran's MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_2INTEGER
		second = first
	}
	second.offset = (first.size + second.align - 1) / second.align * second.align
	t.partsOnce = []part{first, second}
	return t.partsOnce
}

// alignOf is the alignment of a basic type in the x86-64 and AArch64 ABIs.
func alignOf(b abi.Basic, size int64) int64 {
	switch b {
	case abi.BasicChar, abi.BasicByte, abi.BasicPacked, abi.BasicNone:
		return 1
	case abi.BasicComplex:
		size /= 2
	default:
	}
	for _, a := range []int64{16, 8, 4, 2} {
		if size >= a {
			return a
		}
	}
	return 1
}

// appendElement appends the value of a basic element, as the other functions of this name append theirs; data holds its
// bytes from offset 0 on, as many as its parts span.
func (t *Type) appendElement(dst, data []byte) []byte {
	parts := t.parts()
	if len(parts) == 1 {
		return t.appendValue(dst, parts[0].basic, data[:parts[0].size])
	}
	for i, p := range parts {
		dst = append(dst, [...]string{"{", ", "}[i]...)
		dst = t.appendValue(dst, p.basic, data[p.offset:p.offset+p.size])
	}
	return append(dst, '}')
}

func (t *Type) appendValue(dst []byte, basic abi.Basic, b []byte) []byte {
	switch basic {
	case abi.BasicChar:
		if len(b) == 1 {
			return append(append(append(dst, '\''), escapeByte(b[0], '\'')...), '\'')
		}
	case abi.BasicInt:
		return appendInteger(dst, b, true)
	case abi.BasicUint:
		return appendInteger(dst, b, false)
	case abi.BasicFloat:
		return t.appendFloat(dst, b)
	case abi.BasicComplex:
		dst = t.appendFloat(dst, b[:len(b)/2])
		sign, im := " + ", t.appendFloat(nil, b[len(b)/2:])
		if rest, negative := bytes.CutPrefix(im, []byte("-")); negative {
			sign, im = " - ", rest
		}
		return append(append(append(dst, sign...), im...), 'i')
	case abi.BasicBool:
		return appendTruth(dst, "false", "true", appendInteger(nil, b, false))
	case abi.BasicLogical:
		return appendTruth(dst, ".FALSE.", ".TRUE.", appendInteger(nil, b, true))
	case abi.BasicWchar:
		if len(b) == 4 && utf8.ValidRune(rune(binary.LittleEndian.Uint32(b))) {
			return strconv.AppendQuoteRune(append(dst, 'L'), rune(binary.LittleEndian.Uint32(b)))
		}
		return fmt.Appendf(dst, "0x%x", bigInteger(b)) // its number: the bytes of memory are in another order
	case abi.BasicAddress:
		dst = appendInteger(dst, b, true)
		if len(b) == 8 && strings.HasSuffix(t.Name, "AINT") {
			if n := int64(binary.LittleEndian.Uint64(b)); n > 0xffff {
				dst = fmt.Appendf(dst, " (0x%x)", n)
			}
		}
		return dst
	default:
	}
	return appendBytes(dst, b)
}

func appendTruth(dst []byte, no, yes string, number []byte) []byte {
	switch string(number) {
	case "0":
		return append(dst, no...)
	case "1":
		return append(dst, yes...)
	}
	return fmt.Appendf(dst, "%s (%s)", yes, number)
}

// appendBytes shows bytes in the order in which they lie in memory.
func appendBytes(dst, b []byte) []byte { return fmt.Appendf(dst, "0x%x", b) }

func appendInteger(dst, b []byte, signed bool) []byte {
	negative := signed && len(b) > 0 && b[len(b)-1]&0x80 != 0
	switch {
	case len(b) == 0:
		return append(dst, '?')
	case len(b) <= 8:
		var w [8]byte
		if negative {
			w = [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
		}
		copy(w[:], b)
		if v := binary.LittleEndian.Uint64(w[:]); !signed {
			return strconv.AppendUint(dst, v, 10)
		}
		return strconv.AppendInt(dst, int64(binary.LittleEndian.Uint64(w[:])), 10)
	}
	v := bigInteger(b)
	if negative {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v.Append(dst, 10)
}

func bigInteger(b []byte) *big.Int {
	b = slices.Clone(b)
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}

// appendFloat appends the shortest decimal that reads back as the same value of that width.
func (t *Type) appendFloat(dst, b []byte) []byte {
	switch len(b) {
	case 2:
		return appendWide(dst, b, 5, 10, false)
	case 4:
		return appendShortest(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32)
	case 8:
		return appendShortest(dst, math.Float64frombits(binary.LittleEndian.Uint64(b)), 64)
	case 16:
		switch t.wideFloat() {
		case wideQuad:
			return appendWide(dst, b, 15, 112, false)
		case wideX87:
			return appendWide(dst, b[:10], 15, 64, true) // in 16 bytes
		case wideUnknown:
		}
	case 10, 12:
		return appendWide(dst, b[:10], 15, 64, true)
	}
	return appendBytes(dst, b)
}

// wideFormat is what a float of 16 bytes is.
type wideFormat int

const (
	wideX87     wideFormat = iota // 80 bits of the x87
	wideQuad                      // IEEE binary128
	wideUnknown                   // of a machine whose format is not known: it may be a pair of doubles
)

// wideFloat tells the formats apart: Fortran's REAL(16) is IEEE binary128 everywhere, and C's long double what the
// program's machine makes it, which need not be this one (a core file).
func (t *Type) wideFloat() wideFormat {
	switch name := t.Name; {
	case strings.HasSuffix(name, "REAL10"):
		return wideX87
	case !strings.Contains(name, "LONG_DOUBLE"):
		return wideQuad
	}
	machine := ""
	if t.reg != nil {
		machine = strings.ToLower(t.reg.Machine())
	}
	switch {
	case machine == "" || strings.HasPrefix(machine, "i386"):
		return wideX87
	case strings.HasPrefix(machine, "aarch64"), strings.HasPrefix(machine, "riscv"),
		strings.HasPrefix(machine, "loongarch"):
		return wideQuad
	}
	return wideUnknown
}

func appendShortest(dst []byte, v float64, bits int) []byte {
	form := byte('g')
	switch size := math.Abs(v); {
	case math.IsNaN(v):
		return append(dst, "nan"...)
	case math.IsInf(v, 1):
		return append(dst, "inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-inf"...)
	case size >= 1e-4 && size < 1e16:
		form = 'f'
	}
	return strconv.AppendFloat(dst, v, form, -1, bits)
}

// appendWide appends a little-endian binary float with an explicit or implicit leading bit in its fraction, which Go
// has no type for.
func appendWide(dst, b []byte, expBits, fracBits uint, explicit bool) []byte {
	bits := bigInteger(b)
	field := func(from, n uint) *big.Int {
		mask := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), n), big.NewInt(1))
		return mask.And(mask, new(big.Int).Rsh(bits, from))
	}
	frac, exp, top := field(0, fracBits), int(field(fracBits, expBits).Int64()), fracBits
	if explicit {
		top--
	}
	if exp == 1<<expBits-1 && frac.SetBit(frac, int(top), 0).Sign() != 0 {
		return append(dst, "nan"...)
	}
	if bits.Bit(int(fracBits+expBits)) == 1 {
		dst = append(dst, '-')
	}
	switch {
	case exp == 1<<expBits-1:
		return append(dst, "inf"...)
	case exp == 0:
		exp = 1
	case !explicit:
		frac.SetBit(frac, int(top), 1)
	}
	v := new(big.Float).SetPrec(top + 1).SetInt(frac)
	return append(dst, shortestWide(v.SetMantExp(v, exp-(1<<(expBits-1)-1)-int(top)))...)
}

// escapeByte writes a character as C does, within such quotes.
func escapeByte(b, quote byte) string {
	switch b {
	case quote, '\\':
		return "\\" + string(b)
	case '\n':
		return `\n`
	case '\t':
		return `\t`
	case '\r':
		return `\r`
	case 0:
		return `\0`
	}
	if b < 0x20 || b >= 0x7f {
		return fmt.Sprintf(`\%03o`, b)
	}
	return string(b)
}

// QuoteBytes shows characters as a C string; a run of more than four NULs is counted rather than shown.
func QuoteBytes(b []byte) string {
	end := len(b)
	for end > 0 && b[end-1] == 0 {
		end--
	}
	tail := ""
	if nuls := len(b) - end; nuls > 4 {
		tail = fmt.Sprintf(` + %d × '\0'`, nuls)
		b = b[:end]
	}
	var s strings.Builder
	s.WriteByte('"')
	for i, c := range b {
		if c == 0 && i+1 < len(b) && b[i+1] >= '0' && b[i+1] <= '9' {
			s.WriteString(`\000`)
			continue
		}
		s.WriteString(escapeByte(c, '"'))
	}
	s.WriteByte('"')
	return s.String() + tail
}

func trimMPI(name string) string { return strings.TrimPrefix(name, "MPI_") }
