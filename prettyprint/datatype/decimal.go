package datatype

import (
	"fmt"
	"math/big"
	"strings"
)

// big.Float's own decimal text takes milliseconds for an exponent of thousands, which a long double may have, and all
// of memory that holds garbage does. Here a value is scaled by a power of ten, with 320 bits, to an integer of as many
// digits as any format may need, and the fewest of them are taken that read back as the same value.

const (
	scalePrec  = 320
	mostDigits = 36 // of binary128, which has the most
)

// shortestWide is the shortest decimal that reads back as v, which is not negative.
func shortestWide(v *big.Float) string {
	if v.Sign() == 0 {
		return "0"
	}
	all, point := scaledDigits(v)
	// More digits never read back worse, so the fewest that do are found by halving.
	lo, hi := 0, min(len(all), mostDigits+1)
	text := ""
	for lo+1 < hi {
		mid := (lo + hi) / 2
		digits, p := roundDigits(all, point, mid)
		if t := decimalText(digits, p); readsBack(v, t) {
			hi, text = mid, t
		} else {
			lo = mid
		}
	}
	if text == "" {
		text = decimalText(roundDigits(all, point, hi))
	}
	return text
}

// scaledDigits are the first 40 digits or so of v, which is 0.DIGITS times ten to the power of point.
func scaledDigits(v *big.Float) (digits string, point int) {
	const want = mostDigits + 4
	// log10(2) from below is 0.30102999; the first digit may come one place earlier than estimated.
	exp := int(int64(v.MantExp(nil)-1) * 30102999 / 100000000)
	k := want - 1 - exp
	scaled := new(big.Float).SetPrec(scalePrec)
	if k >= 0 {
		scaled.Mul(v, powerOfTen(k))
	} else {
		scaled.Quo(v, powerOfTen(-k))
	}
	n, _ := scaled.Add(scaled, big.NewFloat(0.5)).Int(nil)
	s := n.String()
	return s, len(s) - k
}

func powerOfTen(n int) *big.Float {
	out, x := big.NewFloat(1).SetPrec(scalePrec), new(big.Float).SetPrec(scalePrec).SetInt64(10)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			out.Mul(out, x)
		}
		x.Mul(x, x)
	}
	return out
}

// roundDigits keeps the first n digits.
func roundDigits(digits string, point, n int) (rounded string, newPoint int) {
	if n >= len(digits) {
		return strings.TrimRight(digits, "0"), point
	}
	kept := []byte(digits[:n])
	if digits[n] >= '5' {
		i := n - 1
		for ; i >= 0 && kept[i] == '9'; i-- {
			kept[i] = '0'
		}
		if i < 0 {
			return "1", point + 1
		}
		kept[i]++
	}
	return strings.TrimRight(string(kept), "0"), point
}

// decimalText writes 0.DIGITS times ten to the power of point as C's %g does.
func decimalText(digits string, point int) string {
	switch {
	case point > -4 && point <= 0:
		return "0." + strings.Repeat("0", -point) + digits
	case point > 0 && point <= 16 && len(digits) <= point:
		return digits + strings.Repeat("0", point-len(digits))
	case point > 0 && point <= 16:
		return digits[:point] + "." + digits[point:]
	case len(digits) > 1:
		digits = digits[:1] + "." + digits[1:]
	}
	return fmt.Sprintf("%se%+03d", digits, point-1)
}

func readsBack(v *big.Float, text string) bool {
	got, ok := new(big.Float).SetPrec(v.Prec()).SetString(text)
	return ok && got.Cmp(v) == 0
}
