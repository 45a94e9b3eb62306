package datatype

import (
	"fmt"
	"math/big"
	"sort"
	"strconv"
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
	// log10(2) from below is 0.30102999; the first digit may come one place earlier than estimated.
	k := mostDigits + 3 - int(int64(v.MantExp(nil)-1)*30102999/100000000)
	scaled := new(big.Float).SetPrec(scalePrec)
	if k >= 0 {
		scaled.Mul(v, powerOfTen(k))
	} else {
		scaled.Quo(v, powerOfTen(-k))
	}
	// More digits never read back worse, so the fewest that do are found by halving.
	n := 1 + sort.Search(mostDigits, func(n int) bool { return readsBack(v, decimalText(scaled, n+1, k)) })
	return decimalText(scaled, n, k)
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

// decimalText writes n digits of scaled, which is to be divided by ten to the power of k, as C's %g does.
func decimalText(scaled *big.Float, n, k int) string {
	mantissa, exp, _ := strings.Cut(scaled.Text('e', n-1), "e")
	digits := strings.TrimRight(strings.Replace(mantissa, ".", "", 1), "0")
	point, _ := strconv.Atoi(exp) // the value is 0.DIGITS times ten to the power of point
	point += 1 - k
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
