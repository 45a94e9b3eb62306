// Package report is what `cohort batch` leaves of a run: how it ended, what was expected, where all ranks were when it
// went wrong, and what was printed; as JSON (the Report itself), text, and one page of HTML that needs nothing else.
//
// A Report is filled by one goroutine, and written when that has ended.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/dap/protocol"
)

// Report of a run.
type Report struct {
	Cohort  string    `json:"cohort"`  // its version
	Command []string  `json:"command"` // what was debugged
	Start   time.Time `json:"start"`
	Elapsed float64   `json:"elapsedSeconds"`
	Ranks   int       `json:"ranks"`  // 0: it did not start
	Status  int       `json:"status"` // exit status of cohort
	Outcome Outcome   `json:"outcome"`
	Summary string    `json:"summary"` // what is known of the outcome, in sentences

	Expectations []Expectation `json:"expectations"`
	Moments      []Moment      `json:"moments"` // at which all ranks were looked at
	Output       Text          `json:"output"`  // of the ranks
	Session      Text          `json:"session"` // the commands and their answers, with what was printed meanwhile
}

// Outcome of a run. The first thing that went wrong decides.
type Outcome string

// The outcomes.
const (
	OK          Outcome = "ok"
	Crash       Outcome = "crash"                 // a rank received a signal that is an error
	Abort       Outcome = "abort"                 // a rank called MPI_Abort
	Diverged    Outcome = "diverged"              // a rank left the recording that was replayed
	NoProgress  Outcome = "no progress"           // the ranks did not get on: perhaps a deadlock
	Failed      Outcome = "failed"                // a rank ended with another status than 0, or was lost
	Unmet       Outcome = "expectation"           // one is not met
	Refused     Outcome = "command refused"       // of the script
	Interrupted Outcome = "interrupted"           // from outside
	Broken      Outcome = "could not be debugged" // Cohort or a debugger failed
)

// Verdict on an expectation.
type Verdict string

// The verdicts.
const (
	Met        Verdict = "met"        // in every rank it is about
	NotMet     Verdict = "unmet"      // false in at least one rank
	Unmeetable Verdict = "unmeetable" // it could not be found out, at least in one rank; in none it was false
)

// Expectation is one that the script has, and what became of it.
type Expectation struct {
	Text    string   `json:"text"` // as in the script, without "expect"
	Verdict Verdict  `json:"verdict"`
	Times   int      `json:"times"`             // how often it was found true
	Reasons []string `json:"reasons,omitempty"` // why it is not met
}

// Moment is a look at all ranks.
type Moment struct {
	Title  string                 `json:"title"`
	Ranks  []protocol.RankStatus  `json:"ranks"`
	Stacks []protocol.MergedStack `json:"stacks"`
	Tree   string                 `json:"tree"`            // the stacks as text
	Calls  string                 `json:"calls,omitempty"` // the MPI calls that ranks are in, merged
	Waits  string                 `json:"waits,omitempty"` // who waits for whom, if ranks are in MPI calls
	Shown  []Value                `json:"shown"`
}

// Value is what an expression is on each rank, equal values once.
type Value struct {
	Expression string `json:"expression"`
	Text       string `json:"text"`
}

// Text is bounded: of a long one the middle is left out.
type Text struct {
	head, tail strings.Builder
	omitted    int
}

const (
	headBytes = 64 << 10
	tailBytes = 256 << 10
)

// Add appends to the text.
func (t *Text) Add(s string) {
	if room := headBytes - t.head.Len(); room > 0 && t.tail.Len() == 0 {
		n := min(room, len(s))
		if n < len(s) { // whole lines
			n = strings.LastIndexByte(s[:n], '\n') + 1
		}
		t.head.WriteString(s[:n])
		s = s[n:]
	}
	t.tail.WriteString(s)
	if t.tail.Len() < 2*tailBytes {
		return
	}
	all := t.tail.String()
	cut := len(all) - tailBytes
	cut += strings.IndexByte(all[cut:], '\n') + 1
	t.omitted += cut
	t.tail.Reset()
	t.tail.WriteString(all[cut:])
}

// String is the text; where something was left out it is said how much.
func (t *Text) String() string {
	if t.omitted == 0 {
		return t.head.String() + t.tail.String()
	}
	return fmt.Sprintf("%s[... %d bytes left out ...]\n%s", t.head.String(), t.omitted, t.tail.String())
}

// MarshalJSON makes it a string.
func (t *Text) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) } //nolint:wrapcheck // a string

// Kinds are the file name extensions of reports.
var Kinds = map[string]func(*Report, io.Writer) error{
	".html": (*Report).writeHTML, ".txt": (*Report).writeText, ".json": (*Report).writeJSON,
}

// Write writes the report as the extension of the name says, which is one of Kinds.
func (r *Report) Write(w io.Writer, name string) error {
	write, ok := Kinds[filepath.Ext(name)]
	if !ok {
		return fmt.Errorf("a report named %s is neither .html nor .txt nor .json", name)
	}
	return write(r, w)
}

func (r *Report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r) //nolint:wrapcheck // the caller names the file
}
