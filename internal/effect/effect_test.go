package effect_test

import (
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/internal/effect"
)

func FuzzEffect(f *testing.F) {
	for _, s := range []string{"a = 1", "a == 1", "x[i]++", `"a=b"`, "a <<= 1", "a /= b", "'", `"\`} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, expr string, fortran bool) {
		if what := effect.Of(expr, fortran); what != "" && !strings.Contains(expr, what) {
			t.Errorf("%q holds no %q", expr, what)
		}
	})
}
