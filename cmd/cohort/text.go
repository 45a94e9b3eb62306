package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/launch"
)

// labeller writes the ranks in front of each line of output; a line that several ranks print at about the same time is
// shown once.
type labeller struct {
	std   streams
	lines *job.LineMerger
	open  map[string]bool // by category: the last that was written did not end its line
}

func newLabeller(std streams, ranks int) *labeller {
	l := &labeller{std: std, open: map[string]bool{}}
	l.lines = job.NewLineMerger(job.DefaultMergeWindow, ranks, l.write)
	return l
}

// take is for launch.Options.Output.
func (l *labeller) take(chunk launch.OutputChunk) {
	if chunk.Rank < 0 { // the launcher speaks for itself
		l.std.of(chunk.Category).Write(chunk.Data) //nolint:errcheck // the user closed it
		return
	}
	l.lines.Add(chunk.Rank, chunk.Category, chunk.Data)
}

func (l *labeller) flush() {
	l.lines.Close()
	for category, open := range l.open {
		if open {
			io.WriteString(l.std.of(category), "\n") //nolint:errcheck // the user closed it
		}
	}
}

// write is called for one line, or part of one, at a time.
func (l *labeller) write(o job.Output) {
	text := "[" + o.Ranks.String() + "] " + o.Text
	if l.open[o.Category] { // a prompt of one rank, and then something of another
		text = "\n" + text
	}
	l.open[o.Category] = !strings.HasSuffix(o.Text, "\n")
	io.WriteString(l.std.of(o.Category), text) //nolint:errcheck // the user closed it
}

// size is a number of bytes for people.
func size(n uint64) string {
	const unit = 1024
	if n < unit {
		return prose.Count(n, "byte")
	}
	value, prefix := float64(n), ""
	for _, prefix = range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value /= unit; value < unit {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", value, prefix)
}

// say writes the answer of a command.
func say(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// reply says what a command found out: as JSON, or for people.
func reply(w io.Writer, asJSON bool, found any, text string) error {
	if !asJSON {
		return say(w, text)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(found); err != nil {
		return fmt.Errorf("writing the answer as JSON: %w", err)
	}
	return nil
}
