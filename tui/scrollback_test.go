package tui

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// What is shown is a stretch of all that was written, wrapped: the end, or where the user has scrolled to, whatever is
// written meanwhile. Lines are as they were written, packed or not.
func TestScrollback(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newScrollback()
		s.block = 300
		width, rows := rapid.IntRange(20, 60).Draw(t, "width"), rapid.IntRange(1, 12).Draw(t, "rows")
		text, words := "", 0
		write := func(kind string, n int, end string) {
			var piece strings.Builder
			for range n { // each word is another one, so a row tells where it is
				fmt.Fprintf(&piece, "%d ", words)
				words++
			}
			piece.WriteString(end)
			s.write(kind, piece.String())
			text += piece.String()
		}
		wrapped := func() []string { return hardWrap(strings.Split(strings.TrimSuffix(text, "\n"), "\n"), width) }
		// shown checks what the pane shows, and returns the number of the row after it.
		shown := func(all []string) int {
			got := s.draw(rows, width)
			for i := range got {
				got[i] = ansi.Strip(got[i])
			}
			at := slices.Index(all, got[0])
			if at < 0 || len(got) != min(rows, len(all)) || !slices.Equal(got, all[at:min(at+len(got), len(all))]) {
				t.Fatalf("%d rows, from %d of %d, show\n%q", rows, at, len(all), got)
			}
			return at + len(got)
		}
		write("stdout", 1, "\n")
		bottom := 1
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			follows := bottom == len(wrapped())
			switch what := rapid.IntRange(0, 5).Draw(t, "what"); what {
			case 0, 1, 2:
				switch {
				case what == 0: // so much that it is packed
					for range rapid.IntRange(1, 30).Draw(t, "lines") {
						write("stdout", 10, "\n")
					}
				case what == 1 && strings.HasSuffix(text, "\n"):
					write("stderr", rapid.IntRange(1, 20).Draw(t, "words"), "\n")
				default:
					write("stdout", rapid.IntRange(1, 20).Draw(t, "words"),
						rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end"))
				}
				all := wrapped()
				now := shown(all)
				if follows && now != len(all) || !follows && now != bottom {
					t.Fatalf("the pane showed the rows until %d, and now until %d of %d", bottom, now, len(all))
				}
				bottom = now
			default:
				by := rapid.SampledFrom([]int{-far, -100, -7, -1, 1, 5, 100, far}).Draw(t, "by")
				all := wrapped()
				s.scroll(by, width)
				want := max(min(rows, len(all)), min(bottom+by, len(all)))
				if bottom = shown(all); bottom != want {
					t.Fatalf("scrolled by %d, the pane shows the rows until %d, want %d", by, bottom, want)
				}
			}
		}
		for n, want := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if got := s.line(n).text; got != want {
				t.Fatalf("line %d is %.40q, want %.40q", n, got, want)
			}
		}
	})
}

// The oldest lines go when there is too much, and the pane says how many.
func TestScrollbackIsBounded(t *testing.T) {
	s := newScrollback()
	noise := make([]byte, 20_000)
	random := rand.New(rand.NewSource(1))
	const lines = 2000
	for i := range lines {
		random.Read(noise)
		for j, n := range noise {
			noise[j] = '0' + n%64
		}
		s.write("stdout", fmt.Sprintf("%d %s\n", i, noise))
		if s.packed > mostPacked || s.size > 3*blockSize {
			t.Fatalf("after %d lines %d bytes are packed, %d are not", i, s.packed, s.size)
		}
	}
	if s.begin() == 0 || s.end() != lines {
		t.Fatalf("the lines from %d to %d are there", s.begin(), s.end())
	}
	s.scroll(-far, 80)
	if got := s.draw(5, 80); !strings.Contains(got[0], fmt.Sprintf("(%d earlier lines are not kept)", s.begin())) ||
		got[1] != fmt.Sprint(s.begin()) {
		t.Errorf("the pane begins with %q", got)
	}
	s.write("stdout", strings.Repeat("ö", longestLine)) // no end
	if n := len(s.partial[0].text); n > longestLine {
		t.Errorf("%d bytes without an end are kept", n)
	}
	s.write("stdout", "\n")
	whole := ""
	for n := lines; n < s.end(); n++ {
		whole += s.line(n).text
	}
	if whole != strings.Repeat("ö", longestLine) {
		t.Error("a line without end was not cut between characters")
	}
}
