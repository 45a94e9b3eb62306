package dap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxSocketPath is what sun_path holds on Linux without its closing zero.
const maxSocketPath = 107

// A Listener accepts DAP clients. Close removes what Listen made.
type Listener struct {
	net.Listener
	address   string
	needToken bool
	cleanup   func()
}

// Address is what a client dials, in the form that Listen takes: "unix:/path" or "127.0.0.1:4711".
func (l *Listener) Address() string { return l.address }

// NeedsToken tells whether a client must send a token with launch or attach: always on TCP, where any user of the host
// can connect.
func (l *Listener) NeedsToken() bool { return l.needToken }

// Close stops listening and removes the socket and its directory.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	l.cleanup()
	if err != nil {
		return fmt.Errorf("stop listening on %s: %w", l.address, err)
	}
	return nil
}

// Listen opens what address names:
//
//	unix              a socket in a new directory that only this user can enter
//	unix:/path, /path a socket at that path, readable and writable by this user only
//	127.0.0.1:4711, [::1]:4711, localhost:4711, tcp:..., 4711 (a port alone; 0: any free port)   TCP, loopback only
func Listen(address string) (*Listener, error) {
	if address == "" {
		return nil, errors.New("no address to listen on was given: " + addresses)
	}
	var l *Listener
	var err error
	path, socket := strings.CutPrefix(address, "unix:")
	switch {
	case address == "unix":
		l, err = listenPrivate()
	case socket || strings.Contains(path, "/"):
		l, err = listenUnix(path)
	default:
		l, err = listenTCP(strings.TrimPrefix(address, "tcp:"))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w", address, err)
	}
	return l, nil
}

const addresses = "use \"unix\", a path such as /tmp/cohort.sock, or a loopback address such as 127.0.0.1:4711"

func listenTCP(address string) (*Listener, error) {
	if _, err := strconv.ParseUint(address, 10, 16); err == nil {
		address = "127.0.0.1:" + address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("it is neither HOST:PORT (%w) nor a path with a slash; %s", err, addresses)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip := net.ParseIP(host)
	if ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("whoever can connect can run programs as you, so only loopback addresses are allowed, "+
			"such as 127.0.0.1:%s; from another host, use an ssh tunnel (ssh -L) to it", port)
	}
	var config net.ListenConfig
	inner, err := config.Listen(context.Background(), "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	return &Listener{Listener: inner, address: inner.Addr().String(), needToken: true, cleanup: func() {}}, nil
}

func listenPrivate() (*Listener, error) {
	base := os.Getenv("XDG_RUNTIME_DIR")
	if info, err := os.Stat(base); err != nil || !info.IsDir() {
		base = os.TempDir()
	}
	dir, err := os.MkdirTemp(base, "cohort-dap-") // 0700
	if err != nil {
		return nil, fmt.Errorf("make a private directory for the socket: %w", err)
	}
	l, err := listenUnix(filepath.Join(dir, "dap.sock"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	inner := l.cleanup
	l.cleanup = func() {
		inner()
		_ = os.Remove(dir) // empty now; if the user put something into it, it stays
	}
	return l, nil
}

// listenUnix binds in a private directory beside path, narrows the mode, and only then links the socket to path: there
// is no moment at which another user could connect, and an existing file is never replaced.
func listenUnix(path string) (*Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := clearDeadSocket(path); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".c")
	if err != nil {
		return nil, fmt.Errorf("the directory cannot be written: %w", err)
	}
	defer os.RemoveAll(dir)
	private := filepath.Join(dir, "s")
	if n := max(len(private), len(path)); n > maxSocketPath {
		return nil, fmt.Errorf("the path of a unix socket may have about %d bytes and this needs %d; choose a "+
			"shorter path",
			maxSocketPath, n)
	}
	inner, err := net.ListenUnix("unix", &net.UnixAddr{Name: private, Net: "unix"})
	if err != nil {
		return nil, err
	}
	inner.SetUnlinkOnClose(false) // it would unlink the private name
	err = errors.Join(os.Chmod(private, 0o600), os.Link(private, path))
	mine, statErr := os.Lstat(path)
	if err := cmp.Or(err, statErr); err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	cleanup := func() {
		// Another server may have taken the name meanwhile: its socket is not ours to remove.
		if now, err := os.Lstat(path); err == nil && os.SameFile(mine, now) {
			_ = os.Remove(path)
		}
	}
	return &Listener{Listener: &ownUserListener{inner}, address: "unix:" + path, cleanup: cleanup}, nil
}

// clearDeadSocket removes a socket that no one listens on, as a killed server leaves it, and refuses anything else that
// is in the way.
func clearDeadSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSocket == 0:
		return errors.New("a file that is not a socket is there; choose another path or remove it")
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(context.Background(), "unix", path)
	switch {
	case err == nil:
		_ = conn.Close()
		return errors.New("another server listens there; choose another path, or attach to that one")
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("a socket is there and cannot be tested: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("a dead server's socket is there and cannot be removed: %w", err)
	}
	return nil
}

// ownUserListener accepts connections of this user and of root only, whatever became of the socket's mode.
type ownUserListener struct{ *net.UnixListener }

func (l *ownUserListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, fmt.Errorf("accept on a unix socket: %w", err)
		}
		if peerAllowed(conn) {
			return conn, nil
		}
		_ = conn.Close()
	}
}

func peerAllowed(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	var peer *unix.Ucred // nil: not known
	err = raw.Control(func(fd uintptr) {
		peer, _ = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	return err == nil && peer != nil && (peer.Uid == 0 || int(peer.Uid) == os.Geteuid())
}
