package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
	"github.com/cohort-debugger/cohort/runner"
	"github.com/cohort-debugger/cohort/session"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// progressText is the line that is shown while a run is recorded.
func progressText(p runner.RecordProgress) string {
	if p.ToPack > 0 {
		return fmt.Sprintf("cohort: packing the traces, %s of %s", size(uint64(p.Packed)), size(uint64(p.ToPack)))
	}
	return fmt.Sprintf("cohort: recording for %s: %s, %s (%s), %s written",
		p.Elapsed.Round(time.Second), prose.Count(p.Events, "event"), prose.Count(p.Messages, "message"), size(p.Bytes),
		size(p.TraceBytes))
}

// countRaces counts the races of a recording that has its event graph already; nil: it has none, or is too large to
// look at it now.
func countRaces(ctx context.Context, r *runner.RecordResult) *causal.RaceCounts {
	const most = 2_000_000 // events: about two seconds
	if ctx.Err() != nil || r.Summary == nil || r.Summary.Events > most || !r.Recording.HasGraph() ||
		r.Summary.Incomplete > 0 {
		return nil
	}
	graph, err := session.Graph(ctx, r.Recording, session.GraphOptions{})
	if err != nil {
		return nil // cohort races says why
	}
	counts, err := graph.CountRaces()
	if err != nil {
		return nil
	}
	return &counts
}

// recordSummary tells what was recorded, on standard error: standard output is the program's. Quiet leaves out all that
// went as it should.
func recordSummary(w io.Writer, r *runner.RecordResult, races *causal.RaceCounts, quiet bool) {
	var b strings.Builder
	rec := r.Recording
	for _, line := range rankEnds(r, quiet) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	if s := r.Summary; s != nil && !quiet {
		recordedText(&b, r, s, races)
	}
	if r.NotPacked != nil {
		fmt.Fprintf(&b, "  WARNING: %s\n", notPackedText(r))
	}
	missing := recordMissing(r)
	if quiet && b.Len() == 0 && len(missing) == 0 {
		return
	}
	if r.Stalled {
		b.WriteString("  The run was ended because no rank completed an MPI call any more.\n")
	}
	head := fmt.Sprintf("\ncohort: recorded %s of %s in %s\n", prose.Count(uint64(len(r.Job.Ranks)), "rank"),
		strings.Join(rec.Meta.Command, " "), elapsed(r.Elapsed))
	next := fmt.Sprintf("  The recording is %s. Next:\n    cohort replay %s\n    cohort debug %s\n", rec.Dir, rec.Dir,
		rec.Dir)
	if quiet {
		head, next = fmt.Sprintf("cohort: recording %s\n", rec.Dir), ""
	}
	end := ""
	for _, text := range missing {
		end += "  WARNING: " + text + "\n"
	}
	if len(missing) > 0 { // the last line: it must not be missed
		end += "  The recording is NOT COMPLETE: a replay does not give back the whole run. (record --strict makes " +
			"that an error.)\n"
	}
	io.WriteString(w, head+b.String()+next+end) //nolint:errcheck // nowhere else to say it
}

func recordedText(b *strings.Builder, r *runner.RecordResult, s *recording.Summary, races *causal.RaceCounts) {
	fmt.Fprintf(b, "  %s, %s sent (%s), %s for replay, %s\n",
		prose.Count(s.Events, "MPI event"), prose.Count(s.Messages, "message"), size(s.PayloadBytes),
		prose.Count(s.Decisions, "decision"), prose.Count(s.FailedPolls, "failed poll"))
	if classes := classText(s.EventsByClass); classes != "" {
		fmt.Fprintf(b, "  events: %s\n", classes)
	}
	if s.Values > 0 {
		fmt.Fprintf(b,
			"  inputs: %s that another run would not be given (MPI_Wtime, what one-sided calls fetch, ...)\n",
			prose.Count(s.Values, "value"))
	}
	var asked []string
	for _, rank := range r.Recording.Meta.PerRank {
		asked = append(asked, rank.Unrecorded...)
	}
	if len(asked) > 0 {
		slices.Sort(asked)
		fmt.Fprintf(b, "  not recorded: what %s gave the program (--record-time records it)\n",
			strings.Join(slices.Compact(asked), ", "))
	}
	if s.Windows > 0 {
		b.WriteString("  one-sided communication: NOT covered is what a rank reads of its own window while others " +
			"write to it, with no MPI call between " +
			"(docs/what-is-recorded.md)\n")
	}
	switch {
	case r.Recording.Meta.Mode == abi.ModeRacing.String(): // others are not counted
		fmt.Fprintf(b, "  racing messages: %s\n", tracedText(s))
	case s.Wildcards == 0:
		b.WriteString("  racing messages: none, as no receive or probe had a wildcard\n")
	case races != nil && races.Messages > 0:
		fmt.Fprintf(b, "  racing messages: %d of %d (%.1f %%)\n", races.RacingMessages, races.Messages,
			100*float64(races.RacingMessages)/float64(races.Messages))
	default:
		fmt.Fprintf(b, "  racing messages: not known yet; \"cohort races %s\" finds them\n", r.Recording.Dir)
	}
	fmt.Fprintf(b, "  traces: %s in mode %s", size(s.TraceBytes), r.Recording.Meta.Mode)
	if s.BytesPerWildcard > 0 {
		fmt.Fprintf(b, ", %.2f bytes per wildcard receive or probe", s.BytesPerWildcard)
	}
	fmt.Fprintf(b, "; waiting ranks yielded: %s\n", map[bool]string{true: "yes", false: "no"}[r.Yield])
}

