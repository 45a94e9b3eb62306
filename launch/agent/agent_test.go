package agent

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/internal/executable"
	"github.com/cohort-debugger/cohort/launch/pump"
	"github.com/cohort-debugger/cohort/launch/wire"
)

func TestIdentify(t *testing.T) {
	for name, c := range map[string]struct {
		env        map[string]string
		rank, size int
		err        string
	}{
		"hydra": {map[string]string{"PMI_RANK": "2", "PMI_SIZE": "4"}, 2, 4, ""},
		"open mpi": {
			map[string]string{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "1"},
			1, 2, "",
		},
		"pmix":         {map[string]string{"PMIX_RANK": "0"}, 0, 0, ""},
		"slurm":        {map[string]string{"SLURM_PROCID": "3", "SLURM_NTASKS": "8"}, 3, 8, ""},
		"hydra first":  {map[string]string{"PMI_RANK": "1", "SLURM_PROCID": "0", "PMIX_RANK": "7"}, 1, 0, ""},
		"none":         {nil, 0, 0, "no launcher said"},
		"not a number": {map[string]string{"PMI_RANK": "one"}, 0, 0, "PMI_RANK"},
		"negative":     {map[string]string{"PMI_RANK": "-1"}, 0, 0, "PMI_RANK"},
		"huge":         {map[string]string{"PMIX_RANK": "4294967295"}, 0, 0, "PMIX_RANK"},
		"size":         {map[string]string{"PMI_RANK": "4", "PMI_SIZE": "4"}, 0, 0, "PMI_SIZE"},
	} {
		t.Run(name, func(t *testing.T) {
			rank, size, err := Rank(func(name string) string { return c.env[name] })
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%d of %d, %v; want an error with %q", rank, size, err, c.err)
				}
				return
			}
			if err != nil || rank != c.rank || size != c.size {
				t.Errorf("%d of %d, %v; want rank %d of %d", rank, size, err, c.rank, c.size)
			}
		})
	}
}

func FuzzIdentify(f *testing.F) {
	f.Add("1", "2", "", "0")
	f.Fuzz(func(t *testing.T, pmi, size, pmix, slurm string) {
		env := map[string]string{"PMI_RANK": pmi, "PMI_SIZE": size, "PMIX_RANK": pmix, "SLURM_PROCID": slurm}
		rank, ranks, err := Rank(func(name string) string { return env[name] })
		if err == nil && (rank < 0 || rank > maxRank || ranks < 0 || ranks != 0 && rank >= ranks) {
			t.Errorf("%d of %d from %v", rank, ranks, env)
		}
	})
}

func TestApply(t *testing.T) {
	got := executable.Environment([]string{"A=1", "B=2", "C=3", "A=4"}, []string{"B", "C=x=y", "D=", "E", "B=back"})
	slices.Sort(got)
	if want := []string{"A=4", "B=back", "C=x=y", "D="}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProgramEnvKeepsPreloads(t *testing.T) {
	setup := wire.Setup{
		Env: []string{"LD_PRELOAD=/lib/mine.so"},
		Interpose: &wire.Interpose{
			Library: "/c/libcohort.so", ControlPath: "/j/control-0",
			TracePath: "/r/rank-0.trace",
		},
	}
	env := executable.Environment([]string{"COHORT_DECISIONS=stale"}, programEnv(setup, nil))
	slices.Sort(env)
	want := []string{
		"COHORT_CONTROL=/j/control-0", "COHORT_TRACE=/r/rank-0.trace",
		"LD_PRELOAD=/c/libcohort.so:/lib/mine.so",
	}
	if !slices.Equal(env, want) {
		t.Errorf("got %q, want %q", env, want)
	}
}

// received runs cat on a terminal and returns what it got when its input has ended.
func received(t interface{ Fatal(...any) }, send func(*terminal)) []byte {
	term, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got bytes.Buffer
	p, err := pump.New(term.master, nil, func(data []byte) {
		mu.Lock()
		defer mu.Unlock()
		got.Write(data)
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "cat") // killed if the end of its input does not come
	cmd.Stdin, cmd.Stdout = term.slave, term.slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	send(term)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	p.Close()
	term.close()
	return got.Bytes()
}

// Whatever is sent arrives as it is, and so does what comes back: no echo, no translation, no signals, whatever the
// bytes.
func TestTerminalIsTransparent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "data")
		got := received(t, func(term *terminal) {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			if err := term.send(ctx, data, true); err != nil {
				t.Fatal(err)
			}
		})
		if !bytes.Equal(got, data) {
			t.Fatalf("sent %q, received %q", data, got)
		}
	})
}

func TestTerminalRefusesLinesThatItWouldCut(t *testing.T) {
	term, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	defer term.close()
	if err := term.send(context.Background(), bytes.Repeat([]byte("x"), 5000), false); err == nil ||
		!strings.Contains(err.Error(), "a line of 5000 bytes") {
		t.Errorf("error %v", err)
	}
}

func TestTerminalInputIsCancelled(t *testing.T) {
	term, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	defer term.close()
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	// Nobody reads, so it blocks some time.
	if err := term.send(ctx, bytes.Repeat([]byte("line\n"), 100_000), false); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// The end of a program is not held up by a child that keeps the pipe open, and nothing written before is lost.
func TestPumpDoesNotWaitForOthers(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close() // held open all the time
	var got bytes.Buffer
	p, err := pump.New(read, nil, func(data []byte) { got.Write(data) })
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 50_000)
	if _, err := write.WriteString(text); err != nil {
		t.Fatal(err)
	}
	p.Drain()
	if got.Len() != len(text) {
		t.Errorf("drained %d bytes of %d", got.Len(), len(text))
	}
	p.Close()
	p.Close()
	p.Drain()
}

// A window without room leaves the writer waiting; a drain reads beyond it; room lets the pump continue.
func TestPumpKeepsToItsWindow(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	const room = 100_000
	window := pump.NewWindow(room)
	delivered := make(chan int, 1<<10)
	p, err := pump.New(read, window, func(data []byte) {
		window.Take(len(data))
		delivered <- len(data)
	})
	if err != nil {
		t.Fatal(err)
	}
	const all = 8 << 20 // more than one drain reads
	written := make(chan error, 1)
	go func() {
		_, err := write.Write(make([]byte, all))
		written <- errors.Join(err, write.Close())
	}()
	got := 0
	for got < room {
		got += <-delivered
	}
	p.Drain()
	for len(delivered) > 0 {
		got += <-delivered
	}
	select {
	case err := <-written:
		t.Fatalf("all was written, and %d bytes read: %v", got, err)
	default:
	}
	window.Give(2 * all)
	for got < all {
		got += <-delivered
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	p.Close()
	if got != all {
		t.Errorf("%d bytes were read", got)
	}
}
