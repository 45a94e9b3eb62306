package tracetext

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// lineLimit is how long a line of text may be, in bytes.
const lineLimit = 256 << 20

// Error says what is wrong with a line of a text form.
type Error struct {
	Line int // from 1
	Want string
	Got  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d of the text trace: expected %s, found %s", e.Line, e.Want, e.Got)
}

// Parse reads what Dump wrote. The records obey the same rules as those of a file. Errors are *Error or those
// of r.
func Parse(r io.Reader) (trace.Header, []trace.Record, error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, lineLimit)
	p := textParser{}
	var h trace.Header
	var rules *trace.Checker
	var all []trace.Record
	seen := 0 // lines that count
	for in.Scan() {
		p.line++
		text := strings.TrimSpace(in.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		seen++
		if seen == 1 {
			if text != textVersion {
				return h, nil, &Error{p.line, strconv.Quote(textVersion), strconv.Quote(text)}
			}
			continue
		}
		word := p.split(text)
		var rec trace.Record
		if seen == 2 {
			h = p.header(word)
			rules = trace.NewChecker(h.Mode)
		} else {
			rec = p.record(word)
		}
		p.leftOver()
		if p.err == nil && rec != nil {
			if b := rules.Add(rec); b != nil {
				p.fail(b.Want, b.Got)
			}
		}
		if p.err != nil {
			return h, nil, p.err
		}
		if rec != nil {
			all = append(all, rec)
		}
	}
	if err := in.Err(); err != nil {
		return h, nil, fmt.Errorf("read text trace: %w", err)
	}
	if seen < 2 {
		return h, nil, &Error{p.line + 1, "a header line", "the end"}
	}
	return h, all, nil
}

// Undump makes the trace file of which text is the text form: the inverse of Dump. A trace that was cut short is so
// again. The file must not exist; none is left if there is an error. Errors are *Error or those of files.
func Undump(path string, text io.Reader) error {
	h, records, err := Parse(text)
	if err != nil {
		return err
	}
	w, err := trace.CreateFile(path, h)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if err = w.Write(rec); err != nil {
			break
		}
	}
	end := w.Cut
	if err == nil && h.Closed {
		end = w.Finish
	}
	if ended := end(); err == nil {
		err = ended
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

type textParser struct {
	line   int
	fields map[string]string
	err    error
}

func (p *textParser) fail(want, got string) {
	if p.err == nil {
		p.err = &Error{Line: p.line, Want: want, Got: got}
	}
}

// split returns the first word and leaves the key=value fields in p.fields.
func (p *textParser) split(text string) string {
	p.fields = map[string]string{}
	word, rest, _ := strings.Cut(text, " ")
	for rest = strings.TrimLeft(rest, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, after, ok := strings.Cut(rest, "=")
		if !ok || key == "" || strings.ContainsAny(key, " \"") {
			p.fail("key=value", strconv.Quote(rest))
			return word
		}
		var value string
		if strings.HasPrefix(after, `"`) {
			quoted, err := strconv.QuotedPrefix(after)
			if err != nil {
				p.fail("a quoted string", strconv.Quote(after))
				return word
			}
			value, rest = quoted, after[len(quoted):]
			if rest != "" && rest[0] != ' ' {
				p.fail("a space after the value of "+key, strconv.Quote(rest))
				return word
			}
		} else {
			value, rest, _ = strings.Cut(after, " ")
		}
		if _, twice := p.fields[key]; twice {
			p.fail("one "+key, "two")
		}
		p.fields[key] = value
	}
	return word
}

func (p *textParser) leftOver() {
	for key := range p.fields {
		p.fail("no field "+key, key+"="+p.fields[key])
	}
}

func (p *textParser) take(key string) string {
	v, ok := p.fields[key]
	if !ok {
		p.fail("a field "+key, "none")
	}
	delete(p.fields, key)
	return v
}

func (p *textParser) u(key string, bits int) uint64 {
	return p.uint(key, p.take(key), bits)
}

func (p *textParser) uint(key, text string, bits int) uint64 {
	if p.err != nil {
		return 0
	}
	v, err := strconv.ParseUint(text, 0, bits)
	if err != nil {
		p.fail(fmt.Sprintf("%s as a number of %d bits", key, bits), strconv.Quote(text))
	}
	return v
}

func (p *textParser) u64(key string) uint64 { return p.u(key, 64) }
func (p *textParser) u32(key string) uint32 { return uint32(p.u(key, 32)) }

func (p *textParser) i32(key string) int32 { return p.int(key, p.take(key)) }

func (p *textParser) int(key, text string) int32 {
	if p.err != nil {
		return 0
	}
	v, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		p.fail(key+" as a number of 32 bits", strconv.Quote(text))
	}
	return int32(v)
}

