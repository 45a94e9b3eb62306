package script

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/rankset"
	"github.com/cohort-debugger/cohort/script/report"
)

// expectation is a line `expect [SET] EXPRESSION [at FILE:LINE]`. With a place it is a log point there, so that no rank
// stops for it: what that says is the answer.
type expectation struct {
	text       string
	expression string
	left       string // of a comparison, so that a report can say what it was; or ""
	source     string // of the place; "": where the ranks are
	line       int
	of, seen   rankset.Set
	times      int         // found true, over all ranks
	unset      string      // why there is no log point
	unmet      []*occasion // by what was said
	unknown    []*occasion
}

// occasion is a reason why an expectation is not met.
type occasion struct {
	text  string
	ranks rankset.Set
	times int // over all ranks
}

const expectUsage = "write: expect [SET] EXPRESSION [at FILE:LINE]"

// expectMark begins what the log points of expectations say.
const expectMark = "cohort-expectation "

var (
	comparison = regexp.MustCompile(`^([^=!<>&|]*[A-Za-z_][^=!<>&|]*)(?:==|!=|<=|>=|<|>)[^=!<>&|]+$`)
	answerLine = regexp.MustCompile(`^\[([0-9,:-]+)\] (.*)$`)
	expectLine = regexp.MustCompile(`^(?:\[([0-9,:-]+)\] )?` + expectMark + `(\d+) (.*)$`)
)

// parseExpect reads the arguments of expect in a job of some ranks.
func parseExpect(text string, ranks int) (*expectation, error) {
	e := &expectation{text: text, of: rankset.All(ranks)}
	if strings.HasPrefix(text, "[") {
		set, after, _ := strings.Cut(text[1:], "]")
		of, err := rankset.Parse(set, ranks)
		if err != nil || of.Empty() {
			return nil, fmt.Errorf("%q does not begin with ranks of 0 to %d; %s", text, ranks-1, expectUsage)
		}
		e.of, text = of, after
	}
	e.expression = strings.TrimSpace(text)
	if i := strings.LastIndex(text, " at "); i >= 0 {
		e.expression = strings.TrimSpace(text[:i])
		place := strings.TrimSpace(text[i+len(" at "):])
		var err error
		if e.source, e.line, err = placeOf(place); err != nil {
			return nil, err
		}
	}
	if e.expression == "" {
		return nil, fmt.Errorf("%q has no expression; %s", e.text, expectUsage)
	}
	if m := comparison.FindStringSubmatch(e.expression); m != nil {
		e.left = strings.TrimSpace(m[1])
	}
	return e, nil
}

// placeOf reads FILE:LINE. A file that is here is named by its whole path.
func placeOf(place string) (source string, line int, err error) {
	i := max(0, strings.LastIndexByte(place, ':'))
	source = place[:i]
	if line, err = strconv.Atoi(strings.TrimPrefix(place[i:], ":")); err != nil || line < 1 || source == "" {
		return "", 0, fmt.Errorf("%q is not FILE:LINE; %s", place, expectUsage)
	}
	if path, err := filepath.Abs(source); err == nil {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			source = path
		}
	}
	return source, line, nil
}

// expect carries out the line.
func (r *runner) expect(ctx context.Context, arguments string) error {
	e, err := parseExpect(arguments, r.ranks)
	if err != nil {
		return err
	}
	r.expectations = append(r.expectations, e)
	if e.source != "" {
		return r.expectAt(ctx, e)
	}
	answers, err := r.askRanks(ctx, e.of, e.expression)
	if err != nil {
		return err
	}
	values := map[string]rankset.Set{}
	if e.left != "" {
		if values, err = r.askRanks(ctx, e.of, e.left); err != nil {
			return err
		}
	}
	for answer, ranks := range answers {
		for value, of := range values {
			if both := of.Intersect(ranks); !both.Empty() {
				e.take(both, answer+"\t"+value)
			}
		}
		if len(values) == 0 {
			e.take(ranks, answer)
		}
	}
	verdict := e.judge("")
	r.printf("%s\n", verdict.Verdict)
	for _, reason := range verdict.Reasons {
		r.printf("  %s\n", reason)
	}
	return nil
}

// askRanks evaluates an expression on ranks; a rank's answer may be an error.
func (r *runner) askRanks(ctx context.Context, ranks rankset.Set, expression string) (map[string]rankset.Set, error) {
	text, err := r.console(ctx, "["+ranks.String()+"] p "+expression)
	if err != nil {
		return nil, err
	}
	answers := map[string]rankset.Set{}
	for line := range strings.Lines(text) {
		m := answerLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue // the rest of a long one
		}
		of, err := rankset.Parse(m[1], r.ranks)
		if err != nil {
			continue // not a rank set: what was evaluated begins like one
		}
		answers[m[2]] = answers[m[2]].Union(of)
	}
	return answers, nil
}

