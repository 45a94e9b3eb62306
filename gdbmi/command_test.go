package gdbmi

import (
	"errors"
	"testing"
)

func TestCommandsAreWritten(t *testing.T) {
	stem := Cmd("break-insert", "-f")
	for _, tt := range []struct {
		c    Command
		want string
	}{
		{Cmd("exec-run"), `-exec-run`},
		{Cmd("gdb-set", "confirm", "off"), `-gdb-set confirm off`},
		{stem.Opt("-c", `s == "a b"`).Params("dir with blank/a.c:3"), `-break-insert -f -c "s == \"a b\"" -- "dir with blank/a.c:3"`},
		{stem.Params("main"), `-break-insert -f -- main`},
		{Cmd("stack-list-variables").Thread(3).Frame(2).Opt("--all-values"), `-stack-list-variables --thread 3 --frame 2 --all-values`},
		{CLI("p x\n"), `-interpreter-exec console "p x\n"`},
		{Cmd("data-evaluate-expression").Params("-1"), `-data-evaluate-expression -- -1`},
		{Cmd("file-exec-and-symbols").Params("/tmp/é\\x\x01"), "-file-exec-and-symbols -- \"/tmp/é\\\\x\\001\""},
		{Cmd("x", ""), `-x ""`},
	} {
		if got := tt.c.String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
	if got := stem.String(); got != "-break-insert -f" {
		t.Errorf("a shared stem was changed: %s", got)
	}
}

func TestCommandsThatCannotBeWritten(t *testing.T) {
	for _, bad := range []Command{
		Cmd(""), Cmd("a b"), Cmd("x", "a\x00b"), Cmd("x").Params("\x00"),
		Cmd("x\n1-exec-run"),
	} {
		if err := bad.check(); !errors.Is(err, ErrCommand) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
