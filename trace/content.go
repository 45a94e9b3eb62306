package trace

import (
	"fmt"

	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// KindContent is the kind of Content.
const KindContent = Kind(abi.RecordContent)

// Content is what a message carries that the last EVENT before it sent (ModeFull), so that it can be told whether two
// messages are equal. Of a message of up to 8 bytes it is the bytes themselves, as a little-endian number; of a longer
// one a hash of them, in the order of its datatype's typemap. A message without a Content is one that the rank did not
// look into.
type Content struct {
	Which uint32 // of the messages that the event sent, from 0
	Value uint64
}

// Kind implements Record.
func (*Content) Kind() Kind { return KindContent }

func (s *state) addContent(c *Content) *RuleError {
	switch {
	case s.mode != abi.ModeFull:
		return &RuleError{"records without contents in a trace of mode " + s.mode.String(), "a CONTENT"}
	case s.events == 0:
		return &RuleError{"a CONTENT after the event that sent the message", "one before the first event"}
	case c.Which < s.contents:
		return &RuleError{
			fmt.Sprintf("the content of message %d or a later one of the event", s.contents),
			fmt.Sprintf("that of message %d", c.Which),
		}
	}
	s.contents = c.Which + 1
	return nil
}