func (p *textParser) str(key string) string {
	text := p.take(key)
	if p.err != nil {
		return ""
	}
	v, err := strconv.Unquote(text)
	if err != nil {
		p.fail(key+" as a quoted string", text)
	}
	return v
}

// items splits "[a,b]".
func (p *textParser) items(key string) []string {
	text := p.take(key)
	inner, ok := strings.CutPrefix(text, "[")
	inner, ok2 := strings.CutSuffix(inner, "]")
	if p.err == nil && !(ok && ok2) {
		p.fail(key+" in brackets", strconv.Quote(text))
	}
	if p.err != nil || inner == "" {
		return nil
	}
	return strings.Split(inner, ",")
}

func (p *textParser) list(key string) []uint32 {
	var all []uint32
	for _, item := range p.items(key) {
		all = append(all, uint32(p.uint(key, item, 32)))
	}
	return all
}

func (p *textParser) op() mpispec.Op { return p.opOf("op") }

func (p *textParser) opOf(key string) mpispec.Op {
	name := p.take(key)
	op, ok := mpispec.ParseOp(name)
	if p.err == nil && !ok {
		p.fail("the name of an operation", strconv.Quote(name))
	}
	return op
}

func (p *textParser) header(word string) trace.Header {
	if word != "header" {
		p.fail("the header", strconv.Quote(word))
		return trace.Header{}
	}
	name := p.take("mode")
	mode, ok := abi.ParseMode(name)
	if p.err == nil && (!ok || !mode.IsRecorded()) {
		p.fail("mode order, racing or full", strconv.Quote(name))
	}
	h := trace.Header{
		Version: abi.TraceVersion, Mode: mode, Flags: abi.Flag(p.u32("flags")), Rank: p.u32("rank"), WorldSize: p.u32("size"),
		MPI:    abi.MPI(p.u32("mpi")),
		Closed: p.u("closed", 1) == 1, StartNS: p.u64("start"), Committed: p.u64("committed"), Events: p.u64("events"),
		Polls: p.u64("polls"), Incomplete: p.u32("incomplete"), Ended: abi.Ended(p.u("full_disk", 3)),
		IncompleteCall: p.str("incomplete_call"), IncompleteEvent: p.u64("incomplete_event"),
	}
	if _, within := p.fields[currentOpKey]; within {
		h.CurrentOp = p.opOf(currentOpKey)
	}
	if _, some := p.fields[unrecordedKey]; some {
		h.Unrecorded = trace.ValueKinds(p.u32(unrecordedKey))
	}
	if mode == abi.ModeRacing {
		h.Undecided = p.undecided()
	} else {
		h.Undecided.Overtaken = p.u32("overtaken")
	}
	if !h.Ended.Known() {
		p.fail("a known value of full_disk", fmt.Sprint(uint32(h.Ended)))
	}
	if len(h.IncompleteCall) > 47 || strings.ContainsRune(h.IncompleteCall, 0) {
		p.fail("incomplete_call of at most 47 bytes", strconv.Quote(h.IncompleteCall))
	}
	return h
}

