// Package picture draws the memory that a datatype selects, as text or SVG, at a cost of what it shows, not of what the
// type expands to.
package picture

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
)

// Picture is the memory that instances of a datatype select, byte by byte, ready to be drawn as text or SVG. Rows that
// say nothing new are counted instead of drawn, and of a type that is larger than the picture its beginning and its end
// are drawn, with an overview of the whole: a type of 10^5 blocks costs as much as what is drawn of it.
type Picture struct {
	Name     string // the user's expression
	Title    string // what it is
	Count    int64  // instances
	Figures  datatype.Figures
	Size     int64 // bytes of data of all instances
	From, To int64 // offsets that the picture spans: the bounds and the data of all instances

	BytesPerRow   int
	Lines         []Line
	Overview      []OverviewCell // empty if the lines show everything
	OverviewBytes int64          // of one cell
	Legend        []LegendEntry
	FirstOverlap  int64 // offset of the first byte drawn that is selected more than once, if Overlaps
	Overlaps      bool
	Complete      bool // false: the type is so interleaved that no row of it could be drawn in reasonable time

	t          *datatype.Type
	data       datatype.Hull // what lies between the first and the last byte of data
	bounds     datatype.Hull // lb to ub of all instances
	legendAt   map[string]int
	budget     int64
	cellsOfAll int // in the overview
	scan       int // rows that may still be looked at
}

// LineKind tells the lines of a picture apart.
type LineKind int

// The kinds of lines.
const (
	LineBytes  LineKind = iota // one row of memory
	LineSame                   // Rows rows like the one before
	LineEmpty                  // Rows rows in which nothing is selected
	LineElided                 // Rows rows that are not drawn
)

// Line is one line of a picture.
type Line struct {
	Kind   LineKind
	Offset int64 // of its first byte
	Cells  []Cell
	Rows   int64 // that the line stands for
	Data   int64 // bytes of data in rows that are not drawn; -1 not known
}

// CellKind says what a byte is to the datatype.
type CellKind uint8

// The kinds of bytes.
const (
	CellOutside CellKind = iota // not between the bounds, and not selected
	CellPadding                 // between the bounds, before or after all data
	CellGap                     // between data
	CellData
	CellOverlap // selected more than once
)

// Cell is one byte.
type Cell struct {
	Kind   CellKind
	Legend int  // of data
	Start  bool // a value begins here
}

// OverviewCell is a piece of the whole.
type OverviewCell struct {
	Used   int64 // bytes of data
	Legend int   // most of them are of this type
	Mixed  bool  // and others of another
}

// LegendEntry is a basic type in a picture.
type LegendEntry struct {
	Letter byte
	Type   *datatype.Type
	Bytes  int64 // of all instances
}

// Options say how large a picture may be.
type Options struct {
	BytesPerRow int // 0: 64
	MaxLines    int // 0: 24
	Overview    int // cells of the overview; 0: 64
}

const (
	pictureBudget = 4 << 20 // steps of walks through the type: a fraction of a second
	pictureScan   = 4096
	overviewCells = 64
)

// New draws count instances of t side by side. name is the user's word for the type.
func New(t *datatype.Type, name string, count int64, opt Options) (*Picture, error) {
	if err := t.Check(count, "picture"); err != nil {
		return nil, err
	}
	opt.BytesPerRow, opt.Overview = cmp.Or(opt.BytesPerRow, 64), cmp.Or(opt.Overview, overviewCells)
	p := &Picture{
		Name: name, Title: t.Title(), Count: count, Figures: t.Figures, Size: count * t.Figures.Size,
		BytesPerRow: opt.BytesPerRow, Complete: true, t: t, legendAt: map[string]int{}, budget: pictureBudget / 2,
		scan: pictureScan, cellsOfAll: opt.Overview,
	}
	var c datatype.Calc
	last := c.Mul(max(count-1, 0), p.Figures.Extent)
	c.Add(c.Add(last, p.Figures.LB), p.Figures.Extent)
	if t.Elements > 0 { // Open MPI's true bounds of a type without data are no offsets
		c.Add(last, t.Hull().To)
		c.Add(last, t.Hull().From)
	}
	if c.Bad {
		return nil, fault.Errorf(fault.TooLarge, 0, "%d instances of the datatype %s span more than 2^62 bytes.", count,
			t.Title())
	}
	p.span(last)
	p.makeLegend()
	if p.From < p.To {
		p.makeLines(max(cmp.Or(opt.MaxLines, 24), 4))
		p.makeOverview()
	}
	return p, nil
}

