package launch

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch/wire"
)

// arrival is an agent whose introduction is in order.
type arrival struct {
	conn  net.Conn
	hello wire.Hello
}

func duplicate(rank int) string {
	return fmt.Sprintf("rank %d has an agent already: did the launcher start it twice?", rank)
}

func (a arrival) refuse(reason string) {
	wire.Refuse(a.conn, reason)
	a.conn.Close() //nolint:errcheck // refused
}

func (a arrival) accept(tap func(backend.Event) bool) (*wire.Client, error) {
	if err := wire.Accept(a.conn); err != nil {
		a.conn.Close() //nolint:errcheck // it has gone
		return nil, err
	}
	return wire.NewClient(a.conn, fmt.Sprintf("the agent of rank %d", a.hello.Rank), tap), nil
}

// accept takes connections until the listener is closed. Each introduces itself in a goroutine of its own: one that
// says nothing delays nobody.
func (s *Session) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				s.log.Error("accepting agents", "err", err)
			}
			return
		}
		s.work.Go(func() { s.receive(conn) })
	}
}

// receive hears one connection out, at most until the job ends.
func (s *Session) receive(conn net.Conn) {
	heard := make(chan struct{})
	s.work.Go(func() {
		select {
		case <-heard:
		case <-s.launcher.gone:
			conn.SetDeadline(time.Unix(1, 0)) //nolint:errcheck // then its own deadline ends it
		}
	})
	hello, err := wire.Receive(conn, wire.Expect{Token: s.dir.Token, Version: Build(), Ranks: s.options.Ranks})
	close(heard)
	if err != nil {
		s.log.Warn("refused a connection", "err", err)
		conn.Close() //nolint:errcheck // refused
		return
	}
	select {
	case s.arrivals <- arrival{conn, hello}:
	case <-s.launcher.gone:
		arrival{conn, hello}.refuse("the job is ending")
	}
}

// refuseLate answers those who come when all ranks are there.
func (s *Session) refuseLate() {
	for {
		select {
		case a := <-s.arrivals:
			a.refuse(duplicate(a.hello.Rank))
		case <-s.launcher.gone:
			return
		}
	}
}
