package command

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/fault"
)

// MatchEvent is what `mpipp --match 2:17 from 0` asks for: one of the messages that an event of a recording has a part
// in.
type MatchEvent struct {
	At       string // the event
	From, To string // the sender and the receiver, each a rank, or the event of the call; or empty
	Tag      *int
	Number   int // of the message among those of the event, from 1; 0: not given
}

var rankOrEvent = regexp.MustCompile(`^\d{1,9}(:\d{1,19})?$`)

// ParseMatchEvent reads the arguments of mpipp --match. ours is false if they do not begin with an event.
func ParseMatchEvent(line string) (q MatchEvent, ours bool, err error) {
	words := strings.Fields(line)
	if len(words) == 0 || !eventName.MatchString(words[0]) {
		return q, false, nil
	}
	usage := func(problem string) (MatchEvent, bool, error) {
		return q, true, fault.Errorf(fault.Usage, 0,
			"mpipp --match EVENT takes, if the event has a part in several messages, which of them: "+
				"from RANK, to RANK, tag TAG, or message NUMBER, as in mpipp --match 2:17 from 0; %s.", problem)
	}
	q.At = words[0]
	for words = words[1:]; len(words) > 0; words = words[2:] {
		if len(words) < 2 {
			return usage("nothing follows " + strconv.Quote(words[0]))
		}
		value := words[1]
		switch words[0] {
		case "from", "to":
			value = strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
			if !rankOrEvent.MatchString(value) {
				return usage(strconv.Quote(words[1]) + " is neither a rank nor an event")
			}
			if words[0] == "from" {
				q.From = value
			} else {
				q.To = value
			}
		case "tag":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return usage(strconv.Quote(value) + " is no tag")
			}
			tag := int(n)
			q.Tag = &tag
		case "message":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil || n < 1 {
				return usage(strconv.Quote(value) + " is no number of a message; they are counted from 1")
			}
			q.Number = int(n)
		default:
			return usage(strconv.Quote(words[0]) + " is none of these")
		}
	}
	return q, true, nil
}
