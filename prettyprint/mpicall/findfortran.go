package mpicall

import "strings"

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
	if text == "" || strings.ContainsRune("cC*!dD", rune(text[0])) || strings.TrimSpace(text) == "" {
		return "", false, false
	}
	if i := strings.IndexByte(text, '\t'); i >= 0 && i < 6 {
		rest := text[i+1:]
		if rest != "" && rest[0] >= '1' && rest[0] <= '9' {
			return uncommentFortran(rest[1:]), true, true
		}
		return uncommentFortran(rest), false, true
	}
	if len(text) < 6 {
		return "", false, false
	}
	continues = text[5] != ' ' && text[5] != '0'
	if strings.TrimSpace(text[:5]) != "" && strings.Contains(text[:5], "!") {
		return "", false, false
	}
	code = text[6:]
	if len(text) > 72 && !strings.Contains(uncommentFortran(text[:72]), "!") {
		// beyond is no part of it, unless the compiler was told otherwise: then the parentheses do not close
		code = text[6:72]
	}
	return uncommentFortran(code), continues, true
}

// uncommentFortran takes a comment off the end of a line.
func uncommentFortran(text string) string {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\'', '"':
			i = quoted(text, i, true) - 1
		case '!':
			return text[:i]
		}
	}
	return text
}

func findFortran(source string, fixed bool, line int) []Call {
	var out []Call
	for _, st := range statements(source, fixed, line) {
		if st.broken || st.last < line || st.first > line {
			continue
		}
		s := st.text
		for i := 0; i < len(s); {
			switch {
			case s[i] == '\'' || s[i] == '"':
				i = quoted(s, i, true)
			case isLetter(s[i]):
				end := wordEnd(s, i)
				if strings.EqualFold(s[i:end], "call") && (i == 0 || s[i-1] != '%') {
					if c, ok := fortranCall(s, end); ok {
						c.First, c.Last = st.first, st.last
						out = append(out, c)
					}
				}
				i = end
			default:
				i++
			}
		}
	}
	return out
}

func wordEnd(s string, i int) int {
	for i < len(s) && isWord(s[i]) {
		i++
	}
	return i
}

// fortranCall reads what follows the word call.
func fortranCall(s string, i int) (Call, bool) {
	blanks := func() {
		for i < len(s) && isBlank(s[i]) {
			i++
		}
	}
	blanks()
	begin := i
	i = wordEnd(s, i)
	name := s[begin:i]
	f, ok := lookup(name)
	if !ok {
		return Call{}, false
	}
	blanks()
	if i == len(s) || s[i] != '(' {
		return Call{}, false
	}
	end, ok := closing(s, i, true)
	if !ok {
		return Call{}, false
	}
	return Call{Function: f, Name: name, Fortran: true, Arguments: split(s[i+1:end-1], true)}, true
}
