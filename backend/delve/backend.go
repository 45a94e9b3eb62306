package delve

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
)

// Options of a Backend. The zero value will do.
type Options struct{ Log *slog.Logger }

// Backend debugs one rank with Delve. It must be ended with Kill, and its Events must be read.
type Backend struct {
	*base.Backend
	pid atomic.Int64 // of the program; 0: none
}

var _ backend.Debugger = (*Backend)(nil)

// New makes a backend that has not launched anything yet.
func New(opt Options) *Backend {
	b := &Backend{}
	o := &owner{
		b: b, bps: base.NewBreakpoints[int](), ran: make(chan error, 1), numbers: newNumbers(),
		symbols: map[string]*symbolTable{}, deaths: make(chan os.Signal, 1),
	}
	b.Backend = base.New(o, opt.Log)
	go o.run()
	return b
}

// Kill implements backend.Backend. It may be called again, and returns when the program is gone.
func (b *Backend) Kill(ctx context.Context) error {
	return b.KillBy(ctx, func() error {
		if pid := b.pid.Load(); pid != 0 {
			unix.Kill(int(pid), unix.SIGKILL) //nolint:errcheck // it has ended by itself
		}
		return nil
	})
}

// alone is held while a program is debugged: see the package's invariant.
var alone sync.Mutex

type nothing = struct{}
