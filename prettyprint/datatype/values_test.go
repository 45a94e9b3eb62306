package datatype

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

func named(name string, b abi.Basic, size uint32) *Type {
	return &Type{Head: registry.Head{Name: name}, Record: abi.Datatype{
		Object: abi.Object{Kind: uint32(abi.CombinerNamed)}, Basic: b, BasicSize: size, TypeSize: int64(size),
	}}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		name  string
		basic abi.Basic
		hex   string // in the order of memory
		want  string
	}{
		{"MPI_CHAR", abi.BasicChar, "61", `'a'`},
		{"MPI_CHAR", abi.BasicChar, "27", `'\''`},
		{"MPI_CHAR", abi.BasicChar, "00", `'\0'`},
		{"MPI_CHAR", abi.BasicChar, "ff", `'\377'`},
		{"MPI_SIGNED_CHAR", abi.BasicInt, "ff", "-1"},
		{"MPI_UNSIGNED_CHAR", abi.BasicUint, "ff", "255"},
		{"MPI_SHORT", abi.BasicInt, "0080", "-32768"},
		{"MPI_INT", abi.BasicInt, "feffffff", "-2"},
		{"MPI_UNSIGNED", abi.BasicUint, "feffffff", "4294967294"},
		{"MPI_LONG", abi.BasicInt, "0000000000000080", "-9223372036854775808"},
		{"MPI_UINT64_T", abi.BasicUint, "ffffffffffffffff", "18446744073709551615"},
		{"MPI_INTEGER16", abi.BasicInt, "feffffffffffffffffffffffffffffff", "-2"},
		{"MPI_FLOAT", abi.BasicFloat, "cdcccc3d", "0.1"},
		{"MPI_FLOAT", abi.BasicFloat, "000080ff", "-inf"},
		{"MPI_FLOAT", abi.BasicFloat, "0000c07f", "nan"},
		{"MPI_DOUBLE", abi.BasicFloat, "9a9999999999b93f", "0.1"},
		{"MPI_DOUBLE", abi.BasicFloat, "0000000000000080", "-0"},
		{"MPI_DOUBLE", abi.BasicFloat, "9c7500883ce4377e", "1e+300"},
		{"MPI_DOUBLE", abi.BasicFloat, "00000000d0126341", "10000000"},
		{"MPI_REAL2", abi.BasicFloat, "003c", "1"},
		{"MPI_REAL2", abi.BasicFloat, "0100", "5.96e-08"},
		{"MPI_LONG_DOUBLE", abi.BasicFloat, "00000000000000c0ff3f7856341200ab", "1.5"},
		{"MPI_LONG_DOUBLE", abi.BasicFloat, "0000000000000080ff7f000000000000", "inf"},
		{"MPI_LONG_DOUBLE", abi.BasicFloat, "00000000000000c0ffff000000000000", "nan"},
		{"MPI_LONG_DOUBLE", abi.BasicFloat, "00000000000000000080000000000000", "-0"},
		{"MPI_LONG_DOUBLE", abi.BasicFloat, "cdcccccccccccccc fb3f000000000000", "0.1"},
		{"MPI_REAL16", abi.BasicFloat, "0000000000000000000000000080ff3f", "1.5"},
		{"MPI_REAL16", abi.BasicFloat, "9a999999999999999999999999 99fb3f", "0.1"},
		{"MPI_COMPLEX", abi.BasicComplex, "0000803f000000c0", "1 - 2i"},
		{"MPI_C_DOUBLE_COMPLEX", abi.BasicComplex, "000000000000f03f000000000000e03f", "1 + 0.5i"},
		{"MPI_C_BOOL", abi.BasicBool, "01", "true"},
		{"MPI_C_BOOL", abi.BasicBool, "05", "true (5)"},
		{"MPI_LOGICAL", abi.BasicLogical, "00000000", ".FALSE."},
		{"MPI_LOGICAL", abi.BasicLogical, "ffffffff", ".TRUE. (-1)"},
		{"MPI_BYTE", abi.BasicByte, "4f", "0x4f"},
		{"MPI_PACKED", abi.BasicPacked, "00", "0x00"},
		{"MPI_WCHAR", abi.BasicWchar, "e4000000", "L'ä'"},
		{"MPI_WCHAR", abi.BasicWchar, "78563412", "0x12345678"}, // no character: a number
		{"MPI_WCHAR", abi.BasicWchar, "00d80000", "0xd800"},
		{"MPI_WCHAR", abi.BasicWchar, "e420", "0x20e4"},
		{"MPI_AINT", abi.BasicAddress, "00f0ffffff7f0000", "140737488351232 (0x7ffffffff000)"},
		{"MPI_AINT", abi.BasicAddress, "f8ffffffffffffff", "-8"},
		{"MPI_COUNT", abi.BasicAddress, "0000000001000000", "4294967296"},
		{"MPI_NEW", abi.BasicNone, "0102", "0x0102"},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(c.hex, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := named(c.name, c.basic, uint32(len(b))).appendElement(nil, b); string(got) != c.want {
			t.Errorf("%s %s: %s, want %s", c.name, c.hex, got, c.want)
		}
	}
}

