package tui

import (
	"fmt"
	"os"
	"strings"

	"github.com/cohort-debugger/cohort/dap/protocol"
)

// maxSource bounds a file that is shown; a larger one is refused by name rather than loaded.
const maxSource = 32 << 20

// sourceFile is a file as shown: tabs expanded, no control characters.
type sourceFile struct {
	path  string
	lines []string
	err   string // why there is nothing to see, a whole sentence
}

func loadSource(path string) sourceFile {
	var raw []byte
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxSource {
		err = fmt.Errorf("it has %d bytes, more than is shown here", info.Size())
	}
	if err == nil {
		raw, err = os.ReadFile(path)
	}
	if err != nil {
		return sourceFile{path: path, err: fmt.Sprintf("The source file %s cannot be read: %v.", path, err)}
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return sourceFile{path: path, lines: lines}
}

// printable makes a line safe to put on a terminal: program output and source may hold anything, escape sequences
// included.
func printable(line string) string {
	var b strings.Builder
	column := 0
	for _, r := range strings.TrimSuffix(line, "\r") {
		switch {
		case r == '\t':
			n := 8 - column%8
			b.WriteString("        "[:n])
			column += n
			continue
		case r < 0x20 || r == 0x7f || (r >= 0x80 && r < 0xa0):
			r = '·'
		}
		b.WriteRune(r)
		column++
	}
	return b.String()
}

// ranksByLine tells which ranks are at which line of path.
func ranksByLine(ranks []protocol.RankStatus, path string) map[int][]int {
	at := map[int][]int{}
	for _, r := range ranks {
		if r.State == "stopped" && r.File == path && r.Line > 0 {
			at[r.Line] = append(at[r.Line], r.Rank)
		}
	}
	return at
}
