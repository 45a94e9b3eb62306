package gdbmi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Command is one MI command: `-Name options -- parameters`. Build it with [Cmd] and the methods, each
// of which returns a changed copy, so that a common stem may be shared.
type Command struct {
	name   string
	opts   []string
	params []string
}

// Cmd returns the command of that name, without its dash, with plain options or parameters that follow in
// order: Cmd("exec-next"), Cmd("gdb-set", "confirm", "off"). Each is quoted where it must be.
func Cmd(name string, args ...string) Command {
	c := Command{name: name}
	return c.Opt(args...)
}

// CLI returns the command that runs a line of gdb's own command language.
func CLI(line string) Command { return Cmd("interpreter-exec", "console", line) }

// Opt adds options as they are: an option and its value are two of them.
func (c Command) Opt(options ...string) Command {
	c.opts = append(append([]string(nil), c.opts...), options...)
	return c
}

// Thread adds --thread, which makes the command independent of the thread that is selected.
// id is gdb's number of the thread, from 1.
func (c Command) Thread(id int) Command { return c.Opt("--thread", strconv.Itoa(id)) }

// Frame adds --frame. level counts from 0, the innermost; give Thread as well.
func (c Command) Frame(level int) Command { return c.Opt("--frame", strconv.Itoa(level)) }

// Params adds parameters after "--", so that one which begins with a dash is not taken for an option. Only
// commands that have options of their own know "--" (-break-insert does, -data-evaluate-expression and
// the -var- family do not): for the others give parameters to [Cmd] or [Command.Opt].
func (c Command) Params(params ...string) Command {
	c.params = append(append([]string(nil), c.params...), params...)
	return c
}

// Name returns the name without its dash.
func (c Command) Name() string { return c.name }

// String returns the command as a line, without token and line feed.
func (c Command) String() string {
	var b strings.Builder
	b.WriteByte('-')
	b.WriteString(c.name)
	for _, o := range c.opts {
		b.WriteByte(' ')
		b.WriteString(quoteWord(o))
	}
	if len(c.params) > 0 {
		b.WriteString(" --")
		for _, p := range c.params {
			b.WriteByte(' ')
			b.WriteString(quoteWord(p))
		}
	}
	return b.String()
}

// ErrCommand is wrapped by the error for a command that cannot be written as one line.
var ErrCommand = errors.New("not a command of GDB/MI")

func (c Command) check() error {
	if c.name == "" {
		return fmt.Errorf("gdbmi: a command without a name: %w", ErrCommand)
	}
	for i := range len(c.name) {
		if !isWord(c.name[i]) {
			return fmt.Errorf("gdbmi: the command name %q holds %q: %w", c.name, c.name[i], ErrCommand)
		}
	}
	for _, s := range [][]string{c.opts, c.params} {
		for _, a := range s {
			if strings.IndexByte(a, 0) >= 0 {
				return fmt.Errorf("gdbmi: -%s: the parameter %q holds a zero byte: %w", c.name, a, ErrCommand)
			}
		}
	}
	return nil
}

// quoteWord writes s as a c-string if gdb would otherwise not take it for one word. Bytes above 0x7f stay
// as they are: gdb hands some commands (-file-exec-and-symbols, -exec-arguments) to parsers of its command
// language, which know \" and \\ but no octal escapes.
func quoteWord(s string) string {
	plain := s != ""
	for i := 0; i < len(s) && plain; i++ {
		c := s[i]
		plain = c > ' ' && c != 0x7f && c != '"' && c != '\\' && c != '\''
	}
	if plain {
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
