package abigen

import (
	"fmt"
	"strings"
	"unicode"
)

// token is a word, a number, a string or a character of C, with the comments about it.
type token struct {
	text string
	line int
	// before is the comment that ends on the line above; after the one that follows on the same line. Of tokens that
	// share a line the last has what follows.
	before, after string
	define        bool // begins a line "#define"; the token is the macro's name
	last          bool // the last token of its line
}

// scan splits the header into tokens. Other lines of the preprocessor than #define with a value are left out.
func scan(header string) ([]token, error) {
	var (
		tokens   []token
		comment  string
		endsAt   = -1 // the last line of comment
		line     = 1
		rest     = header
		isDefine bool
	)
	for rest != "" {
		switch {
		case rest[0] == '\n':
			if n := len(tokens); n > 0 && tokens[n-1].line == line {
				tokens[n-1].last = true
			}
			line++
			rest = rest[1:]
		case unicode.IsSpace(rune(rest[0])):
			rest = rest[1:]
		case strings.HasPrefix(rest, "/*"):
			body, tail, closed := strings.Cut(rest[2:], "*/")
			if !closed {
				return nil, fmt.Errorf("line %d: a comment without end", line)
			}
			rest = tail
			if n := len(tokens); n > 0 && tokens[n-1].line == line {
				tokens[n-1].after = plain(body)
			} else {
				comment, endsAt = plain(body), line+strings.Count(body, "\n")
			}
			line += strings.Count(body, "\n")
		case rest[0] == '#':
			directive, _, _ := strings.Cut(rest, "\n")
			words := strings.Fields(directive)
			isDefine = len(words) > 2 && words[0] == "#define" && !strings.HasPrefix(words[2], "/*")
			if !isDefine {
				rest = rest[len(directive):]
				break
			}
			rest = rest[len("#define"):]
		default:
			n := length(rest)
			t := token{text: rest[:n], line: line, define: isDefine}
			if endsAt >= line-1 && endsAt >= 0 {
				t.before = comment
			}
			endsAt, isDefine = -1, false
			tokens = append(tokens, t)
			rest = rest[n:]
		}
	}
	return tokens, nil
}

// length is that of the first token.
func length(s string) int {
	word := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	switch {
	case word(rune(s[0])):
		if n := strings.IndexFunc(s, func(r rune) bool { return !word(r) }); n >= 0 {
			return n
		}
		return len(s)
	case s[0] == '"':
		return strings.IndexByte(s[1:], '"') + 2
	case strings.HasPrefix(s, "<<"):
		return 2
	}
	return 1
}

// plain is a comment's text in one line. A heading between sections is about nothing.
func plain(comment string) string {
	var words []string
	for line := range strings.SplitSeq(comment, "\n") {
		line = strings.TrimSpace(line)
		line = strings.TrimSpace(strings.TrimPrefix(line, "*"))
		words = append(words, strings.Fields(line)...)
	}
	text := strings.Join(words, " ")
	if strings.HasPrefix(text, "---") {
		return ""
	}
	return text
}