// span finds what the picture has to show; the last instance lies at the offset last.
func (p *Picture) span(last int64) {
	if p.Count == 0 {
		return
	}
	f := p.Figures
	lo, hi := min(f.LB, f.UB()), max(f.LB, f.UB()) // the extent may be negative
	p.bounds = datatype.Hull{From: lo, To: hi}.Union(datatype.Hull{From: lo + last, To: hi + last})
	p.From, p.To = p.bounds.From, p.bounds.To
	if p.t.Elements > 0 {
		h := p.t.Hull()
		p.data = h.Union(h.Moved(last))
		p.From, p.To = min(p.From, p.data.From), max(p.To, p.data.To)
	}
}

// makeLegend gives each basic type a letter of its own, of its name if there is one left; after 26 they are '?'.
func (p *Picture) makeLegend() {
	var used [128]bool
	for i, m := range p.t.Mix() {
		e := LegendEntry{'?', m.Leaf, datatype.SatMul(m.Bytes, p.Count)}
		name := strings.ToUpper(strings.TrimPrefix(m.Leaf.Title(), "MPI_"))
		for _, c := range []byte(name + "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			if c >= 'A' && c <= 'Z' && !used[c] {
				e.Letter, used[c] = c, true
				break
			}
		}
		p.Legend = append(p.Legend, e)
		p.legendAt[m.Leaf.BasicKey()] = i
	}
}

// row is the offset at which the row of a byte begins: rows are aligned.
func (p *Picture) row(offset int64) int64 {
	b := int64(p.BytesPerRow)
	return datatype.FloorDiv(offset, b) * b
}

// cells draws one row, and reports whether anything in it is selected. ok is false if that takes too long.
func (p *Picture) cells(row int64) (cells []Cell, used, ok bool) {
	cells = make([]Cell, p.BytesPerRow)
	for i := range cells {
		switch at := row + int64(i); {
		case at >= p.data.From && at < p.data.To:
			cells[i].Kind = CellGap
		case at >= p.bounds.From && at < p.bounds.To:
			cells[i].Kind = CellPadding
		}
	}
	w := datatype.Hull{From: max(row, p.data.From), To: min(row+int64(p.BytesPerRow), p.data.To)}
	if w.From >= w.To {
		return cells, false, true
	}
	single := w.To - w.From // bytes that are not yet selected twice
	win := datatype.Window{Hull: w, Budget: &p.budget, Each: func(q datatype.Piece) bool {
		used = true
		legend := p.legendAt[q.Leaf.BasicKey()]
		for at := max(q.From, w.From); at < min(q.To, w.To); at++ {
			c := &cells[at-row]
			switch {
			case c.Kind == CellGap && q.Copies == 1:
				*c = Cell{CellData, legend, at == q.From}
			case c.Kind != CellOverlap:
				single--
				if !p.Overlaps || at < p.FirstOverlap {
					p.Overlaps, p.FirstOverlap = true, at
				}
				*c = Cell{CellOverlap, legend, c.Start || at == q.From}
			}
		}
		return single > 0
	}}
	win.WalkRow(p.t, p.Count)
	return cells, used, p.budget >= 0
}

// makeLines draws from the beginning, and if that does not end within most lines, the rest from the end.
func (p *Picture) makeLines(most int) {
	end := p.row(p.To-1) + int64(p.BytesPerRow)
	at := p.row(p.From)
	for at < end && len(p.Lines) <= most && p.scan > 0 {
		next, ok := p.forward(at, end)
		if !ok {
			break
		}
		at = next
	}
	if at >= end {
		return
	}
	if head := most * 2 / 3; len(p.Lines) > head {
		at = p.Lines[head].Offset
		p.Lines = p.Lines[:head]
	}
	p.budget = pictureBudget / 2
	tail, from := p.backward(at, end, most/3)
	if from > at {
		p.Lines = append(p.Lines, Line{
			Kind: LineElided, Offset: at, Rows: (from - at) / int64(p.BytesPerRow),
			Data: p.dataIn(datatype.Hull{From: at, To: from}),
		})
	}
	for _, l := range slices.Backward(tail) {
		p.add(l)
	}
	p.Complete = slices.ContainsFunc(p.Lines, func(l Line) bool { return l.Kind != LineElided })
}

