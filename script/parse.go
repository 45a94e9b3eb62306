package script

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/dap/protocol"
)

// breakpoint is a parsed break command.
type breakpoint struct {
	path      string // "" for a function
	line      int
	function  string
	condition string
	extra     protocol.BreakpointExtra
}

// breakUsage is said with every mistake in a break command.
const breakUsage = "write: break FILE:LINE|FUNCTION [ranks SET] [mode rank|all|causal] [if CONDITION]"

// parseBreak parses what follows the word break. cwd completes relative paths.
func parseBreak(text, cwd string) (breakpoint, error) {
	var b breakpoint
	head, condition, _ := strings.Cut(" "+text+" ", " if ")
	b.condition = strings.TrimSpace(condition)
	words := strings.Fields(head)
	if len(words) == 0 {
		return b, fmt.Errorf("a place is missing; %s", breakUsage)
	}
	if err := b.setPlace(words[0], cwd); err != nil {
		return b, err
	}
	for rest := words[1:]; len(rest) > 0; rest = rest[2:] {
		if len(rest) == 1 {
			return b, fmt.Errorf("%q has no value; %s", rest[0], breakUsage)
		}
		switch rest[0] {
		case "ranks":
			b.extra.Ranks = rest[1]
		case "mode":
			switch rest[1] {
			case protocol.ModeRank, protocol.ModeAll, protocol.ModeCausal:
				b.extra.Mode = rest[1]
			default:
				return b, fmt.Errorf("%q is no mode; %s", rest[1], breakUsage)
			}
		default:
			return b, fmt.Errorf("%q is not understood; %s", rest[0], breakUsage)
		}
	}
	return b, nil
}

func (b *breakpoint) setPlace(word, cwd string) error {
	i := strings.LastIndexByte(word, ':')
	if i < 0 || strings.HasSuffix(word[:i], ":") { // a::b is a function of C++
		b.function = word
		return nil
	}
	line, err := strconv.Atoi(word[i+1:])
	if err != nil || line < 1 || i == 0 {
		return fmt.Errorf("%q is neither FILE:LINE nor a function; %s", word, breakUsage)
	}
	b.path, b.line = word[:i], line
	if filepath.IsAbs(b.path) {
		return nil
	}
	// A name without a file behind it here is for the debugger to find: it knows the program's files by the ends of
	// their paths.
	if path := filepath.Join(cwd, b.path); isFile(path) {
		b.path = path
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
