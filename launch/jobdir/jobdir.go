// Package jobdir owns the directory of a running job: the socket at which its agents report, the token that they must
// show, and the control blocks. It has mode 0700 and an unpredictable name in $XDG_RUNTIME_DIR or the temporary
// directory, and is gone when the job is.
//
// **Invariant:** a directory is only ever removed by its owner, or when the owner (process id and start time) no longer
// lives.
package jobdir

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cohort-debugger/cohort/internal/lifetime"
	"github.com/cohort-debugger/cohort/internal/privatedir"
)

const (
	prefix     = "cohort-job-"
	socketName = "agents.sock"
	tokenName  = "token"
	ownerName  = "owner"
	// maxSocket is what sockaddr_un takes, less the terminating NUL.
	maxSocket = 107
)

// Dir is the directory of one job.
type Dir struct {
	Path  string
	ID    string // random; also the value of COHORT_JOB_ID
	Token string
}

// Create makes a directory for a job of this process. It first removes the directories that dead jobs of this user have
// left behind.
func Create() (*Dir, error) {
	base, err := basePath()
	if err != nil {
		return nil, err
	}
	Sweep()
	id, token := randomHex(12), randomHex(32)
	d := &Dir{Path: filepath.Join(base, prefix+id), ID: id, Token: token}
	if err := os.Mkdir(d.Path, 0o700); err != nil {
		return nil, fmt.Errorf("making a directory for the job: %w", err)
	}
	start, _ := lifetime.StartTime(os.Getpid())
	err = errors.Join(
		os.WriteFile(filepath.Join(d.Path, ownerName), fmt.Appendf(nil, "%d %d\n", os.Getpid(), start), 0o600),
		os.WriteFile(filepath.Join(d.Path, tokenName), []byte(token), 0o600),
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a directory for the job: %w", err), d.Remove())
	}
	return d, nil
}

// Open is how an agent finds its job.
func Open(path string) (*Dir, error) {
	if err := privatedir.Check(path); err != nil {
		return nil, fmt.Errorf("looking for the directory of the job (has the job ended?): %w", err)
	}
	token, err := os.ReadFile(filepath.Join(path, tokenName))
	if err != nil {
		return nil, fmt.Errorf("reading the token of the job: %w", err)
	}
	return &Dir{Path: path, ID: strings.TrimPrefix(filepath.Base(path), prefix), Token: string(token)}, nil
}

// Socket is the path at which the job listens.
func (d *Dir) Socket() string { return filepath.Join(d.Path, socketName) }

// Control is the path of a rank's control block.
func (d *Dir) Control(rank int) string { return filepath.Join(d.Path, fmt.Sprintf("control-%d", rank)) }

// Remove removes the directory.
func (d *Dir) Remove() error {
	if err := os.RemoveAll(d.Path); err != nil {
		return fmt.Errorf("removing the directory of the job: %w", err)
	}
	return nil
}

// Orphaned tells whether the process that made the directory no longer lives.
func (d *Dir) Orphaned() bool { return orphaned(d.Path) }

// Sweep removes the directories whose jobs are dead. What cannot be removed is left for the next time.
func Sweep() {
	bases := []string{os.TempDir()}
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); runtime != "" {
		bases = append(bases, runtime)
	}
	for _, base := range bases {
		paths, err := filepath.Glob(filepath.Join(base, prefix+"*"))
		if err != nil {
			continue // no pattern of ours
		}
		for _, path := range paths {
			if privatedir.Check(path) == nil && orphaned(path) {
				os.RemoveAll(path)
			}
		}
	}
}

func orphaned(path string) bool {
	var pid int
	var start uint64
	text, err := os.ReadFile(filepath.Join(path, ownerName))
	if err == nil {
		_, err = fmt.Sscanf(string(text), "%d %d\n", &pid, &start)
	}
	if err != nil { // just being made or removed; or its maker died between two steps
		info, err := os.Lstat(path)
		return err == nil && time.Since(info.ModTime()) > time.Hour
	}
	now, alive := lifetime.StartTime(pid)
	return !alive || now != start
}

// basePath is where the directory goes: its socket's path must fit into a socket address.
func basePath() (string, error) {
	length := len(prefix) + 2*12 + len("/") + len("/"+socketName)
	for _, base := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"} {
		if base == "" || !filepath.IsAbs(base) || len(base)+length > maxSocket {
			continue
		}
		if info, err := os.Stat(base); err == nil && info.IsDir() && writable(base) {
			return base, nil
		}
	}
	return "", fmt.Errorf("no directory for the job's socket: XDG_RUNTIME_DIR, TMPDIR (%s) and /tmp are missing, not "+
		"writable or too long: %w", os.TempDir(), fs.ErrNotExist)
}

func writable(dir string) bool { return syscall.Access(dir, 2 /* W_OK */) == nil }

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails: it ends the process instead
	return hex.EncodeToString(b)
}
