package picture

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// rowWidth is the number of bytes of a row that fit into width columns beside labels of so many characters: a power of
// two, 8 to 128.
func rowWidth(width, label int) int {
	n := 128
	for n > 8 && label+1+n+n/8-1 > width {
		n /= 2
	}
	return n
}

// ForWidth is NewPicture with as many bytes in a row as fit into width columns (0: 80) of text.
func ForWidth(t *datatype.Type, name string, count int64, width int) (*Picture, error) {
	if width <= 0 {
		width = 80
	}
	draw := func(label int) (*Picture, error) {
		return New(t, name, count,
			Options{BytesPerRow: rowWidth(width, label), Overview: max(min(width-label-1, overviewCells), 8)})
	}
	p, err := draw(labelWidth(0, 0))
	if err != nil {
		return nil, err
	}
	// only now it is known how much room the offsets take
	if label := labelWidth(p.From, p.To); label > labelWidth(0, 0) {
		return draw(label)
	}
	return p, nil
}

func labelWidth(from, to int64) int {
	return max(len(strconv.FormatInt(from, 10)), len(strconv.FormatInt(to, 10)), len("offset"))
}

// colours of basic types: numbers of the 256 colours of terminals, and the same for SVG.
var palette = []struct {
	terminal int
	svg      string
}{
	{153, "#afd7ff"},
	{157, "#afffaf"},
	{222, "#ffd787"},
	{219, "#ffafff"},
	{229, "#ffffaf"},
	{159, "#afffff"},
	{216, "#ffaf87"},
	{183, "#d7afff"},
	{193, "#d7ffaf"},
	{252, "#d0d0d0"},
}

// coloured puts text in the colour of a legend entry, or that of what is selected twice.
func coloured(colour bool, kind CellKind, legend int, text string) string {
	switch {
	case !colour || text == "":
		return text
	case kind == CellData:
		return fmt.Sprintf("\x1b[30;48;5;%dm%s\x1b[0m", palette[legend%len(palette)].terminal, text)
	case kind == CellOverlap:
		return "\x1b[1;97;41m" + text + "\x1b[0m"
	}
	return text
}

// Text draws the picture in columns of text; colour adds ANSI colours to what the letters say.
func (p *Picture) Text(w io.Writer, colour bool) error {
	var b strings.Builder
	b.WriteString(p.Head())
	if len(p.Lines) > 0 {
		label := labelWidth(p.From, p.To)
		if len(p.Overview) > 0 {
			p.overviewText(&b, label, colour)
		}
		ruler := fmt.Sprintf("%*s", label, "offset")
		for i := 0; i < p.BytesPerRow; i += 8 {
			ruler += fmt.Sprintf(" %-8d", i)
		}
		b.WriteString(strings.TrimRight(ruler, " ") + "\n")
		for i := range p.Lines {
			p.line(&b, &p.Lines[i], label, colour)
		}
		p.legendText(&b, colour)
	}
	return view.Write(w, "%s", b.String())
}

// Head says what the picture is of, without the picture.
func (p *Picture) Head() string {
	what := p.Title
	if p.Count != 1 {
		what = fmt.Sprintf("%d × %s", p.Count, p.Title)
	}
	if p.Name != "" && p.Name != p.Title {
		what = p.Name + ": " + what
	}
	f := p.Figures
	return fmt.Sprintf("%s, %s of data\nlb %d, ub %d, extent %d; true lb %d, true extent %d\n",
		what, view.ByteCount(p.Size), f.LB, f.UB(), f.Extent, f.TrueLB, f.TrueExtent)
}

// line writes one line, cells in groups of eight.
func (p *Picture) line(b *strings.Builder, l *Line, label int, colour bool) {
	if l.Kind != LineBytes {
		fmt.Fprintf(b, "%*s %s\n", label, "⋮", l.remark(p.BytesPerRow))
		return
	}
	var row strings.Builder
	fmt.Fprintf(&row, "%*d", label, l.Offset)
	for i := 0; i < len(l.Cells); {
		if i%8 == 0 {
			row.WriteByte(' ')
		}
		var text strings.Builder
		first := l.Cells[i]
		for {
			text.WriteByte(p.letter(l.Cells[i]))
			i++
			if i == len(l.Cells) || i%8 == 0 || !sameColour(first, l.Cells[i]) {
				break
			}
		}
		row.WriteString(coloured(colour, first.Kind, first.Legend, text.String()))
	}
	b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
}

