package datatype

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

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

// parts lists the values that one basic element is made of.
func (t *Type) parts() []part {
	size := int64(t.Record.BasicSize)
	if size == 0 && t.Record.TypeSize != unknownFigure {
		size = t.Record.TypeSize
	}
	if t.basic() != abi.BasicPair {
		return []part{{t.basic(), 0, size, alignOf(t.basic(), size)}}
	}
	first := part{t.Record.Pair, 0, size, alignOf(t.Record.Pair, size)}
	second := part{abi.BasicInt, 0, 4, 4}
	if strings.HasPrefix(t.Name(), "MPI_2") { // MPI_2INT, and Fortran's MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_2INTEGER
		second = first
	}
	second.offset = (first.size + second.align - 1) / second.align * second.align
	return []part{first, second}
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

// formatElement shows the value of a basic element; data holds its bytes from offset 0 on, as many as its parts span.
func (t *Type) formatElement(data []byte) string {
	parts := t.parts()
	if len(parts) == 1 {
		return t.formatValue(parts[0], data[:parts[0].size])
	}
	var s []string
	for _, p := range parts {
		s = append(s, t.formatValue(p, data[p.offset:p.offset+p.size]))
	}
	return "{" + strings.Join(s, ", ") + "}"
}

func (t *Type) formatValue(p part, b []byte) string {
	switch p.basic {
	case abi.BasicChar:
		if len(b) == 1 {
			return quoteByte(b[0])
		}
	case abi.BasicInt:
		return formatInteger(b, true)
	case abi.BasicUint:
		return formatInteger(b, false)
	case abi.BasicFloat:
		return t.formatFloat(b)
	case abi.BasicComplex:
		re, im := t.formatFloat(b[:len(b)/2]), t.formatFloat(b[len(b)/2:])
		if rest, negative := strings.CutPrefix(im, "-"); negative {
			return re + " - " + rest + "i"
		}
		return re + " + " + im + "i"
	case abi.BasicBool:
		switch v := formatInteger(b, false); v {
		case "0":
			return "false"
		case "1":
			return "true"
		default:
			return "true (" + v + ")"
		}
	case abi.BasicLogical:
		switch v := formatInteger(b, true); v {
		case "0":
			return ".FALSE."
		case "1":
			return ".TRUE."
		default:
			return ".TRUE. (" + v + ")"
		}
	case abi.BasicWchar:
		if v := formatInteger(b, false); len(b) == 4 {
			n, _ := strconv.ParseUint(v, 10, 32) // four bytes always parse
			if n <= 0x10ffff {
				return "L" + strconv.QuoteRune(rune(n))
			}
		}
	case abi.BasicAddress:
		v := formatInteger(b, true)
		if len(b) == 8 && strings.HasSuffix(t.Name(), "AINT") {
			if n := binary.LittleEndian.Uint64(b); n > 0xffff && int64(n) > 0 {
				return fmt.Sprintf("%s (0x%x)", v, n)
			}
		}
		return v
	default:
	}
	return formatBytes(b)
}

// formatBytes shows bytes in the order in which they lie in memory.
func formatBytes(b []byte) string { return fmt.Sprintf("0x%x", b) }

func formatInteger(b []byte, signed bool) string {
	switch {
	case len(b) == 0:
		return "?"
	case len(b) <= 8:
		var w [8]byte
		if signed && b[len(b)-1]&0x80 != 0 {
			w = [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
		}
		copy(w[:], b)
		v := binary.LittleEndian.Uint64(w[:])
		if signed {
			return strconv.FormatInt(int64(v), 10)
		}
		return strconv.FormatUint(v, 10)
	}
	v := bigInteger(b)
	if signed && b[len(b)-1]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v.String()
}

func bigInteger(b []byte) *big.Int {
	be := make([]byte, len(b))
	for i, x := range b {
		be[len(b)-1-i] = x
	}
	return new(big.Int).SetBytes(be)
}

// formatFloat shows the shortest decimal that reads back as the same value of that width.
func (t *Type) formatFloat(b []byte) string {
	switch len(b) {
	case 2:
		return formatBig(ieee(b, 5, 10, false))
	case 4:
		return shortest(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32)
	case 8:
		return shortest(math.Float64frombits(binary.LittleEndian.Uint64(b)), 64)
	case 16:
		switch t.wideFloat() {
		case wideQuad:
			return formatBig(ieee(b, 15, 112, false))
		case wideX87:
			return formatBig(ieee(b[:10], 15, 64, true)) // in 16 bytes
		case wideUnknown:
		}
	case 10, 12:
		return formatBig(ieee(b[:10], 15, 64, true))
	}
	return formatBytes(b)
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
	switch name := t.Name(); {
	case strings.HasSuffix(name, "REAL10"):
		return wideX87
	case !strings.Contains(name, "LONG_DOUBLE"):
		return wideQuad
	}
	r := t.reg
	if r == nil {
		return wideX87
	}
	switch machine := strings.ToLower(r.Machine()); {
	case machine == "" || strings.HasPrefix(machine, "i386"):
		return wideX87
	case strings.HasPrefix(machine, "aarch64"), strings.HasPrefix(machine, "riscv"),
		strings.HasPrefix(machine, "loongarch"):
		return wideQuad
	}
	return wideUnknown
}

func shortest(v float64, bits int) string { return string(appendShortest(nil, v, bits)) }

func appendShortest(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "nan"...)
	case math.IsInf(v, 1):
		return append(dst, "inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-inf"...)
	}
	if exp := math.Abs(v); exp >= 1e-4 && exp < 1e16 {
		return strconv.AppendFloat(dst, v, 'f', -1, bits)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

// wide is a float wider, or narrower, than Go's.
type wide struct {
	nan, inf, negative bool
	value              *big.Float
}

// ieee decodes a little-endian binary float with an explicit or implicit leading bit in its fraction.
func ieee(b []byte, expBits, fracBits uint, explicit bool) wide {
	bits := bigInteger(b)
	field := func(from, n uint) *big.Int {
		mask := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), n), big.NewInt(1))
		return mask.And(mask, new(big.Int).Rsh(bits, from))
	}
	frac := field(0, fracBits)
	exp := int(field(fracBits, expBits).Int64())
	w := wide{negative: bits.Bit(int(fracBits+expBits)) == 1}
	emax, bias := 1<<expBits-1, 1<<(expBits-1)-1
	top := fracBits
	if explicit {
		top = fracBits - 1
	}
	if exp == emax {
		if explicit {
			frac.SetBit(frac, int(top), 0)
		}
		w.nan, w.inf = frac.Sign() != 0, frac.Sign() == 0
		return w
	}
	switch {
	case exp == 0:
		exp = 1
	case !explicit:
		frac.SetBit(frac, int(fracBits), 1)
	}
	v := new(big.Float).SetPrec(top + 1).SetInt(frac)
	w.value = v.SetMantExp(v, exp-bias-int(top))
	return w
}

func formatBig(w wide) string {
	sign := ""
	if w.negative {
		sign = "-"
	}
	switch {
	case w.nan:
		return "nan"
	case w.inf:
		return sign + "inf"
	}
	return sign + shortestWide(w.value)
}

// quoteByte shows a character as C writes it.
func quoteByte(b byte) string { return "'" + escapeByte(b, '\'') + "'" }

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
