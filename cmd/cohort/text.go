package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/cohort-debugger/cohort/launch"
)

// fileLike are streams that can be handed to a process as they are.
type fileLike = *os.File

// labeller writes the rank in front of each line of output.
type labeller struct {
	std   streams
	label bool
	mu    sync.Mutex
	parts map[part][]byte // beginnings of lines
}

type part struct {
	rank     int
	category string
}

func newLabeller(std streams, label bool, _ int) *labeller {
	return &labeller{std: std, label: label, parts: map[part][]byte{}}
}

// take is for launch.Options.Output.
func (l *labeller) take(chunk launch.OutputChunk) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := part{chunk.Rank, chunk.Category}
	data := append(l.parts[p], chunk.Data...)
	for {
		i := strings.IndexByte(string(data), '\n')
		if i < 0 {
			break
		}
		l.write(p, data[:i+1])
		data = data[i+1:]
	}
	l.parts[p] = append([]byte(nil), data...)
}

func (l *labeller) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p, data := range l.parts {
		if len(data) > 0 {
			l.write(p, append(data, '\n'))
		}
	}
	clear(l.parts)
}

func (l *labeller) write(p part, line []byte) {
	w := l.std.Out
	if p.category == "stderr" {
		w = l.std.Err
	}
	if l.label && p.rank >= 0 {
		line = append([]byte("["+strconv.Itoa(p.rank)+"] "), line...)
	}
	w.Write(line) //nolint:errcheck // the user closed it
}

// count is "1 rank", "2 ranks".
func count(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatUint(n, 10) + " " + what + "s"
}

// size is a number of bytes for people.
func size(n uint64) string {
	const unit = 1024
	if n < unit {
		return count(n, "byte")
	}
	value, prefix := float64(n), ""
	for _, prefix = range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value /= unit; value < unit {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", value, prefix)
}

// rankList is "0-2,5" for ascending ranks.
func rankList(ranks []int) string {
	var parts []string
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		if j == i {
			parts = append(parts, strconv.Itoa(ranks[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", ranks[i], ranks[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
