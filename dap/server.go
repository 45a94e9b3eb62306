package dap

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of a server that listens.
const (
	maxClients = 32
	// stopTime bounds how long a job is given to end when the server stops; what the Starter does to kill it has bounds
	// of its own.
	stopTime = 30 * time.Second
)

// Options of a Server.
type Options struct {
	Starter Starter
	// Token must come with launch and attach on TCP. Empty: the server refuses every launch and attach on TCP.
	Token   string
	Log     *slog.Logger // nil: none
	Version string       // told to the user by help
	// CallName names an MPI call by its number in the control block (enum cohort_op); nil: the number is shown.
	CallName func(op int) string
}

// A Server serves DAP clients that share at most one job at a time. All methods may be called from any goroutine.
type Server struct {
	starter  Starter
	token    string
	version  string
	log      *slog.Logger
	callName func(int) string
	requests map[string]spec

	mu      sync.Mutex // guards the fields below; held for moments only
	current *debuggee  // the job that is being started, runs, or has ended and still has clients
	clients map[*client]struct{}
	number  int
}

// NewServer returns a server; it serves nobody until Serve or ServeConn is called.
func NewServer(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.CallName == nil {
		o.CallName = func(op int) string { return fmt.Sprintf("MPI call %d", op) }
	}
	return &Server{
		callName: o.CallName, requests: newRequests(), starter: o.Starter, token: o.Token,
		version: o.Version, log: o.Log, clients: map[*client]struct{}{},
	}
}

// Serve accepts clients until ctx ends or the listener fails. Then it ends the job, tells the clients, closes the
// listener, and returns when nothing is left; the error is nil if ctx ended. After a job has ended and its clients have
// left, the next client may launch another one.
func (s *Server) Serve(ctx context.Context, l *Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer func() {
		if stop() {
			_ = l.Close()
		}
	}()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			cancel()
			return fmt.Errorf("accept a DAP client on %s: %w", l.Address(), err)
		}
		if s.full() {
			s.turnAway(conn)
			continue
		}
		wg.Go(func() {
			if err := s.ServeConn(ctx, conn, l.NeedsToken()); err != nil {
				s.log.Warn("dap: a connection ended", "why", err)
			}
		})
	}
}

func (s *Server) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.clients) >= maxClients
}

// turnAway closes a connection that is one too many. It is not told more: whoever it is has not shown a token.
func (s *Server) turnAway(conn net.Conn) {
	s.log.Warn("dap: refused a connection: too many clients", "clients", maxClients, "from", conn.RemoteAddr())
	_ = conn.Close()
}

// ServeConn serves one client on conn until it disconnects, its stream ends, or ctx ends, and closes conn. If the job
// is the client's own, or no other client is left, the job has been ended when ServeConn returns. needToken: launch and
// attach need the token. The error says why a connection ended that did not disconnect properly.
//
// Close of conn must end a Read that waits, unless the process ends after ServeConn.
func (s *Server) ServeConn(ctx context.Context, conn io.ReadWriteCloser, needToken bool) error {
	s.mu.Lock()
	s.number++
	c := newClient(ctx, s, conn, fmt.Sprintf("client %d", s.number), needToken)
	s.clients[c] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.clients, c)
	}()
	return c.serve()
}

// Stdio is the connection of a server that an editor has started: requests on standard input, responses and events on
// standard output.
func Stdio() io.ReadWriteCloser { return stdio{interruptible(os.Stdin), os.Stdout} }

// interruptible makes a Read that waits on a pipe or socket end when it is closed. A terminal is left alone: it is
// shared with the shell.
func interruptible(f *os.File) *os.File {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return f
	}
	fd := int(f.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}

type stdio struct {
	in  io.ReadCloser
	out io.WriteCloser
}

func (s stdio) Read(p []byte) (int, error)  { return s.in.Read(p) }   //nolint:wrapcheck // io.EOF must stay io.EOF
func (s stdio) Write(p []byte) (int, error) { return s.out.Write(p) } //nolint:wrapcheck // as Read
func (s stdio) Close() error                { return errors.Join(s.in.Close(), s.out.Close()) }

// checkToken compares in constant time. The lengths may differ: what is compared is of the token's length always.
func (s *Server) checkToken(c *client, command, given string) error {
	if !c.needToken {
		return nil
	}
	if s.token == "" {
		return refuse("%s was refused: this server listens on TCP and was given no token, so nobody can use it; "+
			"start it with a token", command)
	}
	same := len(given) == len(s.token)
	probe := []byte(given)
	if !same {
		probe = []byte(s.token)
	}
	if subtle.ConstantTimeCompare(probe, []byte(s.token)) == 1 && same {
		c.authorized.Store(true)
		return nil
	}
	found := "a token that is not this server's"
	if given == "" {
		found = "no token"
	}
	return refuse("%s was refused: the argument `token` is needed on TCP, and %s was given; use the token that cohort dap printed when it started", command, found)
}

// claim makes room for a job that is going to be launched, unless there is one.
func (s *Server) claim() (*debuggee, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.current; d != nil {
		if ended, _ := d.ended(); ended {
			return nil, refuse("launch was refused: the job of this server has ended, but %d of its clients have not "+
				"disconnected yet; "+
				"disconnect them, and launch again", d.clientCount())
		}
		return nil, refuse("launch was refused: this server has a job already, and a server has one at a time; " +
			"send attach instead, which joins that job, or start another server")
	}
	s.current = newDebuggee(s)
	return s.current, nil
}

// joinable is the job that an attaching client joins.
func (s *Server) joinable() (*debuggee, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil, refuse("attach was refused: this server has no job yet; the first client must send launch, and " +
			"then others can attach to its job")
	}
	return s.current, nil
}

// release forgets d, so that the next client can launch.
func (s *Server) release(d *debuggee) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == d {
		s.current = nil
	}
}
