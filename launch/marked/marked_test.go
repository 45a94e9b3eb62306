package marked

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestFindAndKillAll(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	const mark, other = "one", "oneandmore" // jobs
	start := func(job string) *exec.Cmd {
		cmd := exec.Command("cat")
		cmd.Env = append(os.Environ(), JobVar+"="+job)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
		return cmd
	}
	a, b, c := start(mark), start(mark), start(other)
	found, err := Find(mark)
	if err != nil || len(found) != 2 {
		t.Fatalf("found %v, %v", found, err)
	}
	for _, p := range found {
		if (p.Pid != a.Process.Pid && p.Pid != b.Process.Pid) || p.Command != "cat" {
			t.Errorf("found %+v", p)
		}
	}
	// They are zombies of this process when they have been killed: those do not count.
	killed, err := KillAll(ctx, mark)
	if err != nil || len(killed) != 2 {
		t.Errorf("killed %v, %v", killed, err)
	}
	if left, err := Find(mark); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if err := Wait(ctx, mark); err != nil {
		t.Error(err)
	}
	if left, err := Find(other); err != nil || len(left) != 1 || left[0].Pid != c.Process.Pid {
		t.Errorf("the other: %v, %v", left, err)
	}
	short, cancelShort := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancelShort()
	if err := Wait(short, other); err == nil {
		t.Error("Wait did not wait")
	}
	if left, err := Find(""); err != nil || len(left) != 0 {
		t.Errorf("without the name of a job %v was meant, %v", left, err)
	}
}
