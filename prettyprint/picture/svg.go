package picture

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Measures of an SVG picture in pixels.
const (
	svgCell   = 12
	svgRow    = 18
	svgPitch  = 24 // from one row to the next
	svgLabel  = 130
	svgMargin = 16
	svgGroup  = 4 // between groups of eight bytes
)

var svgText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\x00", "?")

// svgSafe is text that XML can hold: it has no control characters.
func svgSafe(s string) string {
	return svgText.Replace(strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0xfffe || r == 0xffff {
			return '?'
		}
		return r
	}, s))
}

// SVG draws the picture as a self-contained SVG document: a row of memory is a row of bytes, a value one rectangle in
// the colour of its basic type, with its offset as a tooltip.
func (p *Picture) SVG(w io.Writer) error {
	d := svgDrawing{p: p}
	d.draw()
	width := svgLabel + p.x(max(p.BytesPerRow, len(p.Overview))) + svgMargin
	return view.Write(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d"
  font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12">
<title>%s</title>
<defs><pattern id="overlap" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="6" height="6" fill="#ff8080"/><rect width="3" height="6" fill="#d00000"/></pattern></defs>
<rect width="100%%" height="100%%" fill="#ffffff"/>
%s</svg>
`, width, d.y+svgMargin, width, d.y+svgMargin,
		svgSafe(strings.ReplaceAll(strings.TrimSpace(p.Head()), "\n", "; ")), d.b.String())
}

// x is where byte i of a row begins, from the end of the label on.
func (p *Picture) x(i int) int { return i*svgCell + i/8*svgGroup }

type svgDrawing struct {
	p *Picture
	b strings.Builder
	y int // where the next line begins
}

const grey = ` fill="#606060"`

func (d *svgDrawing) text(x int, anchor, style, s string) {
	fmt.Fprintf(&d.b, `<text x="%d" y="%d" text-anchor="%s"%s>%s</text>`+"\n", x, d.y+svgRow-5, anchor, style,
		svgSafe(s))
}

func (d *svgDrawing) label(s string) { d.text(svgLabel-8, "end", grey, s) }

// paint is how a rectangle is filled and drawn round.
type paint struct{ fill, stroke string }

var (
	paintGap     = paint{"#f4f4f4", "#dddddd"}
	paintPadding = paint{"#ffffff", "#dddddd"}
	paintOverlap = paint{"url(#overlap)", "#800000"}
)

// paintOf is that of a legend entry.
func paintOf(legend int) paint { return paint{palette[legend%len(palette)].svg, "#404040"} }

func (d *svgDrawing) rect(x, width int, c paint, title string) {
	if title != "" {
		title = "<title>" + svgSafe(title) + "</title>"
	}
	fmt.Fprintf(&d.b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s" stroke="%s">%s</rect>`+"\n", svgLabel+x,
		d.y, width, svgRow, c.fill, c.stroke, title)
}

func (d *svgDrawing) draw() {
	d.y = svgMargin
	head, rest, _ := strings.Cut(strings.TrimSpace(d.p.Head()), "\n")
	d.text(svgMargin, "start", ` font-weight="bold" font-size="14"`, head)
	d.y += svgPitch
	d.text(svgMargin, "start", "", rest)
	d.y += svgPitch + 4
	if len(d.p.Lines) == 0 {
		return
	}
	d.overview()
	d.label("offset")
	for i := 0; i < d.p.BytesPerRow; i += 8 {
		d.text(svgLabel+d.p.x(i), "start", grey, strconv.Itoa(i))
	}
	d.y += svgPitch
	for i := range d.p.Lines {
		d.line(&d.p.Lines[i])
	}
	d.y += 8
	d.legend()
}

