package doccheck

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// rest stands for any lines.
const rest = "..."

var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`0x[0-9a-f]+`), "0x"},
	{regexp.MustCompile(`\b\d+(\.\d+)? ?(ns|µs|us|ms|s|min)\b`), "TIME"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*( UTC)?`), "DATE"},
	{regexp.MustCompile(`\b(process|pid|PID|core\.) ?\d+`), "$1 PID"},
	{regexp.MustCompile(`(^|[\s"'(=\[])(~|\.|\.\.)?(/[\w.@+-]+)*/`), "$1"}, // the directory of a file
	// the same handle, where it is another number
	{regexp.MustCompile(` \((Fortran -?\d+|its Fortran handle is not known)\)`), ""},
	{regexp.MustCompile(`\byielded: \w+`), "yielded: ?"},
	{regexp.MustCompile(`\b\d+ predefined`), "N predefined"}, // datatypes of an MPI
	{regexp.MustCompile(`\b(mpich|openmpi) \d+(\.\d+)*`), "MPI"},
	{regexp.MustCompile(`\s+`), " "},
}

var number = regexp.MustCompile(`\b[0-9a-f]{8,}\b|\d+(\.\d+)?`) // or a hash

func masked(lines []string, o Options) []string {
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		for _, m := range masks {
			l = m.pattern.ReplaceAllString(l, m.with)
		}
		if o.Numbers {
			l = number.ReplaceAllString(l, "N")
		}
		out = append(out, strings.TrimRight(l, " "))
	}
	return out
}

// Compare tells whether what was printed is what the page says. Empty lines at the end do not count.
func Compare(want, got []string, o Options) error {
	w, g := masked(trimmed(want), o), masked(trimmed(got), o)
	if o.AnyOrder {
		return compareSorted(w, g)
	}
	if at, ok := matches(w, g); !ok {
		found := "the end of the output"
		line := "the end"
		if at[1] < len(g) {
			found = fmt.Sprintf("%q", g[at[1]])
		}
		if at[0] < len(w) {
			line = fmt.Sprintf("%q", w[at[0]])
		}
		return fmt.Errorf("the page has %s where %s was printed. Printed was:\n%s", line, found,
			strings.Join(got, "\n"))
	}
	return nil
}

func trimmed(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// matches compares lines, of which "..." in want are any number of those in got. If they differ, at is where: as far as
// one can get in want, and the line of got there.
func matches(want, got []string) (at [2]int, ok bool) {
	// reached[j]: the first i lines of want can be the first j of got.
	reached := make([]bool, len(got)+1)
	reached[0] = true
	for i, w := range want {
		next := make([]bool, len(got)+1)
		for j := range reached {
			switch {
			case !reached[j]:
			case w == rest:
				for k := j; k <= len(got); k++ {
					next[k] = true
				}
			case j < len(got) && same(w, got[j]):
				next[j+1] = true
			}
		}
		if !slices.Contains(next, true) {
			return [2]int{i, slices.Index(reached, true)}, false
		}
		reached = next
	}
	return [2]int{len(want), slices.Index(reached, true)}, reached[len(got)]
}

// same compares lines; one that ends with three dots is the beginning of what is printed.
func same(want, got string) bool {
	if beginning, ok := strings.CutSuffix(want, " "+rest); ok {
		return strings.HasPrefix(got, beginning)
	}
	return got == want
}

// compareSorted compares lines whose order is not known.
func compareSorted(want, got []string) error {
	left := slices.Clone(got)
	open := false
	for _, w := range want {
		if w == rest {
			open = true
			continue
		}
		i := slices.IndexFunc(left, func(g string) bool { return same(w, g) })
		if i < 0 {
			return fmt.Errorf("the page has %q, which was not printed. Printed was:\n%s", w, strings.Join(got, "\n"))
		}
		left = slices.Delete(left, i, i+1)
	}
	if !open && len(left) > 0 {
		return fmt.Errorf("%q was printed, and the page does not have it", left[0])
	}
	return nil
}