// add adds a line; rows that are like the one before them are counted, but for a single one: it says as much as a
// remark.
func (p *Picture) add(l Line) {
	n := len(p.Lines)
	like := func(i int, kind LineKind) bool {
		return i >= 0 && p.Lines[i].Kind == kind && slices.Equal(p.Lines[i].Cells, l.Cells)
	}
	switch {
	case l.Kind == LineBytes && like(n-1, LineSame):
		p.Lines[n-1].Rows++
	case l.Kind == LineBytes && like(n-1, LineBytes) && like(n-2, LineBytes):
		p.Lines[n-1].Kind, p.Lines[n-1].Rows = LineSame, 2
	default:
		p.Lines = append(p.Lines, l)
	}
}

// dataIn is how many bytes of data lie within h, or -1.
func (p *Picture) dataIn(h datatype.Hull) int64 {
	budget, data := int64(1<<20), int64(0)
	list, ok := p.t.Tally(h, p.Count, &budget)
	if !ok {
		return -1
	}
	for _, s := range list {
		data = datatype.SatAdd(data, s.Bytes)
	}
	return data
}

// forward adds the line at the offset at, and returns where the next one begins. ok is false, and no line was added, if
// that would take too long.
func (p *Picture) forward(at, end int64) (next int64, ok bool) {
	step := int64(p.BytesPerRow)
	p.scan--
	cells, used, ok := p.cells(at)
	if !ok {
		return at, false
	}
	if !used {
		if next, ok = p.t.NextUsed(at, end, p.Count, &p.budget); !ok {
			return at, false
		}
		if next < end {
			next = p.row(next)
		}
		if next > at+step {
			p.Lines = append(p.Lines, Line{Kind: LineEmpty, Offset: at, Rows: (next - at) / step})
			return next, true
		}
	}
	p.add(Line{Kind: LineBytes, Offset: at, Cells: cells, Rows: 1})
	if at += step; !used {
		return at, true
	}
	for ; at < end && p.scan > 0; at += step {
		p.scan--
		if more, _, ok := p.cells(at); !ok || !slices.Equal(more, cells) {
			break
		}
		p.add(Line{Kind: LineBytes, Offset: at, Cells: cells, Rows: 1})
	}
	return at, true
}

// backward draws at most n lines before end, none of them before start, the last one first. It returns where the first
// begins.
func (p *Picture) backward(start, end int64, n int) (lines []Line, from int64) {
	step := int64(p.BytesPerRow)
	for from = end; from > start && len(lines) < n; {
		cells, used, ok := p.cells(from - step)
		if !ok {
			break
		}
		if !used {
			last, ok := p.t.LastUsed(start, from, p.Count, &p.budget)
			if !ok {
				break
			}
			if next := max(p.row(last)+step, start); next < from-step {
				lines = append(lines, Line{Kind: LineEmpty, Offset: next, Rows: (from - next) / step})
				from = next
				continue
			}
		}
		from -= step
		lines = append(lines, Line{Kind: LineBytes, Offset: from, Cells: cells, Rows: 1})
	}
	return lines, from
}

// makeOverview draws the whole in one line if the lines leave something out.
func (p *Picture) makeOverview() {
	if !slices.ContainsFunc(p.Lines, func(l Line) bool { return l.Kind != LineBytes }) {
		return
	}
	n := int64(p.cellsOfAll)
	p.OverviewBytes = (p.To - p.From + n - 1) / n
	budget := int64(1 << 21)
	for at := p.From; at < p.To; at += p.OverviewBytes {
		list, ok := p.t.Tally(datatype.Hull{From: at, To: min(at+p.OverviewBytes, p.To)}, p.Count, &budget)
		if !ok {
			p.Overview = nil
			return
		}
		c, most := OverviewCell{Mixed: len(list) > 1}, int64(-1)
		for _, s := range list {
			c.Used = datatype.SatAdd(c.Used, s.Bytes)
			if s.Bytes > most {
				most, c.Legend = s.Bytes, p.legendAt[s.Leaf.BasicKey()]
			}
		}
		p.Overview = append(p.Overview, c)
	}
}
