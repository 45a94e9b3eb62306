package prettyprint_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/cohort-debugger/cohort/prettyprint"
)

var hexNumber = regexp.MustCompile(`0x([0-9a-f]+)`)

// relative writes addresses of the buffer at base as ADDR+offset.
func relative(s string, base uint64) string {
	return hexNumber.ReplaceAllStringFunc(s, func(m string) string {
		n, err := strconv.ParseUint(m[2:], 16, 64)
		if err != nil || n < base || n > base+1<<20 {
			return m
		}
		return fmt.Sprintf("ADDR+%d", n-base)
	})
}

func isOurs(err error) bool {
	var e *prettyprint.Error
	return errors.As(err, &e)
}
