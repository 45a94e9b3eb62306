package mpicall

import (
	"regexp"
	"strings"
)

// statement is a Fortran statement on one line, without comments and continuations.
type statement struct {
	text        string
	first, last int
	broken      bool // a directive or something else that is not understood interrupts it
}

// statements reads the statements that may cover a line.
func statements(source string, fixed bool, line int) []statement {
	var out []statement
	var now statement
	open := false // the line before is continued
	end := func() {
		if strings.TrimSpace(now.text) != "" {
			out = append(out, now)
		}
		now, open = statement{}, false
	}
	n := 0
	for text := range strings.SplitSeq(source, "\n") {
		n++
		if n > line+reach {
			break
		}
		text = strings.TrimSuffix(text, "\r")
		if strings.HasPrefix(text, "#") {
			now.broken = now.broken || open || fixed
			continue
		}
		var code string
		var more, continues bool
		if fixed {
			var ok bool
			if code, continues, ok = fixedLine(text); !ok {
				continue
			}
		} else {
			code = uncommentFortran(text)
			if strings.TrimSpace(code) == "" {
				continue // also between a line and its continuation
			}
			code, more = strings.CutSuffix(strings.TrimRight(code, " \t"), "&")
			continues = open
			if lead := strings.TrimLeft(code, " \t"); open && strings.HasPrefix(lead, "&") {
				code = lead[1:]
			}
		}
		if !continues {
			end()
			now.first = n
		} else if fixed || !strings.HasPrefix(strings.TrimLeft(text, " \t"), "&") {
			now.text += " "
		}
		now.text += code
		now.last = n
		open = more
	}
	end()
	return out
}

// fixedLine reads a line in fixed form. ok is false for a comment.
func fixedLine(text string) (code string, continues, ok bool) {
	if strings.TrimSpace(text) == "" || strings.ContainsRune("cC*!dD", rune(text[0])) {
		return "", false, false
	}
	if label, rest, tab := strings.Cut(text, "\t"); tab && len(label) < 6 {
		continues = rest != "" && rest[0] >= '1' && rest[0] <= '9'
		if continues {
			rest = rest[1:]
		}
		return uncommentFortran(rest), continues, true
	}
	if len(text) < 6 || strings.Contains(text[:5], "!") {
		return "", false, false
	}
	// beyond column 72 is no part of it, unless the compiler was told otherwise: then the parentheses do not close
	return uncommentFortran(text[6:min(len(text), 72)]), text[5] != ' ' && text[5] != '0', true
}

// inQuotes is a character constant of Fortran.
var inQuotes = regexp.MustCompile(`'(?:[^']|'')*'?|"(?:[^"]|"")*"?`)

// bareFortran is the text without what is in quotes, character for character.
func bareFortran(text string) string {
	return inQuotes.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat(`"`, len(s)) })
}

// uncommentFortran takes a comment off the end of a line.
func uncommentFortran(text string) string {
	if strings.Contains(text, "!") {
		code, _, _ := strings.Cut(bareFortran(text), "!")
		return text[:len(code)]
	}
	return text
}

// calledFortran is a call of a function of MPI.
var calledFortran = regexp.MustCompile(`(?i)(?:^|[^\w%])call\s+(P?MPI_\w+)\s*\(`)

func findFortran(source string, fixed bool, line int) []Call {
	var out []Call
	for _, st := range statements(source, fixed, line) {
		if st.broken || st.last < line || st.first > line {
			continue
		}
		c := code{text: st.text, bare: bareFortran(st.text)}
		for _, m := range calledFortran.FindAllStringSubmatchIndex(c.bare, -1) {
			if call, _, ok := c.call(m[2], m[3], m[1]-1, true); ok {
				call.First, call.Last = st.first, st.last
				out = append(out, call)
			}
		}
	}
	return out
}
