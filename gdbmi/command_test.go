package gdbmi

import "testing"

func TestCommandsAreWritten(t *testing.T) {
	stem := Cmd("break-insert", "-f")
	for _, tt := range []struct {
		c    Command
		want string
	}{
		{Cmd("exec-run"), `-exec-run`},
		{Cmd("gdb-set", "confirm", "off"), `-gdb-set confirm off`},
		{
			stem.Opt("-c", `s == "a b"`).Opt("dir with blank/a.c:3"),
			`-break-insert -f -c "s == \"a b\"" "dir with blank/a.c:3"`,
		},
		{stem.Opt("main"), `-break-insert -f main`},
		{
			Cmd("stack-list-variables").Thread(3).Frame(2).Opt("--all-values"),
			`-stack-list-variables --thread 3 --frame 2 --all-values`,
		},
		{CLI("p x\n"), `-interpreter-exec console "p x\n"`},
		{Cmd("data-evaluate-expression", "-1"), `-data-evaluate-expression -1`},
		{Cmd("file-exec-and-symbols", "/tmp/é\\x\x01"), "-file-exec-and-symbols \"/tmp/é\\\\x\\001\""},
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
	if err := Cmd("x", "a\x00b").check(); err == nil {
		t.Error("a zero byte is written")
	}
}
