package scripts

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// runWithStatus: usage: status N ARGUMENT... Runs cohort, which must end with the status N.
func runWithStatus(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: status N ARGUMENT...")
	}
	want := number(ts, args[0])
	err := ts.Exec("cohort", args[1:]...)
	var exit *exec.ExitError
	got := 0
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("cohort %s: %v", strings.Join(args[1:], " "), err)
	}
	if got != want {
		ts.Fatalf("cohort %s: the status is %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func number(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}

// copyDir: usage: copydir FROM TO. What was at TO goes away.
func copyDir(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: copydir FROM TO")
	}
	ts.Check(os.RemoveAll(ts.MkAbs(args[1])))
	ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(ts.MkAbs(args[0]))))
}

// editFile: usage: edit FILE OLD NEW. OLD must be there once.
func editFile(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if n := strings.Count(text, args[1]); n != 1 {
		ts.Fatalf("%s holds %q %d times", args[0], args[1], n)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o600))
}

// patchFile: usage: patch FILE OFFSET BYTE. The byte must not be that already.
func patchFile(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: patch FILE OFFSET BYTE")
	}
	change(ts, args[0], number(ts, args[1]), func(byte) byte { return byte(number(ts, args[2])) })
}

// flipByte: usage: flip FILE OFFSET. All bits of the byte change, whatever it is; a negative offset counts from the
// end.
func flipByte(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: flip FILE OFFSET")
	}
	change(ts, args[0], number(ts, args[1]), func(b byte) byte { return ^b })
}

func change(ts *testscript.TestScript, file string, offset int, to func(byte) byte) {
	data := []byte(ts.ReadFile(file))
	if offset < 0 {
		offset += len(data)
	}
	if offset < 0 || offset >= len(data) || data[offset] == to(data[offset]) {
		ts.Fatalf("byte %d of %s (%d bytes) cannot be changed so", offset, file, len(data))
	}
	data[offset] = to(data[offset])
	ts.Check(os.WriteFile(ts.MkAbs(file), data, 0o600))
}

// truncateFile: usage: truncate FILE LENGTH.
func truncateFile(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: truncate FILE LENGTH")
	}
	ts.Check(os.Truncate(ts.MkAbs(args[0]), int64(number(ts, args[1]))))
}

// everyLength: usage: everylength RECORDING FILE COPY. At each of several lengths of the file the replay of the copy is
// refused, by the file's name, and nothing of the recording is changed.
func everyLength(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: everylength RECORDING FILE COPY")
	}
	whole := []byte(ts.ReadFile(filepath.Join(args[0], args[1])))
	for _, n := range []int{
		0, 1, 7, 8, 100, 4095, 4096, 4097, len(whole) / 2, (4096 + len(whole)) / 2,
		len(whole) - 1,
	} {
		if n >= len(whole) {
			continue
		}
		copyDir(ts, false, []string{args[0], args[2]})
		path := filepath.Join(args[2], args[1])
		ts.Check(os.Truncate(ts.MkAbs(path), int64(n)))
		runWithStatus(ts, false, []string{"2", "replay", args[2]})
		said := ts.ReadFile("stderr")
		for _, want := range []string{args[1], fmt.Sprint(n), "record again"} {
			if !strings.Contains(said, want) {
				ts.Fatalf("truncated to %d bytes: %q is not in %q", n, want, said)
			}
		}
		if left := []byte(ts.ReadFile(path)); !bytes.Equal(left, whole[:n]) {
			ts.Fatalf("truncated to %d bytes, the file was changed", n)
		}
	}
}
