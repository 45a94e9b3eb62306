package tracetext

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// textVersion is in the first line of the text form.
const textVersion = "cohort-trace 1"

// The fields that a header line may lack: of a rank that was outside MPI when its trace ended, and of one that asked no
// clock and no random number that is not recorded.
const (
	currentOpKey  = "current_op"
	unrecordedKey = "unrecorded"
)

const undecidedKey = "undecided"

// Dump writes the text form of what r still has to read: the header, then a line per record. Parse is its inverse.
// If the trace ends with a fault, what could be read is written and the fault is returned.
//
// A line is the kind of record (of an EVENT its number and operation) and key=value fields; numbers are decimal unless
// they begin with 0x, strings are quoted as in Go, and lines that begin with # are comments.
func Dump(w io.Writer, r *trace.Reader) error {
	out := bufio.NewWriter(w)
	h := r.Header()
	line := func(s string) {
		_, err := out.WriteString(s + "\n")
		_ = err // sticks to out: Flush returns it
	}
	line(textVersion)
	line(headerText(&h))
	var fault error
	for rec, err := range r.All() {
		if err != nil {
			fault = err
			break
		}
		line(Line(rec))
	}
	if err := out.Flush(); err != nil {
		return errors.Join(fault, fmt.Errorf("write text: %w", err))
	}
	return fault
}

var flag = map[bool]int{true: 1} //nolint:gochecknoglobals // constant table

func headerText(h *trace.Header) string {
	text := fmt.Sprintf("header mode=%s flags=%d rank=%d size=%d mpi=%d closed=%d start=%d committed=%d events=%d "+
		"polls=%d incomplete=%d "+
		"full_disk=%d incomplete_call=%s incomplete_event=%d", h.Mode, h.Flags, h.Rank, h.WorldSize, h.MPI,
		flag[h.Closed], h.StartNS,
		h.Committed, h.Events, h.Polls, h.Incomplete, h.Ended, strconv.Quote(h.IncompleteCall), h.IncompleteEvent)
	if h.CurrentOp != mpispec.OpNone {
		text += " " + currentOpKey + "=" + h.CurrentOp.String()
	}
	if h.Unrecorded != 0 {
		text += fmt.Sprintf(" %s=%#x", unrecordedKey, uint32(h.Unrecorded))
	}
	if h.Mode == abi.ModeRacing {
		return text + undecidedText(&h.Undecided)
	}
	return text + fmt.Sprintf(" overtaken=%d", h.Undecided.Overtaken)
}

// Line returns the line of one record, without a newline.
func Line(r trace.Record) string {
	switch r := r.(type) {
	case *trace.Comm:
		return fmt.Sprintf("comm index=%d id=%#x parent=%#x kind=%s rank=%d members=%s remote=%s", r.Index, r.GlobalID,
			r.ParentID,
			r.CommKind, r.MyRank, list(r.Members), list(r.Remote))
	case *trace.Module:
		return fmt.Sprintf("module index=%d bias=%#x path=%s build_id=%s", r.Index, r.LoadBias, strconv.Quote(r.Path),
			strconv.Quote(hex.EncodeToString([]byte(r.BuildID))))
	case *trace.Site:
		return fmt.Sprintf("site index=%d module=%d offset=%#x", r.Index, r.Module, r.Offset)
	case *trace.Note:
		return fmt.Sprintf("note event=%d call=%s site=%d", r.Event, strconv.Quote(r.Call), r.Site)
	case *trace.Event:
		return eventText(r)
	case *trace.End:
		return fmt.Sprintf("end polls=%d how=%d", r.FailedPolls, r.How)
	case *trace.Match:
		s := fmt.Sprintf("match event=%d op=%s source=%s tag=%d back=%d", r.Event, r.Op, matchSource(r), r.Tag, r.Back)
		if r.Op == mpispec.OpStartall {
			s += fmt.Sprintf(" which=%d", r.Which)
		}
		return s
	case *trace.Run:
		return runText(r)
	case *trace.Poll:
		return fmt.Sprintf("poll event=%d op=%s failures=%d", r.Event, r.Op, r.Failures)
	case *trace.Check:
		return fmt.Sprintf("check event=%d hash=%#08x", r.Event, r.Hash)
	case *trace.Set:
		return fmt.Sprintf("set event=%d op=%s indices=%s", r.Event, r.Op, list(r.Indices))
	case *trace.Value:
		return valueText(r)
	case *trace.Thread:
		return fmt.Sprintf("thread index=%d id=%#x", r.Index, r.ID)
	case *trace.Turn:
		return fmt.Sprintf("turn steps=%d thread=%d", r.Steps, r.Thread)
	case *trace.Content:
		return fmt.Sprintf("content which=%d value=%#x", r.Which, r.Value)
	default:
		return fmt.Sprintf("# unknown record %T", r)
	}
}

