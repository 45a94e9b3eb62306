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

// paint puts text in the colour of a legend entry.
func paint(colour bool, legend int, text string) string {
	if !colour || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[30;48;5;%dm%s\x1b[0m", palette[legend%len(palette)].terminal, text)
}

func paintOverlap(colour bool, text string) string {
	if !colour || text == "" {
		return text
	}
	return "\x1b[1;97;41m" + text + "\x1b[0m"
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
		fmt.Fprintf(&b, "%*s", label, "offset")
		for i := 0; i < p.BytesPerRow; i += 8 {
			fmt.Fprintf(&b, " %-8s", strconv.Itoa(i))
		}
		trimEnd(&b)
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

// trimEnd ends the line without blanks before its end.
func trimEnd(b *strings.Builder) {
	s := strings.TrimRight(b.String(), " ")
	b.Reset()
	b.WriteString(s)
	b.WriteByte('\n')
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
		switch first.Kind {
		case CellData:
			row.WriteString(paint(colour, first.Legend, text.String()))
		case CellOverlap:
			row.WriteString(paintOverlap(colour, text.String()))
		default:
			row.WriteString(text.String())
		}
	}
	b.WriteString(strings.TrimRight(row.String(), " "))
	b.WriteByte('\n')
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
	rows := view.Plural(l.Rows, "row")
	switch l.Kind {
	case LineSame:
		return fmt.Sprintf("%s (%s) like the one above", rows, size)
	case LineEmpty:
		return fmt.Sprintf("%s (%s) in which nothing is selected", rows, size)
	case LineElided:
		if l.Data < 0 {
			return fmt.Sprintf("%s (%s) not drawn", rows, size)
		}
		return fmt.Sprintf("%s (%s, %s of data) not drawn", rows, size, view.ByteCount(l.Data))
	default:
		return ""
	}
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
			b.WriteString(paintOverlap(colour, "#"))
		default:
			l := p.Legend[c.Legend].Letter
			if c.Used*2 < p.OverviewBytes && l != '?' {
				l += 'a' - 'A'
			}
			b.WriteString(paint(colour, c.Legend, string(l)))
		}
	}
	fmt.Fprintf(b, "\n%*s one letter for %s from %s on, small where less than half is data\n",
		label, "", view.ByteCount(p.OverviewBytes), view.Grouped(p.From))
}

func (p *Picture) legendText(b *strings.Builder, colour bool) {
	for i, e := range p.Legend {
		letters := string(e.Letter)
		if e.Letter != '?' {
			letters += strings.ToLower(letters)
		}
		fmt.Fprintf(b, "%s %s, %s\n", paint(colour, i, letters), e.Type.Title(), view.ByteCount(e.Bytes))
	}
	notes := p.notes()
	if len(notes) > 0 {
		b.WriteString(strings.Join(notes, "\n") + "\n")
	}
}

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

// notes explains the marks that the picture has.
func (p *Picture) notes() []string {
	seen := p.kinds()
	var out []string
	if len(p.Legend) > 0 {
		out = append(out, "A value begins at its capital letter.")
	}
	if seen[CellGap] {
		out = append(out, ".  gap between data")
	}
	if seen[CellPadding] {
		out = append(out, "-  within lb and ub, but before or after all data")
	}
	if p.Overlaps {
		out = append(out, fmt.Sprintf("#  selected more than once, first at offset %d: a receive into such memory is "+
			"an error", p.FirstOverlap))
	}
	if !p.Complete {
		out = append(out, "The elements are so interleaved that drawing them would take too long.")
	}
	return out
}