// expectAt has each rank tell of an expectation whenever it comes to its place.
func (r *runner) expectAt(ctx context.Context, e *expectation) error {
	bp := protocol.SourceBreakpoint{BreakpointExtra: protocol.BreakpointExtra{Ranks: e.of.String()}}
	bp.Line = e.line
	bp.LogMessage = fmt.Sprintf("%s%d {%s}", expectMark, len(r.expectations)-1, e.expression)
	if e.left != "" {
		bp.LogMessage += "\t{" + e.left + "}"
	}
	r.points[e.source] = append(r.points[e.source], bp)
	args := protocol.SetBreakpointsArguments{Breakpoints: r.points[e.source]}
	args.Source.Path = e.source
	var body dap.SetBreakpointsResponseBody
	if err := r.request(ctx, "setBreakpoints", args, &body); err != nil {
		return err
	}
	if n := len(body.Breakpoints); n > 0 && !body.Breakpoints[n-1].Verified {
		e.unset = body.Breakpoints[n-1].Message
	}
	return nil
}

// takeExpectations takes what the log points of expectations say out of output.
func (r *runner) takeExpectations(output string) (rest string) {
	if !strings.Contains(output, expectMark) {
		return output
	}
	for line := range strings.Lines(output) {
		m := expectLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			rest += line
			continue
		}
		ranks := rankset.All(r.ranks) // a job of one rank has no labels
		if m[1] != "" {
			ranks, _ = rankset.Parse(m[1], r.ranks) // it is the server's
		}
		if i, err := strconv.Atoi(m[2]); err == nil && i < len(r.expectations) {
			r.expectations[i].take(ranks, m[3])
		}
	}
	return rest
}

// take takes in what the expression was on ranks, "1", or with what is compared "0\t7"; or why there is no answer.
func (e *expectation) take(ranks rankset.Set, text string) {
	e.seen = e.seen.Union(ranks)
	answer, left, _ := strings.Cut(text, "\t")
	number, err := strconv.ParseFloat(answer, 64)
	switch word := strings.Trim(strings.ToLower(answer), "."); {
	case word == "true" || err == nil && number != 0:
		e.times += ranks.Len()
	case (word == "false" || err == nil) && left != "":
		e.unmet = add(e.unmet, ranks, e.left+" is "+left)
	case word == "false" || err == nil:
		e.unmet = add(e.unmet, ranks, "it is false")
	default:
		e.unknown = add(e.unknown, ranks, strings.Trim(strings.TrimPrefix(answer, "error: "), "<>"))
	}
}

func add(list []*occasion, ranks rankset.Set, text string) []*occasion {
	i := slices.IndexFunc(list, func(o *occasion) bool { return o.text == text })
	if i < 0 {
		i, list = len(list), append(list, &occasion{text: text})
	}
	list[i].ranks, list[i].times = list[i].ranks.Union(ranks), list[i].times+ranks.Len()
	return list
}

// judge says what became of the expectation. how says how the run has ended.
func (e *expectation) judge(how string) report.Expectation {
	got := report.Expectation{Text: e.text, Verdict: report.Met, Times: e.times}
	const most = 20
	for i, o := range slices.Concat(e.unmet, e.unknown) {
		text := fmt.Sprintf("[%s] %s", o.ranks, o.text)
		if o.times > o.ranks.Len() {
			text += fmt.Sprintf(" (%d times)", o.times)
		}
		if i == most {
			text = fmt.Sprintf("and %d more", len(e.unmet)+len(e.unknown)-most)
		}
		if i <= most {
			got.Reasons = append(got.Reasons, text)
		}
	}
	missing := e.of.Minus(e.seen)
	if len(e.unknown) > 0 || !missing.Empty() {
		got.Verdict = report.Unmeetable
	}
	if len(e.unmet) > 0 {
		got.Verdict = report.NotMet
	}
	switch {
	case missing.Empty():
	case e.unset != "":
		got.Reasons = append(got.Reasons, e.unset)
	case e.source == "":
		got.Reasons = append(got.Reasons, fmt.Sprintf("[%s] gave no answer", missing))
	default:
		got.Reasons = append(got.Reasons, fmt.Sprintf("[%s] never came to %s:%d%s", missing, filepath.Base(e.source),
			e.line, how))
	}
	return got
}