func (p *textParser) record(word string) trace.Record {
	switch word {
	case "comm":
		return &trace.Comm{
			Index: p.u32("index"), GlobalID: p.u64("id"), ParentID: p.u64("parent"), CommKind: p.commKind(),
			MyRank:  p.u32("rank"),
			Members: p.list("members"), Remote: p.list("remote"),
		}
	case "module":
		m := &trace.Module{Index: p.u64("index"), LoadBias: p.u64("bias"), Path: p.str("path")}
		id, err := hex.DecodeString(p.str("build_id"))
		if err != nil {
			p.fail("build_id in hexadecimal", err.Error())
		}
		m.BuildID = string(id)
		return m
	case "site":
		return &trace.Site{Index: p.u64("index"), Module: p.u64("module"), Offset: p.u64("offset")}
	case "note":
		return &trace.Note{Event: p.u64("event"), Call: p.str("call"), Site: p.u64("site")}
	case "event":
		return p.event()
	case "end":
		return &trace.End{FailedPolls: p.u64("polls"), How: uint8(p.u("how", 8))}
	case "match":
		return p.match()
	case "run":
		return p.run()
	case "poll":
		return &trace.Poll{Event: p.u64("event"), Op: p.op(), Failures: p.u64("failures")}
	case "check":
		return &trace.Check{Event: p.u64("event"), Hash: p.u32("hash")}
	case "set":
		return &trace.Set{Event: p.u64("event"), Op: p.op(), Indices: p.list("indices")}
	case "value":
		return p.value()
	case "thread":
		return &trace.Thread{Index: p.u32("index"), ID: p.u64("id")}
	case "turn":
		return &trace.Turn{Steps: p.u64("steps"), Thread: p.u32("thread")}
	case "content":
		return &trace.Content{Which: p.u32("which"), Value: p.u64("value")}
	}
	p.fail("comm, module, site, note, event, end, match, run, poll, set, check, value, thread, turn or content",
		strconv.Quote(word))
	return nil
}

func (p *textParser) commKind() abi.CommKind {
	name := p.take("kind")
	if kind, ok := abi.ParseCommKind(name); ok {
		return kind
	}
	p.fail("a kind of communicator", strconv.Quote(name))
	return 0
}

func (p *textParser) match() *trace.Match {
	m := &trace.Match{Event: p.u64("event"), Op: p.op()}
	if p.fields["source"] == promiseText {
		delete(p.fields, "source")
		m.Source = trace.PromiseSource
	} else {
		m.Source = p.i32("source")
	}
	m.Tag, m.Back = p.i32("tag"), p.u64("back")
	if m.Op == mpispec.OpStartall {
		m.Which = p.u32("which")
	}
	return m
}

func (p *textParser) event() *trace.Event {
	e := &trace.Event{
		Index: p.u64("n"), Op: p.op(), Site: p.u64("site"), FailedPolls: p.u64("polls"), Gap: p.u64("gap"),
		Duration: p.u64("dur"),
	}
	send := func() {
		e.Send = trace.SendArgs{Comm: p.u32("comm"), Dest: p.i32("dest"), Tag: p.i32("tag"), Bytes: p.u64("bytes")}
	}
	recv := func(complete bool) {
		e.Recv = trace.RecvArgs{Comm: p.u32("rcomm"), AskedSource: p.i32("asked_source"), AskedTag: p.i32("asked_tag")}
		if complete {
			e.Recv.Source, e.Recv.Tag, e.Recv.Bytes = p.i32("source"), p.i32("rtag"), p.u64("rbytes")
		}
	}
	switch e.Op.Class() {
	case mpispec.ClassSend, mpispec.ClassSendInit, mpispec.ClassRecvInit:
		send()
	case mpispec.ClassRecv, mpispec.ClassProbe:
		recv(true)
		if e.Op == mpispec.OpMrecv {
			e.Recv.Probe = p.u64("probe")
		}
	case mpispec.ClassIrecv:
		recv(false)
		if e.Op == mpispec.OpImrecv {
			e.Recv.Probe = p.u64("probe")
		}
	case mpispec.ClassSendrecv:
		send()
		recv(true)
	case mpispec.ClassStart:
		for _, item := range p.items("inits") {
			e.Inits = append(e.Inits, p.uint("inits", item, 64))
		}
	case mpispec.ClassCompletion:
		for _, item := range p.items("done") {
			e.Completed = append(e.Completed, p.completion(item))
		}
	case mpispec.ClassCollective, mpispec.ClassIcollective, mpispec.ClassComm:
		e.Coll = trace.CollArgs{Comm: p.u32("comm"), Root: p.i32("root"), Bytes: p.u64("bytes")}
		if e.Op.MakesComm() {
			e.Coll.NewComm = p.u32("new")
		}
	case mpispec.ClassCollectiveInit:
		e.Coll = trace.CollArgs{Comm: p.u32("comm"), Root: p.i32("root"), Bytes: p.u64("bytes"), Of: p.opOf("of")}
	case mpispec.ClassRequest:
		e.Post = p.u64("post")
	case mpispec.ClassOther, mpispec.ClassNone:
	}
	return e
}