func sameColour(a, b Cell) bool {
	return a.Kind == b.Kind && (a.Kind != CellData || a.Legend == b.Legend)
}

// letter stands for one byte: capital where a value begins.
func (p *Picture) letter(c Cell) byte {
	switch c.Kind {
	case CellPadding:
		return '-'
	case CellGap:
		return '.'
	case CellOverlap:
		return '#'
	case CellData:
		if l := p.Legend[c.Legend].Letter; c.Start || l == '?' {
			return l
		}
		return p.Legend[c.Legend].Letter + 'a' - 'A'
	default:
		return ' '
	}
}

// remark says what a line stands for that is not drawn.
func (l *Line) remark(perRow int) string {
	size := view.ByteCount(datatype.SatMul(l.Rows, int64(perRow)))
	if l.Kind == LineElided && l.Data >= 0 {
		size += ", " + view.ByteCount(l.Data) + " of data"
	}
	what := map[LineKind]string{
		LineSame: "like the one above", LineEmpty: "in which nothing is selected", LineElided: "not drawn",
	}[l.Kind]
	return fmt.Sprintf("%s (%s) %s", view.Plural(l.Rows, "row"), size, what)
}

// overviewText draws the whole in one line: a capital where at least half of the bytes are data, a small letter where
// less.
func (p *Picture) overviewText(b *strings.Builder, label int, colour bool) {
	fmt.Fprintf(b, "%*s ", label, "all")
	for _, c := range p.Overview {
		switch {
		case c.Used == 0:
			b.WriteByte('.')
		case c.Used > p.OverviewBytes:
			b.WriteString(coloured(colour, CellOverlap, 0, "#"))
		default:
			l := p.Legend[c.Legend].Letter
			if c.Used*2 < p.OverviewBytes && l != '?' {
				l += 'a' - 'A'
			}
			b.WriteString(coloured(colour, CellData, c.Legend, string(l)))
		}
	}
	fmt.Fprintf(b, "\n%*s one letter for %s from %s on, small where less than half is data\n",
		label, "", view.ByteCount(p.OverviewBytes), view.Grouped(p.From))
}

// legendText explains the letters and marks that the picture has.
func (p *Picture) legendText(b *strings.Builder, colour bool) {
	for i, e := range p.Legend {
		letters := string(e.Letter)
		if e.Letter != '?' {
			letters += strings.ToLower(letters)
		}
		fmt.Fprintf(b, "%s %s, %s\n", coloured(colour, CellData, i, letters), e.Type.Title(), view.ByteCount(e.Bytes))
	}
	if len(p.Legend) > 0 {
		b.WriteString("A value begins at its capital letter.\n")
	}
	seen := p.kinds()
	if seen[CellGap] {
		b.WriteString(".  " + noteGap + "\n")
	}
	if seen[CellPadding] {
		b.WriteString("-  " + notePadding + "\n")
	}
	if p.Overlaps {
		fmt.Fprintf(b, "#  selected more than once, first at offset %d: a receive into such memory is an error\n",
			p.FirstOverlap)
	}
	if !p.Complete {
		b.WriteString(noteIncomplete + "\n")
	}
}

const (
	noteGap        = "gap between data"
	notePadding    = "within lb and ub, but before or after all data"
	noteIncomplete = "The elements are so interleaved that drawing them would take too long."
)

// kinds are those of the bytes that are drawn.
func (p *Picture) kinds() map[CellKind]bool {
	seen := map[CellKind]bool{}
	for _, l := range p.Lines {
		for _, c := range l.Cells {
			seen[c.Kind] = true
		}
	}
	return seen
}