func TestPairs(t *testing.T) {
	pair := func(name string, value abi.Basic, size uint32) *Type {
		d := named(name, abi.BasicPair, size)
		d.Record.Pair = value
		return d
	}
	for _, c := range []struct {
		t    *Type
		hex  string
		want string
	}{
		{pair("MPI_DOUBLE_INT", abi.BasicFloat, 8), "000000000000f83f07000000", "{1.5, 7}"},
		{pair("MPI_SHORT_INT", abi.BasicInt, 2), "ffffaaaa07000000", "{-1, 7}"},
		{pair("MPI_2INT", abi.BasicInt, 4), "0100000002000000", "{1, 2}"},
		{pair("MPI_2REAL", abi.BasicFloat, 4), "0000803f0000c03f", "{1, 1.5}"},
		{pair("MPI_2DOUBLE_PRECISION", abi.BasicFloat, 8), "000000000000f83f000000000000f03f", "{1.5, 1}"},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.t.appendElement(nil, b); string(got) != c.want {
			t.Errorf("%s %s: %s, want %s", c.t.Name, c.hex, got, c.want)
		}
	}
}

// TestFloatsRoundTrip reads what is printed back: the shortest text must give the same bits.
func TestFloatsRoundTrip(t *testing.T) {
	double, quad, ext := named("MPI_DOUBLE", abi.BasicFloat, 8), named("MPI_REAL16", abi.BasicFloat, 16),
		named("MPI_LONG_DOUBLE", abi.BasicFloat, 16)
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64().Draw(t, "v")
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		got, ok := new(big.Float).SetPrec(53).SetString(string(double.appendFloat(nil,
			binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))))
		if f, _ := got.Float64(); !ok || f != v {
			t.Fatalf("%v printed as %v", v, got)
		}
		for _, f := range []struct {
			name string
			t    *Type
			prec uint
		}{{"x87", ext, 64}, {"quad", quad, 113}} {
			mant := new(big.Int).SetUint64(rapid.Uint64Min(1<<63).Draw(t, "hi"))
			if f.prec > 64 {
				mant.Or(mant.Lsh(mant, f.prec-64), new(big.Int).SetUint64(rapid.Uint64Max(1<<49-1).Draw(t, "lo")))
			}
			exp := rapid.IntRange(1, 32766).Draw(t, "exp")
			want := new(big.Float).SetPrec(f.prec).SetInt(mant)
			want.SetMantExp(want, exp-16383-int(f.prec)+1)
			text := string(f.t.appendFloat(nil, encodeWide(mant, exp, f.prec)))
			got, ok := new(big.Float).SetPrec(f.prec).SetString(text)
			if !ok || got.Cmp(want) != 0 {
				t.Fatalf("%s: %s printed as %s", f.name, want.Text('p', 0), text)
			}
		}
	})
}

// encodeWide writes a normal number of the two 16-byte formats.
func encodeWide(mant *big.Int, exp int, prec uint) []byte {
	bits := new(big.Int).Set(mant)
	if prec == 113 {
		bits.SetBit(bits, 112, 0)
		bits.Or(bits, new(big.Int).Lsh(big.NewInt(int64(exp)), 112))
	} else {
		bits.Or(bits, new(big.Int).Lsh(big.NewInt(int64(exp)), 64))
	}
	b := bits.FillBytes(make([]byte, 16))
	for i := range 8 {
		b[i], b[15-i] = b[15-i], b[i]
	}
	return b
}

func TestQuoteBytes(t *testing.T) {
	for in, want := range map[string]string{
		"abc":                        `"abc"`,
		"a\"b\\\n":                   `"a\"b\\\n"`,
		"ab\x00":                     `"ab\0"`,
		"ab\x001":                    `"ab\0001"`,
		"x\x00\x00\x00\x00\x00\x00":  `"x" + 6 × '\0'`,
		"\xc3\xa4":                   `"\303\244"`,
		"\x00\x00\x00\x00\x00\x00":   `"" + 6 × '\0'`,
		"a\x00\x00\x00\x00\x00\x00b": `"a\0\0\0\0\0\0b"`,
	} {
		if got := QuoteBytes([]byte(in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// A long double is what the program's machine makes it, wherever the decoder runs.
func TestLongDoubleOfMachine(t *testing.T) {
	quad, err := hex.DecodeString("0000000000000000000000000080ff3f") // 1.5 in binary128
	if err != nil {
		t.Fatal(err)
	}
	for machine, want := range map[string]string{
		"aarch64": "1.5", "riscv:rv64": "1.5", "powerpc:common64": "0x0000000000000000000000000080ff3f",
		"i386:x86-64": "0",
	} {
		d := named("MPI_LONG_DOUBLE", abi.BasicFloat, 16)
		d.reg = NewTypes(&registry.Registry{Env: registry.Surroundings{Machine: func() string { return machine }}})
		if got := d.appendFloat(nil, quad); string(got) != want {
			t.Errorf("on %s: %s, want %s", machine, got, want)
		}
	}
}

// TestFieldCounts checks the number of fields that is given before they are built, for every kind; see also the node
// tests.
func TestFieldCounts(t *testing.T) {
	for k := range abi.CombinerUnknown {
		if _, ok := constructors[k]; k.Known() && !ok && k != abi.CombinerNamed {
			t.Errorf("the constructor %s is not in the table", k)
		}
	}
}
