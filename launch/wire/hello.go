package wire

import (
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// handshakeTimeout bounds each handshake: a peer that says nothing holds nothing up.
const handshakeTimeout = 20 * time.Second

// Introduce says hello as an agent, and waits to be accepted.
func Introduce(conn net.Conn, hello Hello) error {
	hello.Magic = helloMagic
	conn.SetDeadline(time.Now().Add(handshakeTimeout)) //nolint:errcheck // every connection here has them
	defer conn.SetDeadline(time.Time{})                //nolint:errcheck // likewise
	if err := writeJSON(conn, hello); err != nil {
		return fmt.Errorf("introducing the agent of rank %d to its job: %w", hello.Rank, err)
	}
	var answer welcome
	if err := readJSON(conn, &answer); err != nil {
		return fmt.Errorf("the job did not answer the agent of rank %d: %w", hello.Rank, err)
	}
	if answer.Refused != "" {
		return errors.New("the job refused this agent: " + answer.Refused)
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
	conn.SetDeadline(time.Now().Add(handshakeTimeout)) //nolint:errcheck // every connection here has them
	var hello Hello
	if err := readJSON(conn, &hello); err != nil {
		return hello, err
	}
	// The token comes first: a stranger learns nothing, not even the version.
	var why string
	switch {
	case subtle.ConstantTimeCompare([]byte(hello.Token), []byte(expect.Token)) != 1:
		why = "its token is not the token of the job; agents are started by cohort, and read the token from the " +
			"directory of their job"
	case hello.Magic != helloMagic:
		why = fmt.Sprintf("the job expected an agent and found %q", hello.Magic)
	case hello.Version != expect.Version:
		why = fmt.Sprintf("the agent is of version %s, and the cohort that started the job is of version %s; they "+
			"must be the same build: was cohort rebuilt or upgraded just now, or is another one installed on host %s?",
			hello.Version, expect.Version, hello.Host)
	case hello.Rank < 0 || hello.Rank >= expect.Ranks:
		why = fmt.Sprintf("the launcher started rank %d, and the job has the ranks 0 to %d: was another number of "+
			"ranks given among the launcher's arguments?", hello.Rank, expect.Ranks-1)
	case hello.Size != 0 && hello.Size != expect.Ranks:
		why = fmt.Sprintf("the launcher started %d ranks, and cohort was asked for %d: was another number given among "+
			"the launcher's arguments?", hello.Size, expect.Ranks)
	}
	if why != "" {
		Refuse(conn, why)
		return hello, errors.New(why)
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

// Refuse tells the agent why not.
func Refuse(conn net.Conn, why string) {
	writeJSON(conn, welcome{Refused: why}) //nolint:errcheck // it is being refused
}

// maxHello bounds what comes from a peer that has not shown the token yet, in bytes.
const maxHello = 16 << 10

// writeJSON writes a value as JSON, after its length in four bytes, little endian.
func writeJSON(w io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("introducing ourselves: %w", err)
	}
	frame := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	_, err = w.Write(append(frame, text...))
	return err
}

// readJSON reads what writeJSON has written, and nothing beyond it.
func readJSON(r io.Reader, value any) error {
	var length uint32
	if err := binary.Read(r, binary.LittleEndian, &length); err != nil {
		return fmt.Errorf("reading an introduction: %w", err)
	}
	if length > maxHello {
		return fmt.Errorf("an introduction says that it has %d bytes, and may have %d", length, maxHello)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return fmt.Errorf("reading an introduction: %w", err)
	}
	if err := json.Unmarshal(text, value); err != nil {
		return fmt.Errorf("the introduction is not JSON: %w", err)
	}
	return nil
}
