package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// ReplayOptions say what to replay.
type ReplayOptions struct {
	Common
	Recording    string // directory
	Program      string // another copy of the recorded build; "": where it was
	Cwd          string // "": the recorded one
	Env          []string
	IncompleteOK bool // continue where the recording has no decisions
	Full         bool // also write the event graph into the recording
	// Control are control messages that the ranks exchange beside the program's own: they bound buffering
	// (causal.BoundBuffering finds them).
	Control []causal.ControlMessage
	// StallTimeout ends a replay in which no rank has made an MPI call for so long, or for withinStall while one has
	// not left MPI_Init. 0: while a rank computes, never; else withinStall, or cutStall once a rank is at the end of a
	// recording that was cut short.
	StallTimeout time.Duration
	// Progress, if set, is called about five times a second and at the end, from one goroutine, with the events
	// replayed and their total.
	Progress func(done, total uint64)
}

// Prepared is a replay that is ready to be launched: by Replay, or under a debugger by others.
type Prepared struct {
	Recording *recording.Recording
	Decisions []*decisions.Plan // per rank
	Tools     Toolchain
	Yield     bool
	// Launch has everything for launch.Start in Run mode. A debugger sets Mode, and what it wants. The decisions files
	// are in the job's own directory.
	Launch launch.Options
	// Notes are whole sentences for the user: that the recording was cut short, or is incomplete.
	Notes []string
}

// Total is the number of recorded events of all ranks.
func (p *Prepared) Total() uint64 {
	var total uint64
	for _, d := range p.Decisions {
		total += d.LastEvent
	}
	return total
}

// ended is the rank whose recording ends first of those that end although the rank continued; -1: none.
func (p *Prepared) ended() int {
	first := -1
	for rank, d := range p.Decisions {
		if d.Ended != abi.EndedNot && (first < 0 || d.LastEvent < p.Decisions[first].LastEvent) {
			first = rank
		}
	}
	return first
}

// Unrecorded are the functions that gave the recorded program a time or random numbers that are not recorded.
func (p *Prepared) Unrecorded() []string {
	var all trace.ValueKinds
	for _, d := range p.Decisions {
		all |= d.Unrecorded
	}
	return all.Names()
}

// Hint is a sentence about what may be why a rank leaves the recording; empty if nothing is known.
func (p *Prepared) Hint() string { return unrecordedHint(p.Unrecorded()) }

// CutShort tells whether a rank's recording ends before MPI_Finalize.
func (p *Prepared) CutShort() bool {
	return slices.ContainsFunc(p.Decisions, func(d *decisions.Plan) bool { return !d.Finalized })
}

// Open is trace.Open, also for a recording whose cohort was killed while it recorded. The notes are whole sentences for
// the user.
func Open(dir string) (rec *recording.Recording, notes []string, err error) {
	rec, err = recording.Open(dir)
	// A rank may have made its file and not begun it.
	if !errors.Is(err, recording.ErrMissing) && !errors.Is(err, trace.ErrNotTrace) {
		return rec, nil, err
	}
	restored, restoreErr := recording.Restore(dir)
	if restoreErr != nil || len(restored) == 0 {
		return nil, nil, errors.Join(err, restoreErr)
	}
	for _, rank := range restored {
		notes = append(notes, fmt.Sprintf("There is no trace of rank %d. As cohort itself was ended while it "+
			"recorded, the rank is taken not to have come to MPI.", rank))
	}
	rec, err = recording.Open(dir)
	return rec, notes, err
}

// PrepareReplay checks a recording and the program (build-id, number of ranks, versions, completeness) and builds what
// a replay needs; nothing is started. The errors are those of package trace, and of Tools.
func PrepareReplay(ctx context.Context, o ReplayOptions) (*Prepared, error) {
	rec, notes, err := Open(o.Recording)
	if err != nil {
		return nil, refuse(err, "%v", err)
	}
	p := &Prepared{Recording: rec, Notes: notes}
	program := cmp.Or(o.Program, rec.Meta.Program.Path)
	if _, err := pmpi.Inspect(program); pmpi.IsIndirect(err) && o.MPI == "" {
		o.MPI = rec.Meta.MPI.Kind
	}
	if p.Tools, err = Tools(ctx, program, nil, o.MPI, o.Note); err != nil {
		return nil, err
	}
	if err := rec.CheckProgram(p.Tools.Program.Path); err != nil {
		return nil, refuse(err, "%v", err)
	}
	if kind := p.Tools.Program.MPI.String(); kind != rec.Meta.MPI.Kind {
		return nil, refuse(nil, "The recording %s was made with %s, and the program is linked to %s now. Is "+
			"LD_LIBRARY_PATH as it was?", o.Recording, rec.Meta.MPI.Kind, kind)
	}
	if p.Yield, err = o.Yield.Decide(p.Tools.Program.MPI, rec.Meta.Ranks); err != nil {
		return nil, err
	}
	if err := p.decide(o); err != nil {
		return nil, err
	}
	if err := p.control(o.Control); err != nil {
		return nil, err
	}
	p.options(o)
	return p, nil
}

