package gdbmi

import (
	"fmt"
	"strconv"
	"strings"
)

// Command is one MI command. Build it with [Cmd] and the methods, each of which returns a changed copy, so that a
// common stem may be shared.
type Command struct {
	name string
	args []string
}

// Cmd returns the command of that name, without its dash, with options and parameters that follow in order:
// Cmd("exec-next"), Cmd("gdb-set", "confirm", "off"). Each is quoted where it must be.
func Cmd(name string, args ...string) Command { return Command{name, args} }

// CLI returns the command that runs a line of gdb's own command language.
func CLI(line string) Command { return Cmd("interpreter-exec", "console", line) }

// Opt adds options and parameters: an option and its value are two of them.
func (c Command) Opt(args ...string) Command {
	c.args = append(append([]string(nil), c.args...), args...)
	return c
}

// Thread adds --thread, which makes the command independent of the thread that is selected.
// id is gdb's number of the thread, from 1.
func (c Command) Thread(id int) Command { return c.Opt("--thread", strconv.Itoa(id)) }

// Frame adds --frame. level counts from 0, the innermost; give Thread as well.
func (c Command) Frame(level int) Command { return c.Opt("--frame", strconv.Itoa(level)) }

// Name returns the name without its dash.
func (c Command) Name() string { return c.name }

// String returns the command as a line, without token and line feed.
func (c Command) String() string {
	line := "-" + c.name
	for _, a := range c.args {
		line += " " + quoteWord(a)
	}
	return line
}

// check refuses what cannot be written in a line.
func (c Command) check() error {
	for _, a := range c.args {
		if strings.IndexByte(a, 0) >= 0 {
			return fmt.Errorf("gdbmi: -%s: the parameter %q holds a zero byte", c.name, a)
		}
	}
	return nil
}

// quoteWord writes s as a c-string if gdb would otherwise not take it for one word. Bytes above 0x7f stay
// as they are: gdb hands some commands (-file-exec-and-symbols, -exec-arguments) to parsers of its command
// language, which know \" and \\ but no octal escapes.
func quoteWord(s string) string {
	special := func(r rune) bool { return r <= ' ' || r == 0x7f || r == '"' || r == '\\' || r == '\'' }
	if s != "" && strings.IndexFunc(s, special) < 0 {
		return s
	}
	b := make([]byte, 0, len(s)+8)
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}
