package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/launch"
)

// fileLike are streams that can be handed to a process as they are.
type fileLike = *os.File

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
		l.stream(chunk.Category).Write(chunk.Data) //nolint:errcheck // the user closed it
		return
	}
	l.lines.Add(chunk.Rank, chunk.Category, chunk.Data)
}

func (l *labeller) flush() {
	l.lines.Close()
	for category, open := range l.open {
		if open {
			io.WriteString(l.stream(category), "\n") //nolint:errcheck // the user closed it
		}
	}
}

func (l *labeller) stream(category string) io.Writer {
	if category == "stderr" {
		return l.std.Err
	}
	return l.std.Out
}

// write is called for one line, or part of one, at a time.
func (l *labeller) write(o job.Output) {
	text := "[" + o.Ranks.String() + "] " + o.Text
	if l.open[o.Category] { // a prompt of one rank, and then something of another
		text = "\n" + text
	}
	l.open[o.Category] = !strings.HasSuffix(o.Text, "\n")
	io.WriteString(l.stream(o.Category), text) //nolint:errcheck // the user closed it
}

// plainOutput passes output on as it comes, where the streams are no files that could be handed to the launcher.
func plainOutput(std streams) func(launch.OutputChunk) {
	return func(chunk launch.OutputChunk) {
		w := std.Out
		if chunk.Category == "stderr" {
			w = std.Err
		}
		w.Write(chunk.Data) //nolint:errcheck // the user closed it
	}
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

func sayJSON(w io.Writer, answer any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(answer); err != nil {
		return fmt.Errorf("writing the answer as JSON: %w", err)
	}
	return nil
}