// tracedText says how much a recording in racing mode tells, as Table 1 of Netzer & Miller does. A blocking probe
// counts as a receive.
func tracedText(s *recording.Summary) string {
	traced := s.Wildcards - s.Never - s.Polled
	text := fmt.Sprintf("%s traced, of %s", prose.Count(traced, "receive"), prose.Count(s.Messages, "message"))
	if s.Messages > 0 {
		text += fmt.Sprintf(" (%.1f %%)", 100*float64(traced)/float64(s.Messages))
	}
	if s.Polled > 0 {
		text += fmt.Sprintf("; and what %s found", prose.Count(s.Polled, "nonblocking probe"))
	}
	return text
}

// classText is "100 recv, 90 send, 4 collective", the most first.
func classText(classes map[string]uint64) string {
	names := byNumber(classes)
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", classes[name], name)
	}
	return strings.Join(names, ", ")
}

// byNumber are the names of what was counted, the most frequent first.
func byNumber(counts map[string]uint64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// recordMissing says what of the run is not in the recording, or cannot be replayed from it.
func recordMissing(r *runner.RecordResult) []string {
	all := []string{} // in JSON an empty list
	bySentence := func(what map[int]string, format string) {
		ranks := map[string][]int{}
		for rank := range r.Job.Ranks {
			if text := what[rank]; text != "" {
				ranks[text] = append(ranks[text], rank)
			}
		}
		for _, text := range slices.Sorted(maps.Keys(ranks)) {
			all = append(all, fmt.Sprintf(format, rankset.InOrder(ranks[text]), text))
		}
	}
	bySentence(r.Refusals, "[%s] not recorded: %s")
	bySentence(r.Cut, "[%s] %s")
	for _, rank := range r.Recording.Meta.PerRank {
		if i := rank.Incomplete; i != nil {
			all = append(all, fmt.Sprintf("rank %d called %s (event %d:%d%s; %s in all), which record/replay does "+
				"not cover: "+
				"the recording is incomplete, and replay refuses it without --incomplete-ok.",
				rank.Rank, i.Call, rank.Rank, i.Event, decisions.At(i.Place), prose.Count(i.Count, "such call")))
		}
	}
	if r.Problem != nil {
		all = append(all, fmt.Sprintf("the recording cannot be replayed as it is: %v", r.Problem))
	}
	return all
}

func notPackedText(r *runner.RecordResult) string {
	return fmt.Sprintf("the traces stay as the ranks wrote them, which does no harm: %v", r.NotPacked)
}

// rankEnds says how the ranks ended, equal ends in one line.
func rankEnds(r *runner.RecordResult, onlyBad bool) []string {
	var order []string
	ranks := map[string][]int{}
	for i, rank := range r.Recording.Meta.PerRank {
		if onlyBad && rank.End.How == recording.EndFinalized {
			continue
		}
		text := endText(rank.End, r.Job.Ranks[i].Stopped) + lastText(i, rank, r.Job.Ranks[i].Control)
		if ranks[text] == nil {
			order = append(order, text)
		}
		ranks[text] = append(ranks[text], i)
	}
	var lines []string
	for _, text := range order {
		said := text
		if rest, ok := strings.CutPrefix(text, "was "); ok && len(ranks[text]) > 1 {
			said = "were " + rest
		}
		lines = append(lines, fmt.Sprintf("[%s] %s", rankset.InOrder(ranks[text]), said))
	}
	return lines
}

// lastText says where a rank ended that did not end well: ", within MPI_Recv (peer 0, tag 3) at tsp.c:40 (event 1:17)".
func lastText(rank int, meta recording.RankMeta, control backend.ControlState) string {
	last := meta.Last
	switch {
	case meta.End.How == recording.EndFinalized:
		return ""
	case last == nil && meta.Events == 0 && control.Present && control.State != abi.StateNew:
		return ", after MPI_Init, before any call that is recorded"
	case last == nil && meta.Events == 0:
		return ", before MPI_Init had returned"
	case last == nil:
		return fmt.Sprintf(", after event %d:%d", rank, meta.Events)
	}
	where := ""
	switch {
	case last.File != "":
		where = fmt.Sprintf(" at %s:%d", filepath.Base(last.File), last.Line)
	case last.Function != "":
		where = " in " + last.Function
	}
	how := "after"
	if last.Within {
		how = "within"
	}
	call, posted := last.Call, ""
	if n := len(control.Recent); n > 0 {
		call, posted = job.CallText(control.Recent[n-1]), postedText(rank, control.Recent)
	}
	return fmt.Sprintf(", %s %s%s (event %d:%d)%s", how, call, where, rank, last.Event, posted)
}

// postedText names, after a call that waits for requests, the last calls that may have made these. Which of them it
// waits for is not recorded.
func postedText(rank int, calls []backend.RecentCall) string {
	const most = 3
	last := len(calls) - 1
	if operation(calls[last]).Function().Completes == mpispec.CompletesNone {
		return ""
	}
	var posted []string
	for _, c := range slices.Backward(calls[:last]) {
		op := operation(c)
		if (op.MakesRequest() || op == mpispec.OpStart || op == mpispec.OpStartall) && len(posted) < most {
			posted = append(posted, fmt.Sprintf("%d:%d %s", rank, c.Event, job.CallText(c)))
		}
	}
	if len(posted) == 0 {
		return ""
	}
	slices.Reverse(posted)
	return "; before it " + strings.Join(posted, ", ")
}

func operation(c backend.RecentCall) mpispec.Op {
	op, _ := mpispec.ParseOp(strings.TrimPrefix(c.Op, "MPI_")) // OpNone has no traits
	return op
}

func endText(end recording.RankEnd, stopped bool) string {
	switch end.How {
	case recording.EndFinalized:
		return "ended well"
	case recording.EndExited:
		return fmt.Sprintf("exited with status %d", end.Code)
	case recording.EndSignal:
		// the signals by which Cohort and the launcher end ranks
		if !stopped || end.Signal != "SIGKILL" && end.Signal != "SIGTERM" {
			return "was ended by " + end.Signal
		}
	}
	if stopped {
		return "was ended by Cohort, with the job"
	}
	return "was ended by the launcher, or lost"
}

func elapsed(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }

// writeRecordJSON writes the summary for scripts.
func writeRecordJSON(path string, r *runner.RecordResult, races *causal.RaceCounts) error {
	meta := &r.Recording.Meta
	missing := recordMissing(r)
	warnings := slices.Clone(missing)
	if r.NotPacked != nil {
		warnings = append(warnings, notPackedText(r))
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644) //nolint:gosec // as any output
	if err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return errors.Join(reply(file, true, struct {
		Recording string               `json:"recording"`
		Command   []string             `json:"command"`
		Mode      string               `json:"mode"`
		Status    int                  `json:"status"` // the program's
		ElapsedNS time.Duration        `json:"elapsedNs"`
		Yield     bool                 `json:"yield"`
		Summary   *recording.Summary   `json:"summary"` // null: the recording cannot be read
		Races     *causal.RaceCounts   `json:"races"`   // null: not known yet
		PerRank   []recording.RankMeta `json:"perRank"`
		Complete  bool                 `json:"complete"` // a replay gives back the whole run
		Missing   []string             `json:"missing"`  // why not
		Warnings  []string             `json:"warnings"` // these, and what does no harm
	}{
		r.Recording.Dir, meta.Command, meta.Mode, r.Status(), r.Elapsed, r.Yield, r.Summary, races, meta.PerRank,
		len(missing) == 0, missing, warnings,
	}, ""), file.Close())
}
