// Package effect tells expressions that change the program from those that only read it.
package effect

// Of names the operator in an expression that assigns, outside strings and characters; "" if there is none.
func Of(expr string, fortran bool) string {
	var quoted byte
	for i := 0; i < len(expr); i++ {
		c := expr[i]
		next := byte(0)
		if i+1 < len(expr) {
			next = expr[i+1]
		}
		switch {
		case quoted != 0:
			if c == '\\' && !fortran {
				i++
			} else if c == quoted {
				quoted = 0
			}
		case c == '"' || c == '\'':
			quoted = c
		case !fortran && (c == '+' || c == '-') && next == c:
			return string([]byte{c, c})
		case c == '=':
			if next == '=' {
				i++
				continue
			}
			before := byte(0)
			if i > 0 {
				before = expr[i-1]
			}
			shift := i > 1 && expr[i-2] == before
			comparison := before == '!' || (before == '<' || before == '>') && !shift || fortran && before == '/'
			if !comparison {
				return "="
			}
		}
	}
	return ""
}
