package prettyprint

import "slices"

// Picture is the memory that instances of a datatype select, byte by byte, ready to be drawn as text or SVG. Rows that
// say nothing new are counted instead of drawn, and of a type that is larger than the picture its beginning and its end
// are drawn, with an overview of the whole: a type of 10^5 blocks costs as much as what is drawn of it.
type Picture struct {
	Name     string // the user's expression
	Title    string // what it is
	Count    int64  // instances
	Figures  Figures
	Size     int64 // bytes of data of all instances
	From, To int64 // offsets that the picture spans: the bounds and the data of all instances

	BytesPerRow   int
	Lines         []PictureLine
	Overview      []OverviewCell // empty if the lines show everything
	OverviewBytes int64          // of one cell
	Legend        []LegendEntry
	FirstOverlap  int64 // offset of the first byte drawn that is selected more than once, if Overlaps
	Overlaps      bool
	Complete      bool // false: the type is so interleaved that no row of it could be drawn in reasonable time

	t          *Datatype
	data       hull // what lies between the first and the last byte of data
	bounds     hull // lb to ub of all instances
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

// PictureLine is one line of a picture.
type PictureLine struct {
	Kind   LineKind
	Offset int64 // of its first byte
	Cells  []PictureCell
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

// PictureCell is one byte.
type PictureCell struct {
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
	Type   *Datatype
	Bytes  int64 // of all instances
}

// PictureOptions say how large a picture may be.
type PictureOptions struct {
	BytesPerRow int // 0: 64
	MaxLines    int // 0: 24
	Overview    int // cells of the overview; 0: 64
}

const (
	pictureBudget = 4 << 20 // steps of walks through the type: a fraction of a second
	pictureScan   = 4096
	overviewCells = 64
)

// Picture draws count instances of t side by side. name is the user's word for the type.
func (t *Datatype) Picture(name string, count int64, opt PictureOptions) (*Picture, error) {
	if t.problem != nil {
		return nil, t.problem
	}
	if count < 0 {
		return nil, errorf(KindUsage, 0, "A picture of %d instances was asked for; counts are from 0 on.", count)
	}
	if opt.BytesPerRow <= 0 {
		opt.BytesPerRow = 64
	}
	if opt.Overview <= 0 {
		opt.Overview = overviewCells
	}
	if opt.MaxLines <= 0 {
		opt.MaxLines = 24
	}
	p := &Picture{
		Name: name, Title: t.Title(), Count: count, Figures: t.Figures(), BytesPerRow: opt.BytesPerRow, Complete: true,
		t: t, legendAt: map[string]int{}, budget: pictureBudget / 2, scan: pictureScan, cellsOfAll: opt.Overview,
	}
	var c calc
	p.Size = c.mul(count, p.Figures.Size)
	last := c.mul(max(count-1, 0), p.Figures.Extent)
	c.add(c.add(last, p.Figures.LB), p.Figures.Extent)
	if t.elements > 0 { // Open MPI's true bounds of a type without data are no offsets
		c.add(last, t.hull().to)
		c.add(last, t.hull().from)
	}
	if c.bad {
		return nil, errorf(KindTooLarge, 0, "%d instances of the datatype %s are more than 2^62 bytes.", count,
			t.Title())
	}
	p.span(last)
	p.makeLegend()
	if p.From < p.To {
		p.makeLines(max(opt.MaxLines, 4))
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
	p.bounds = hull{lo, hi}.union(hull{lo + last, hi + last})
	p.From, p.To = p.bounds.from, p.bounds.to
	if p.t.elements > 0 {
		h := p.t.hull()
		p.data = h.union(h.moved(last))
		p.From, p.To = min(p.From, p.data.from), max(p.To, p.data.to)
	}
}

func (p *Picture) makeLegend() {
	mix := p.t.mix()
	leaves := make([]*Datatype, len(mix))
	for i, m := range mix {
		leaves[i] = m.leaf
	}
	letters := legendLetters(leaves)
	for i, m := range mix {
		p.Legend = append(p.Legend, LegendEntry{letters[i], m.leaf, satMul(m.bytes, p.Count)})
		p.legendAt[m.leaf.basicKey()] = i
	}
}

// row is the offset at which the row of a byte begins: rows are aligned.
func (p *Picture) row(offset int64) int64 {
	b := int64(p.BytesPerRow)
	return floorDiv(offset, b) * b
}

// cells draws one row, and reports whether anything in it is selected. ok is false if that takes too long.
func (p *Picture) cells(row int64) (cells []PictureCell, used, ok bool) {
	cells = make([]PictureCell, p.BytesPerRow)
	for i := range cells {
		switch at := row + int64(i); {
		case at >= p.data.from && at < p.data.to:
			cells[i].Kind = CellGap
		case at >= p.bounds.from && at < p.bounds.to:
			cells[i].Kind = CellPadding
		}
	}
	w := hull{max(row, p.data.from), min(row+int64(p.BytesPerRow), p.data.to)}
	if w.from >= w.to {
		return cells, false, true
	}
	single := w.to - w.from // bytes that are not yet selected twice
	win := window{hull: w, budget: &p.budget, each: func(q piece) bool {
		used = true
		legend := p.legendAt[q.leaf.basicKey()]
		for at := max(q.from, w.from); at < min(q.to, w.to); at++ {
			c := &cells[at-row]
			switch {
			case c.Kind == CellGap && q.copies == 1:
				*c = PictureCell{CellData, legend, at == q.from}
			case c.Kind != CellOverlap:
				single--
				if !p.Overlaps || at < p.FirstOverlap {
					p.Overlaps, p.FirstOverlap = true, at
				}
				*c = PictureCell{CellOverlap, legend, c.Start || at == q.from}
			}
		}
		return single > 0
	}}
	win.walkRow(p.t, p.Count)
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
		p.Lines = append(p.Lines, PictureLine{
			Kind: LineElided, Offset: at, Rows: (from - at) / int64(p.BytesPerRow),
			Data: p.dataIn(hull{at, from}),
		})
	}
	slices.Reverse(tail)
	p.Lines = append(p.Lines, sameLines(tail)...)
	p.Complete = slices.ContainsFunc(p.Lines, func(l PictureLine) bool { return l.Kind != LineElided })
}

// sameLines counts rows that are like the one before them.
func sameLines(lines []PictureLine) []PictureLine {
	var out []PictureLine
	for i := 0; i < len(lines); {
		j := i + 1
		for j < len(lines) && lines[i].Kind == LineBytes && lines[j].Kind == LineBytes &&
			slices.Equal(lines[i].Cells, lines[j].Cells) {
			j++
		}
		out = append(out, lines[i])
		switch n := int64(j - i - 1); {
		case n == 1:
			out = append(out, lines[i+1])
		case n > 1:
			out = append(out, PictureLine{Kind: LineSame, Offset: lines[i+1].Offset, Cells: lines[i].Cells, Rows: n})
		}
		i = j
	}
	return out
}

// dataIn is how many bytes of data lie within h, or -1.
func (p *Picture) dataIn(h hull) int64 {
	budget, data := int64(1<<20), int64(0)
	list, ok := p.t.tally(h, p.Count, &budget)
	if !ok {
		return -1
	}
	for _, s := range list {
		data = satAdd(data, s.bytes)
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
		if next, ok = p.t.nextUsed(at, end, p.Count, &p.budget); !ok {
			return at, false
		}
		if next < end {
			next = p.row(next)
		}
		if next > at+step {
			p.Lines = append(p.Lines, PictureLine{Kind: LineEmpty, Offset: at, Rows: (next - at) / step})
			return next, true
		}
	}
	p.Lines = append(p.Lines, PictureLine{Kind: LineBytes, Offset: at, Cells: cells, Rows: 1})
	if at += step; !used {
		return at, true
	}
	same := PictureLine{Kind: LineSame, Offset: at, Cells: cells}
	for ; at < end && p.scan > 0; at += step {
		p.scan--
		if more, _, ok := p.cells(at); !ok || !slices.Equal(more, cells) {
			break
		}
		same.Rows++
	}
	if same.Rows == 1 { // one row says as much as a remark
		same.Kind = LineBytes
	}
	if same.Rows > 0 {
		p.Lines = append(p.Lines, same)
	}
	return at, true
}

// backward draws at most n lines before end, none of them before start, the last one first. It returns where the first
// begins.
func (p *Picture) backward(start, end int64, n int) (lines []PictureLine, from int64) {
	step := int64(p.BytesPerRow)
	for from = end; from > start && len(lines) < n; {
		cells, used, ok := p.cells(from - step)
		if !ok {
			break
		}
		if !used {
			last, ok := p.t.lastUsed(start, from, p.Count, &p.budget)
			if !ok {
				break
			}
			if next := max(p.row(last)+step, start); next < from-step {
				lines = append(lines, PictureLine{Kind: LineEmpty, Offset: next, Rows: (from - next) / step})
				from = next
				continue
			}
		}
		from -= step
		lines = append(lines, PictureLine{Kind: LineBytes, Offset: from, Cells: cells, Rows: 1})
	}
	return lines, from
}

// makeOverview draws the whole in one line if the lines leave something out.
func (p *Picture) makeOverview() {
	if !slices.ContainsFunc(p.Lines, func(l PictureLine) bool { return l.Kind != LineBytes }) {
		return
	}
	n := int64(p.cellsOfAll)
	p.OverviewBytes = (p.To - p.From + n - 1) / n
	budget := int64(1 << 21)
	for at := p.From; at < p.To; at += p.OverviewBytes {
		list, ok := p.t.tally(hull{at, min(at+p.OverviewBytes, p.To)}, p.Count, &budget)
		if !ok {
			p.Overview = nil
			return
		}
		c := OverviewCell{Mixed: len(list) > 1}
		for _, s := range list {
			c.Used = satAdd(c.Used, s.bytes)
		}
		if top, ok := dominant(list); ok {
			c.Legend = p.legendAt[top.leaf.basicKey()]
		}
		p.Overview = append(p.Overview, c)
	}
}