func (p *textParser) completion(item string) trace.Completion {
	parts := strings.Split(item, ":")
	if len(parts) != 3 && len(parts) != 6 {
		p.fail("done as index:post:class or index:post:2:source:tag:bytes", strconv.Quote(item))
		return trace.Completion{}
	}
	c := trace.Completion{
		ArrayIndex: uint32(p.uint("done", parts[0], 32)),
		Post:       p.uint("done", parts[1], 64),
		Class:      trace.RequestClass(p.uint("done", parts[2], 8)),
	}
	if (c.Class == trace.RequestRecv) != (len(parts) == 6) {
		p.fail("source, tag and bytes with class 2 and only there", strconv.Quote(item))
	}
	if len(parts) == 6 {
		c.Source, c.Tag, c.Bytes = p.int("done", parts[3]), p.int("done", parts[4]), p.uint("done", parts[5], 64)
	}
	return c
}

func (p *textParser) run() *trace.Run {
	return &trace.Run{
		Event: p.u64("event"), Op: p.op(), Source: p.i32("source"), Tag: p.i32("tag"), Back: p.u64("back"),
		Count: p.u32("count"), Stride: p.u32("stride"),
	}
}

func (p *textParser) undecided() trace.Undecided {
	u := trace.Undecided{Whole: p.u64("whole"), Overtaken: p.u32("overtaken")}
	items := p.items(undecidedKey)
	if len(items) > len(u.Table) {
		p.fail(fmt.Sprintf("at most %d undecided receives", len(u.Table)), strconv.Itoa(len(items)))
		return u
	}
	for _, item := range items {
		parts := strings.Split(item, ":")
		if len(parts) != 7 {
			p.fail("undecided as event:count:stride:op:source:tag:which", strconv.Quote(item))
			return u
		}
		op, ok := mpispec.ParseOp(parts[3])
		if !ok {
			p.fail("the name of an operation", strconv.Quote(parts[3]))
		}
		one := trace.Pending{
			Event: p.uint(undecidedKey, parts[0], 64), Count: uint32(p.uint(undecidedKey, parts[1], 32)),
			Stride: uint32(p.uint(undecidedKey, parts[2], 32)), Op: op, Source: p.int(undecidedKey, parts[4]),
			Tag: p.int(undecidedKey, parts[5]), Which: uint32(p.uint(undecidedKey, parts[6], 32)),
		}
		if b := one.Check(); p.err == nil && b != nil {
			p.fail(b.Want, b.Got)
		}
		if p.err == nil && one.Count == 0 {
			p.fail("one undecided receive or more", strconv.Quote(item))
		}
		u.Add(one)
	}
	return u
}

func (p *textParser) value() *trace.Value {
	v := &trace.Value{Thread: p.u32("thread")}
	name := p.take("what")
	what, ok := abi.ParseValueKind(name)
	if p.err == nil && !ok {
		p.fail("the kind of a value", strconv.Quote(name))
	}
	v.What = what
	if what.IsBytes() {
		bytes, err := hex.DecodeString(p.str("bytes"))
		if err != nil {
			p.fail("bytes in hexadecimal", err.Error())
		}
		v.Bytes = string(bytes)
		return v
	}
	v.Number = p.u64("number")
	delete(p.fields, "seconds") // for people
	return v
}
