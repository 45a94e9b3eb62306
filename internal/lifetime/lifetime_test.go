package lifetime

import (
	"os"
	"os/exec"
	"testing"
)

func TestStartTime(t *testing.T) {
	if ticks, ok := StartTime(os.Getpid()); !ok || ticks == 0 {
		t.Errorf("own start time %d %v", ticks, ok)
	}
	if _, ok := StartTime(1 << 30); ok {
		t.Error("a process that does not exist has a start time")
	}
}

func TestGone(t *testing.T) {
	self := Self()
	if gone, known := self.Gone(); gone || !known {
		t.Errorf("this process, %v: gone %v, known %v", self, gone, known)
	}
	child := exec.Command("cat")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	start, _ := StartTime(child.Process.Pid)
	other := Process{self.Place, child.Process.Pid, start}
	if gone, known := other.Gone(); gone || !known {
		t.Errorf("a child: gone %v, known %v", gone, known)
	}
	if gone, _ := (Process{self.Place, other.Pid, other.Start - 1}).Gone(); !gone {
		t.Error("another process has the pid now, and is taken for the one that has gone")
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if gone, known := other.Gone(); !gone || !known {
		t.Errorf("a child that has ended: gone %v, known %v", gone, known)
	}
	for _, p := range []Process{{"abcdefabcdef", other.Pid, other.Start}, {unknownPlace, other.Pid, other.Start}} {
		if gone, known := p.Gone(); gone || known {
			t.Errorf("a process of elsewhere, %v: gone %v, known %v", p, gone, known)
		}
	}
}

func TestParse(t *testing.T) {
	self := Self()
	if got, ok := Parse(self.String() + "-1234"); !ok || got != self {
		t.Errorf("%v is read as %v, %v", self, got, ok)
	}
	for _, text := range []string{
		"", "1512580028", "abc-12", "abc--1-2", "abc-99999999999-1",
		"abc-1-99999999999999999999",
	} {
		if got, ok := Parse(text); ok {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