// decide builds the decisions of all ranks.
func (p *Prepared) decide(o ReplayOptions) error {
	var first error // of the ranks whose recordings are incomplete
	var alike []string
	all, errs := p.Recording.AllDecisions(decisions.Options{})
	for rank := range p.Recording.Meta.Ranks {
		d, err := all[rank], errs[rank]
		var incomplete *decisions.IncompleteError
		if errors.As(err, &incomplete) {
			incomplete.Place = recordedPlace(&p.Recording.Meta, incomplete)
		}
		if incomplete != nil && o.IncompleteOK {
			p.Notes = append(p.Notes,
				fmt.Sprintf("The recording is incomplete: %s. The replay continues and may differ from "+
					"there.", incomplete.What()))
			d, err = p.Recording.Decisions(rank, decisions.Options{AllowIncomplete: true})
		}
		if errors.As(err, &incomplete) {
			if first != nil {
				alike = append(alike, strconv.Itoa(rank))
			} else {
				first = err
			}
			continue
		}
		if err != nil {
			return refuse(err, "The recording %s cannot be replayed: %v", o.Recording, err)
		}
		if !d.Finalized {
			why := p.Recording.Meta.PerRank[rank].End.String()
			if d.Ended != abi.EndedNot {
				why = d.Ended.String()
			}
			p.Notes = append(p.Notes,
				fmt.Sprintf("The recording of rank %d was cut short after event %d (%s); the replay goes as far.", rank,
					d.LastEvent, why))
		}
		p.Decisions = append(p.Decisions, d)
	}
	if first != nil {
		reason := first.Error()
		if len(alike) > 0 {
			ranks := "ranks"
			if len(alike) == 1 {
				ranks = "rank"
			}
			reason += ". The same holds for " + ranks + " " + strings.Join(alike, ", ")
		}
		return refuse(first, "%s", reason)
	}
	return nil
}

// control puts control messages into the decisions. One that is not of the recorded events is left out on both sides.
func (p *Prepared) control(all []causal.ControlMessage) error {
	for _, m := range all {
		known := func(rank int) bool { return rank >= 0 && rank < len(p.Decisions) }
		if !known(m.After.Rank) || !known(m.Before.Rank) || m.After.Rank == m.Before.Rank {
			return refuse(nil, "A control message from rank %d to rank %d cannot be in a replay of %d ranks.",
				m.After.Rank,
				m.Before.Rank, len(p.Decisions))
		}
		from, to := p.Decisions[m.After.Rank], p.Decisions[m.Before.Rank]
		if m.After.Index > from.LastEvent || m.Before.Index > to.LastEvent {
			continue
		}
		from.Grants = append(from.Grants, decisions.Order{Event: m.After.Index, Peer: uint32(m.Before.Rank)})
		to.Waits = append(to.Waits, decisions.Order{Event: m.Before.Index, Peer: uint32(m.After.Rank)})
	}
	for rank, d := range p.Decisions {
		byEvent := func(a, b decisions.Order) int { return cmp.Compare(a.Event, b.Event) }
		if !slices.IsSortedFunc(d.Waits, byEvent) || !slices.IsSortedFunc(d.Grants, byEvent) {
			return refuse(nil, "The control messages of rank %d are not in the order of its events.", rank)
		}
		d.Control = len(all) > 0
	}
	return nil
}

// recordedEnv is the environment that a replay takes from a recording. Refused are the settings of the dynamic linker:
// they load code into the ranks, and a recording may come from anywhere (docs/replay.md, Trust).
func recordedEnv(meta *recording.Meta) (env, refused []string) {
	for _, v := range meta.Env {
		if strings.HasPrefix(v, "LD_") {
			refused = append(refused, v)
		} else {
			env = append(env, v)
		}
	}
	return env, refused
}

// Describe says what a replay of a recording runs, for the user to see before it is run.
func Describe(meta *recording.Meta, program string) string {
	command := []string{cmp.Or(program, meta.Program.Path)}
	if len(meta.Command) > 1 {
		command = append(command, meta.Command[1:]...)
	}
	text := fmt.Sprintf("%s on %s in %s", strings.Join(command, " "), prose.Count(meta.Ranks, "rank"), meta.Cwd)
	if env, _ := recordedEnv(meta); len(env) > 0 {
		text += ", with " + strings.Join(env, ", ")
	}
	return text
}

func (p *Prepared) options(o ReplayOptions) {
	meta := p.Recording.Meta
	l := launch.Options{
		Ranks: meta.Ranks, Program: p.Tools.Program.Path, Cwd: cmp.Or(o.Cwd, meta.Cwd), Mode: launch.Run,
		HoldEnds: true,
	}
	if len(meta.Command) > 1 {
		l.Args = meta.Command[1:]
	}
	env, refused := recordedEnv(&meta)
	if len(refused) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("The recording was made with %s, which a replay does not take from a "+
			"recording; --env (env in a launch request) sets it.", strings.Join(refused, ", ")))
	}
	l.Env = append(env, o.Env...)
	o.fill(&l)
	var flags abi.Flag
	if p.Yield {
		flags |= abi.FlagYield
	}
	if o.IncompleteOK {
		flags |= abi.FlagIncompleteOK
	}
	if meta.RecordTime {
		flags |= abi.FlagRecordTime
	}
	l.Interpose = p.Tools.Interpose(abi.ModeReplay, flags)
	l.Interpose.WriteDecisions = func(dir string) error {
		for rank, d := range p.Decisions {
			if err := d.Write(filepath.Join(dir, fmt.Sprintf("rank-%d.decisions", rank))); err != nil {
				return err
			}
		}
		return nil
	}
	p.Launch = l
}
