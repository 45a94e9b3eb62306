package dap

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
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
	o        Options
	requests map[string]spec

	// mu guards all state of the server, of the job that its clients share and of each client: the fields below, and
	// those that say so. It is held for moments: nobody who holds it waits, or asks the job. A connection's queue may
	// be pushed to with it.
	mu      sync.Mutex
	current *debuggee // the job that is being started, runs, or has ended and still has clients
	clients int
	number  int // of the client that came last
}

// NewServer returns a server; it serves nobody until Serve or ServeConn is called.
func NewServer(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.CallName == nil {
		o.CallName = func(op int) string { return fmt.Sprintf("MPI call %d", op) }
	}
	return &Server{o: o, requests: newRequests()}
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
		s.mu.Lock()
		full := s.clients >= maxClients
		s.mu.Unlock()
		if full { // it is not told more: whoever it is has not shown a token
			s.o.Log.Warn("dap: refused a connection: too many clients", "clients", maxClients, "from",
				conn.RemoteAddr())
			_ = conn.Close()
			continue
		}
		wg.Go(func() {
			if err := s.ServeConn(ctx, conn, l.NeedsToken()); err != nil {
				s.o.Log.Warn("dap: a connection ended", "why", err)
			}
		})
	}
}

// ServeConn serves one client on conn until it disconnects, its stream ends, or ctx ends, and closes conn. If the job
// is the client's own, or no other client is left, the job has been ended when ServeConn returns. needToken: launch and
// attach need the token. The error says why a connection ended that did not disconnect properly.
//
// Close of conn must end a Read that waits, unless the process ends after ServeConn.
func (s *Server) ServeConn(ctx context.Context, conn io.ReadWriteCloser, needToken bool) error {
	s.mu.Lock()
	s.number++
	s.clients++
	c := newClient(ctx, s, conn, fmt.Sprintf("client %d", s.number), needToken)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clients--
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

// checkToken compares in constant time; the connection ends after a wrong one.
func (k *call) checkToken(given string) error {
	token := k.c.srv.o.Token
	if !k.c.needToken {
		return nil
	}
	if token == "" {
		return refuse("%s was refused: this server listens on TCP and was given no token, so nobody can use it; "+
			"start it with a token", k.req.command)
	}
	// of equal length, which leaves nothing to measure
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(a[:], b[:]) == 1 {
		k.c.authorized.Store(true)
		return nil
	}
	k.onAnswered(func() { k.c.cancel(errWrongToken) })
	found := "a token that is not this server's"
	if given == "" {
		found = "no token"
	}
	return refuse("%s was refused: the argument `token` is needed on TCP, and %s was given; use the token that "+
		"cohort dap printed when it started", k.req.command, found)
}

// claim makes room for a job that is going to be launched, unless there is one.
func (s *Server) claim() (*debuggee, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch d := s.current; {
	case d == nil:
		s.current = newDebuggee(s)
		return s.current, nil
	case d.isOver:
		return nil, refuse("launch was refused: the job of this server has ended, but %d of its clients have not "+
			"disconnected yet; disconnect them, and launch again", len(d.clients))
	}
	return nil, refuse("launch was refused: this server has a job already, and a server has one at a time; " +
		"send attach instead, which joins that job, or start another server")
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
