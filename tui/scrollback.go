package tui

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/klauspost/compress/zstd"
)

// Bounds of a scrollback, in bytes.
const (
	// mostPacked is what the packed lines may take; the oldest go first, and the pane says so. Some ten times as much
	// text fits in.
	mostPacked = 16 << 20
	blockSize  = 128 << 10
	// longestLine is where a line without end is cut.
	longestLine = 64 << 10
)

// kinds are what lines can be. A line begins with the number of its kind.
var kinds = []string{"stdout", "stderr", "console", "important", "input", "error"}

// scrollback is the text of a pane that grows at its end, and the place in it that is shown. Lines are numbered from 0,
// whether or not they are still there. What adding and showing cost does not depend on how many there are.
type scrollback struct {
	block   int     // how much text is packed at once, and unpacked to look at a line of it, in bytes
	blocks  []block // ascending
	packed  int     // bytes of all blocks
	recent  [][]byte
	size    int // bytes of recent
	first   int // number of the first line of recent
	partial []outputLine

	opened   int      // which block was looked at last, by its first line; -1: none
	unpacked [][]byte // its lines

	// bottom is what the last row of the pane shows, while following is false; else it shows the end.
	bottom    place
	following bool

	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// block is packed lines.
type block struct {
	first, lines int
	data         []byte
}

// place is a row of the text as it is shown: lines that are too long for the pane have several.
type place struct{ line, row int }

// outputLine is a line of the ranks, the debugger or the console.
type outputLine struct{ text, kind string }

func newScrollback() *scrollback {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(blockSize), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(fmt.Sprintf("the options of zstd are wrong: %v", err))
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(fmt.Sprintf("the options of zstd are wrong: %v", err))
	}
	return &scrollback{block: blockSize, opened: -1, following: true, encoder: encoder, decoder: decoder}
}

// write adds text; lines end with a newline, and what comes behind the last one is the beginning of one.
func (s *scrollback) write(kind, text string) {
	at := slices.IndexFunc(s.partial, func(p outputLine) bool { return p.kind == kind })
	if at >= 0 {
		text = s.partial[at].text + text
		s.partial = slices.Delete(s.partial, at, at+1)
	}
	for {
		line, rest, whole := strings.Cut(text, "\n")
		if !whole {
			break
		}
		s.add(kind, line)
		text = rest
	}
	for len(text) > longestLine {
		n := longestLine
		for n > longestLine-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		s.add(kind, text[:n])
		text = text[n:]
	}
	if text != "" {
		s.partial = append(s.partial, outputLine{strings.Clone(text), kind})
	}
}

// add adds a line.
func (s *scrollback) add(kind, text string) {
	line := append(make([]byte, 0, len(text)+1), byte(max(0, slices.Index(kinds, kind))))
	line = append(line, text...)
	s.recent = append(s.recent, line)
	if s.size += len(line); s.size >= 2*s.block { // what is near the end is not packed
		s.pack()
	}
}

// pack packs the first lines of recent, and forgets the oldest blocks if there are too many.
func (s *scrollback) pack() {
	n, size := 0, 0
	for ; size < s.block; n++ {
		size += len(s.recent[n])
	}
	data := s.encoder.EncodeAll(bytes.Join(s.recent[:n], []byte{'\n'}), nil)
	s.blocks = append(s.blocks, block{s.first, n, data})
	s.packed += len(data)
	s.recent = slices.Delete(s.recent, 0, n)
	s.size -= size
	s.first += n
	for s.packed > mostPacked {
		s.packed -= len(s.blocks[0].data)
		s.blocks = slices.Delete(s.blocks, 0, 1)
	}
}

// begin is the number of the first line that is there.
func (s *scrollback) begin() int {
	if len(s.blocks) > 0 {
		return s.blocks[0].first
	}
	return s.first
}

// end is the number after the last, beginnings of lines included.
func (s *scrollback) end() int { return s.first + len(s.recent) + len(s.partial) }

// line is the line of a number from begin, or one before that, which says how many are missing.
func (s *scrollback) line(n int) outputLine {
	var raw []byte
	switch {
	case n < s.begin():
		return outputLine{fmt.Sprintf("(%d earlier lines are not kept)", s.begin()), "missing"}
	case n >= s.first+len(s.recent):
		return s.partial[n-s.first-len(s.recent)]
	case n >= s.first:
		raw = s.recent[n-s.first]
	default:
		at, found := slices.BinarySearchFunc(s.blocks, n, func(b block, n int) int { return b.first - n })
		if !found {
			at--
		}
		b := s.blocks[at]
		if s.opened != b.first {
			data, err := s.decoder.DecodeAll(b.data, nil)
			if err != nil {
				return outputLine{fmt.Sprintf("(this line cannot be unpacked: %v)", err), "error"}
			}
			s.opened, s.unpacked = b.first, bytes.Split(data, []byte{'\n'})
		}
		raw = s.unpacked[n-b.first]
	}
	return outputLine{string(raw[1:]), kinds[raw[0]]}
}

// top is the number of the first line that can be seen: the one that says what is missing, if anything is.
func (s *scrollback) top() int { return max(0, s.begin()-1) }

// rows are what the line of a number takes on the screen.
func (s *scrollback) rows(n, width int) []string {
	l := s.line(n)
	rows := hardWrap([]string{printable(l.text)}, width)
	if style, ok := kindStyles[l.kind]; ok {
		for i, r := range rows {
			rows[i] = style.Render(r)
		}
	}
	return rows
}

var kindStyles = map[string]lipgloss.Style{
	"stderr": styleError, "error": styleError, "console": styleMark, "important": styleMark, "input": styleTitle,
	"missing": styleDim,
}

// last is the last row of the text. There must be one.
func (s *scrollback) last(width int) place {
	n := s.end() - 1
	return place{n, len(s.rows(n, width)) - 1}
}

// place is what the last row of the pane shows. There must be text.
func (s *scrollback) place(width int) place {
	if s.following {
		return s.last(width)
	}
	line := max(s.bottom.line, s.top())
	return place{line, min(s.bottom.row, len(s.rows(line, width))-1)}
}

// draw gives at most so many rows: those that end at the place that is shown.
func (s *scrollback) draw(rows, width int) []string {
	if s.end() == 0 || rows <= 0 {
		return nil
	}
	at := s.place(width)
	out := s.rows(at.line, width)[:at.row+1]
	for n := at.line - 1; n >= s.top() && len(out) < rows; n-- {
		out = append(s.rows(n, width), out...)
	}
	for len(out) < rows && s.scroll(1, width) { // the beginning is in sight: the pane is filled all the same
		at := s.place(width)
		out = append(out, s.rows(at.line, width)[at.row])
	}
	return out[max(0, len(out)-rows):]
}

// far is a movement to the beginning or the end.
const far = 1 << 30

// scroll moves by some rows, towards the end or, by less than 0, the beginning, and tells whether it did.
func (s *scrollback) scroll(by, width int) (moved bool) {
	if s.end() == 0 {
		return false
	}
	first, last, from := place{s.top(), 0}, s.last(width), s.place(width)
	at := from
	switch {
	case by <= -far:
		at = first
	case by >= far:
		at = last
	}
	for ; by < 0 && at != first; by++ {
		if at.row--; at.row < 0 {
			at.line--
			at.row = len(s.rows(at.line, width)) - 1
		}
	}
	for ; by > 0 && at != last; by-- {
		if at.row++; at.row == len(s.rows(at.line, width)) {
			at = place{at.line + 1, 0}
		}
	}
	s.bottom, s.following = at, at == last
	return at != from
}