const promiseText = "promise"

// matchSource is the same for a promise and for a receive that was cancelled: back tells them apart.
func matchSource(m *trace.Match) string {
	if m.Source == trace.PromiseSource {
		return promiseText
	}
	return strconv.Itoa(int(m.Source))
}

func list(all []uint32) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, v := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatUint(uint64(v), 10))
	}
	b.WriteByte(']')
	return b.String()
}

func eventText(e *trace.Event) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("event n=%d op=%s site=%d polls=%d gap=%d dur=%d", e.Index, e.Op, e.Site, e.FailedPolls, e.Gap, e.Duration)
	send := func() {
		p(" comm=%d dest=%d tag=%d bytes=%d", e.Send.Comm, e.Send.Dest, e.Send.Tag, e.Send.Bytes)
	}
	recv := func(complete bool) {
		p(" rcomm=%d asked_source=%d asked_tag=%d", e.Recv.Comm, e.Recv.AskedSource, e.Recv.AskedTag)
		if complete {
			p(" source=%d rtag=%d rbytes=%d", e.Recv.Source, e.Recv.Tag, e.Recv.Bytes)
		}
	}
	switch e.Op.Class() {
	case mpispec.ClassSend, mpispec.ClassSendInit, mpispec.ClassRecvInit:
		send()
	case mpispec.ClassRecv, mpispec.ClassProbe:
		recv(true)
		if e.Op == mpispec.OpMrecv {
			p(" probe=%d", e.Recv.Probe)
		}
	case mpispec.ClassIrecv:
		recv(false)
		if e.Op == mpispec.OpImrecv {
			p(" probe=%d", e.Recv.Probe)
		}
	case mpispec.ClassSendrecv:
		send()
		recv(true)
	case mpispec.ClassStart:
		p(" inits=[")
		for i, init := range e.Inits {
			if i > 0 {
				p(",")
			}
			p("%d", init)
		}
		p("]")
	case mpispec.ClassCompletion:
		p(" done=[")
		for i := range e.Completed {
			if i > 0 {
				p(",")
			}
			c := &e.Completed[i]
			p("%d:%d:%d", c.ArrayIndex, c.Post, c.Class)
			if c.Class == trace.RequestRecv {
				p(":%d:%d:%d", c.Source, c.Tag, c.Bytes)
			}
		}
		p("]")
	case mpispec.ClassCollective, mpispec.ClassIcollective, mpispec.ClassComm:
		p(" comm=%d root=%d bytes=%d", e.Coll.Comm, e.Coll.Root, e.Coll.Bytes)
		if e.Op.MakesComm() {
			p(" new=%d", e.Coll.NewComm)
		}
	case mpispec.ClassCollectiveInit:
		p(" comm=%d root=%d bytes=%d of=%s", e.Coll.Comm, e.Coll.Root, e.Coll.Bytes, e.Coll.Of)
	case mpispec.ClassRequest:
		p(" post=%d", e.Post)
	case mpispec.ClassOther, mpispec.ClassNone:
	}
	return b.String()
}

func runText(r *trace.Run) string {
	return fmt.Sprintf("run event=%d op=%s source=%d tag=%d back=%d count=%d stride=%d", r.Event, r.Op, r.Source, r.Tag,
		r.Back, r.Count, r.Stride)
}

func undecidedText(u *trace.Undecided) string {
	var all []string
	for _, p := range u.Pending() {
		all = append(all, fmt.Sprintf("%d:%d:%d:%s:%d:%d:%d", p.Event, p.Count, p.Stride, p.Op, p.Source, p.Tag,
			p.Which))
	}
	return fmt.Sprintf(" whole=%d overtaken=%d %s=[%s]", u.Whole, u.Overtaken, undecidedKey, strings.Join(all, ","))
}

func valueText(v *trace.Value) string {
	if v.What.IsBytes() {
		return fmt.Sprintf("value thread=%d what=%s bytes=%s", v.Thread, v.What,
			strconv.Quote(hex.EncodeToString([]byte(v.Bytes))))
	}
	s := fmt.Sprintf("value thread=%d what=%s number=%d", v.Thread, v.What, v.Number)
	if v.What == abi.ValueWtime || v.What == abi.ValueWtick {
		s += fmt.Sprintf(" seconds=%s", strconv.FormatFloat(math.Float64frombits(v.Number), 'g', -1, 64))
	}
	return s
}
