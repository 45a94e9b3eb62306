package control_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/pmpi/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func create(t *testing.T) (string, *control.Block) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "control")
	c, err := control.Create(path, control.Start{
		Mode: abi.ModeOrder, Flags: abi.FlagYield, Rank: 3, WorldSize: 4, ParkAt: 17, GuardAt: abi.Never,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return path, c
}

func TestControlIsShared(t *testing.T) {
	path, c := create(t)
	other, err := control.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if other.ParkAt() != 17 || other.GuardAt() != abi.Never || other.State() != abi.StateNew {
		t.Errorf("park_at %d, guard_at %d, state %v", other.ParkAt(), other.GuardAt(), other.State())
	}
	c.SetParkAt(99)
	c.SetGuardAt(100)
	if other.ParkAt() != 99 || other.GuardAt() != 100 {
		t.Errorf("park_at %d, guard_at %d", other.ParkAt(), other.GuardAt())
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := control.Create(path, control.Start{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("created over another: %v", err)
	}
}

func TestOpenControlRefuses(t *testing.T) {
	path, _ := create(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	magic, version := append([]byte{}, whole...), append([]byte{}, whole...)
	magic[0]++
	version[8]++
	for name, text := range map[string][]byte{"empty": nil, "short": whole[:100], "magic": magic, "version": version} {
		bad := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(bad, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := control.Open(bad); err == nil {
			t.Errorf("%s: opened %v", name, c)
		}
	}
	if _, err := control.Open(path + "-missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	_, c := create(t)
	cause := errors.New("the rank died")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { cancel(cause) })
	if _, err := c.WaitChange(ctx, abi.StateNew); !errors.Is(err, cause) {
		t.Errorf("WaitChange: %v", err)
	}
	if _, err := c.WaitParked(ctx); !errors.Is(err, cause) {
		t.Errorf("WaitParked: %v", err)
	}
	if state, err := c.WaitChange(t.Context(), abi.StateParked); state != abi.StateNew || err != nil {
		t.Errorf("a state that is another already: %v, %v", state, err)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{abi.ModeReplay.String(), "replay"},
		{abi.Mode(9).String(), "mode 9"},
		{abi.StateParked.String(), "parked"},
		{abi.StopEnd.String(), "end of recording"},
	} {
		if c.got != c.want {
			t.Errorf("found %q, expected %q", c.got, c.want)
		}
	}
}
