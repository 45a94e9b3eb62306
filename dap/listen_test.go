package dap

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListenRefuses(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ address, says string }{
		{"", "no address"},
		{"0.0.0.0:0", "only loopback"},
		{":4711", "only loopback"},
		{"192.0.2.1:4711", "ssh tunnel"},
		{"example.org:4711", "only loopback"},
		{"nonsense", "neither HOST:PORT"},
		{"127.0.0.1:notaport", "127.0.0.1:notaport"},
		{plain, "not a socket"},
		{filepath.Join(dir, "missing", "s"), "cannot be written"},
		{filepath.Join(dir, strings.Repeat("x", 120)), "shorter path"},
	}
	for _, tt := range tests {
		l, err := Listen(tt.address)
		if err == nil {
			_ = l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("Listen(%q): %v, want an error that says %q", tt.address, err, tt.says)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("refused addresses left something behind: %v %v", left, err)
	}
}

func TestListenUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if l.Address() != "unix:"+path || l.NeedsToken() {
		t.Errorf("address %q, token needed: %v", l.Address(), l.NeedsToken())
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket's mode is %v, %v", info.Mode(), err)
	}
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "another server listens") {
		t.Errorf("a second server at the same path: %v", err)
	}
	accepted := make(chan error, 1)
	go func() {
		for range 2 { // the second Listen has tried whether someone answers
			conn, err := l.Accept()
			if err != nil {
				accepted <- err
				return
			}
			_ = conn.Close()
		}
		accepted <- nil
	}()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if err := <-accepted; err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// A server that was killed leaves its socket; the next one takes it over.
func TestListenTakesOverADeadSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	l, err := Listen("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestListenPrivate(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	l, err := Listen("unix")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(strings.TrimPrefix(l.Address(), "unix:"))
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory's mode is %v, %v", info.Mode(), err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
}

func TestListenTCP(t *testing.T) {
	for _, address := range []string{"0", "127.0.0.1:0", "localhost:0", "tcp:127.0.0.1:0"} {
		l, err := Listen(address)
		if err != nil {
			t.Errorf("Listen(%q): %v", address, err)
			continue
		}
		if !l.NeedsToken() || !strings.HasPrefix(l.Address(), "127.0.0.1:") {
			t.Errorf("Listen(%q): address %q, token needed: %v", address, l.Address(), l.NeedsToken())
		}
		_ = l.Close()
	}
}