func (d *svgDrawing) overview() {
	p := d.p
	if len(p.Overview) == 0 {
		return
	}
	d.label("all")
	for i, c := range p.Overview {
		d.rect(p.x(i), svgCell, paintGap, "")
		if c.Used == 0 {
			continue
		}
		fill, share := paintOf(c.Legend).fill, min(100*c.Used/max(p.OverviewBytes, 1), 100)
		if c.Used > p.OverviewBytes {
			fill = paintOverlap.fill
		}
		h := max(int(share)*svgRow/100, 2)
		fmt.Fprintf(&d.b,
			`<rect x="%d" y="%d" width="%d" height="%d" fill="%s"><title>offset %s: %d %% data</title></rect>`+"\n",
			svgLabel+p.x(i), d.y+svgRow-h, svgCell, h, fill, view.Grouped(p.From+int64(i)*p.OverviewBytes), share)
	}
	d.y += svgPitch
	d.text(svgLabel, "start", grey, fmt.Sprintf("each box is %s from %s on, filled as far as it is data",
		view.ByteCount(p.OverviewBytes), view.Grouped(p.From)))
	d.y += svgPitch + 4
}

// line draws one row: neighbouring bytes of one value, or of one gap, are one rectangle as far as a group of eight
// goes.
func (d *svgDrawing) line(l *Line) {
	d.label(strconv.FormatInt(l.Offset, 10))
	if l.Kind == LineBytes {
		d.cells(l, false)
		d.cells(l, true) // over the borders of what is empty
	} else {
		d.text(svgLabel, "start", grey+` font-style="italic"`, "⋮ "+l.remark(d.p.BytesPerRow))
	}
	d.y += svgPitch
}

// cells draws what is selected in a row, or what is not.
func (d *svgDrawing) cells(l *Line, selected bool) {
	p := d.p
	var j int
	for i := 0; i < len(l.Cells); i = j {
		c := l.Cells[i]
		for j = i + 1; j < len(l.Cells) && (j%8 != 0 || c.Kind == CellData) && c.continues(l.Cells[j]); {
			j++
		}
		if (c.Kind == CellData || c.Kind == CellOverlap) != selected {
			continue
		}
		x, width := p.x(i), p.x(j-1)+svgCell-p.x(i)
		at := view.Grouped(l.Offset + int64(i))
		switch c.Kind {
		case CellData:
			e := p.Legend[c.Legend]
			d.rect(x, width, paintOf(c.Legend), e.Type.Title()+" at offset "+at)
			if c.Start {
				fmt.Fprintf(&d.b, `<text x="%d" y="%d" font-size="10">%c</text>`+"\n", svgLabel+x+3, d.y+svgRow-5,
					e.Letter)
			}
		case CellOverlap:
			d.rect(x, width, paintOverlap, "selected more than once, from offset "+at)
		case CellGap:
			d.rect(x, width, paintGap, fmt.Sprintf("gap, %s from offset %s", view.ByteCount(int64(j-i)), at))
		case CellPadding:
			d.rect(x, width, paintPadding, "within the bounds, before or after all data")
		default:
		}
	}
}

// continues reports whether next belongs to the same rectangle as c.
func (c Cell) continues(next Cell) bool {
	if c.Kind != CellData {
		return next.Kind == c.Kind
	}
	return next.Kind == CellData && next.Legend == c.Legend && !next.Start
}

func (d *svgDrawing) legend() {
	p := d.p
	entry := func(c paint, text string) {
		d.rect(0, 4*svgCell, c, "")
		d.text(svgLabel+5*svgCell, "start", "", text)
		d.y += svgPitch
	}
	for i, e := range p.Legend {
		entry(paintOf(i), fmt.Sprintf("%c  %s, %s", e.Letter, e.Type.Title(), view.ByteCount(e.Bytes)))
	}
	seen := p.kinds()
	if seen[CellGap] {
		entry(paintGap, noteGap)
	}
	if seen[CellPadding] {
		entry(paintPadding, notePadding)
	}
	if p.Overlaps {
		entry(paintOverlap, "selected more than once, first at offset "+view.Grouped(p.FirstOverlap))
	}
	if !p.Complete {
		d.text(svgLabel, "start", ` fill="#d00000"`, noteIncomplete)
		d.y += svgPitch
	}
}
