package wire

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"time"
)

// Hello is how an agent introduces itself.
type Hello struct {
	Magic   string `json:"cohort"` // "agent"
	Version string `json:"version"`
	Token   string `json:"token"`
	Rank    int    `json:"rank"`
	Size    int    `json:"size"` // 0: the launcher did not say
	Host    string `json:"host"`
	Pid     int    `json:"pid"`
	// Namespace is what a PMIx launcher calls its job; empty with others.
	Namespace string `json:"namespace,omitempty"`
}

// helloMagic is in every Hello.
const helloMagic = "agent"

// welcome answers a Hello.
type welcome struct {
	Refused string `json:"refused,omitempty"` // why; empty: accepted
}

// RefusedError: the other side does not want this connection; Reason is a whole sentence.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// handshakeTimeout bounds each handshake: a peer that says nothing holds nothing up.
const handshakeTimeout = 20 * time.Second

// Introduce says hello as an agent, and waits to be accepted. A *RefusedError says why the job did not.
func Introduce(conn net.Conn, hello Hello) error {
	hello.Magic = helloMagic
	conn.SetDeadline(time.Now().Add(handshakeTimeout)) //nolint:errcheck // a connection without deadlines does not exist here
	defer conn.SetDeadline(time.Time{})                //nolint:errcheck // likewise
	if err := writeJSON(conn, hello); err != nil {
		return fmt.Errorf("introducing the agent of rank %d to its job: %w", hello.Rank, err)
	}
	var answer welcome
	if err := readJSON(conn, &answer); err != nil {
		return fmt.Errorf("the job did not answer the agent of rank %d: %w", hello.Rank, err)
	}
	if answer.Refused != "" {
		return &RefusedError{Reason: answer.Refused}
	}
	return nil
}

// Expect is what the job asks of an agent.
type Expect struct {
	Token   string
	Version string
	Ranks   int
}

// Receive reads the Hello of a connection and checks it. It has not answered yet if the error is nil: Accept or Refuse
// must follow. If it is not, the peer has been told why where it could be.
func Receive(conn net.Conn, expect Expect) (Hello, error) {
	conn.SetDeadline(time.Now().Add(handshakeTimeout)) //nolint:errcheck // a connection without deadlines does not exist here
	var hello Hello
	if err := readJSON(conn, &hello); err != nil {
		return hello, err
	}
	// The token comes first: a stranger learns nothing, not even the version.
	if subtle.ConstantTimeCompare([]byte(hello.Token), []byte(expect.Token)) != 1 {
		return hello, Refuse(conn, "The token of this connection is not the token of the job, so the job refuses it. "+
			"Agents are started by cohort, and read the token from the directory of their job.")
	}
	switch {
	case hello.Magic != helloMagic:
		return hello, Refuse(conn, fmt.Sprintf("The job expected an agent and found %q.", hello.Magic))
	case hello.Version != expect.Version:
		return hello, Refuse(conn,
			fmt.Sprintf("The agent is of version %s, and the cohort that started the job is of version %s. "+
				"They must be the same build: was cohort rebuilt or upgraded just now, or is another one installed on "+
				"host %s?", hello.Version, expect.Version, hello.Host))
	case hello.Rank < 0 || hello.Rank >= expect.Ranks:
		return hello, Refuse(conn, fmt.Sprintf("The launcher started rank %d, and the job has the ranks 0 to %d. "+
			"Was another number of ranks given among the launcher's arguments?", hello.Rank, expect.Ranks-1))
	case hello.Size != 0 && hello.Size != expect.Ranks:
		return hello, Refuse(conn, fmt.Sprintf("The launcher started %d ranks, and cohort was asked for %d. "+
			"Was another number given among the launcher's arguments?", hello.Size, expect.Ranks))
	}
	return hello, nil
}

// Accept tells the agent that it is welcome.
func Accept(conn net.Conn) error {
	if err := writeJSON(conn, welcome{}); err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("accepting an agent: %w", err)
	}
	return nil
}

// Refuse tells the agent why not, and returns the same as a *RefusedError.
func Refuse(conn net.Conn, reason string) error {
	writeJSON(conn, welcome{Refused: reason}) //nolint:errcheck // it is being refused
	return &RefusedError{Reason: reason}
}

func writeJSON(conn net.Conn, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("introducing ourselves: %w", err)
	}
	return writeFrame(conn, text, maxHello)
}

func readJSON(conn net.Conn, value any) error {
	text, err := readFrame(conn, maxHello, nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, value); err != nil {
		return &FrameError{Reason: "the introduction is not JSON: " + err.Error()}
	}
	return nil
}
