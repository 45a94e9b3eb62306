package debug

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/cohorttest"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// Each launch that cannot work is refused with what to do, and the same session can launch what does.
func TestDAPRefusesLaunches(t *testing.T) {
	t.Parallel()
	mpi := mpitest.Need(t, "mpich") // no MPI knows of what happens here
	w := cohorttest.New(t, mpi)
	script := w.Path("script.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil { // executable is the point
		t.Fatal(err)
	}
	hello := mpi.Build(t, "hello.c")
	if text, status := w.Run("record", "-n", "2", "-o", "r.cohort", "--unpacked", "--", hello); status != 0 {
		t.Fatalf("record has status %d and says:\n%s", status, text)
	}
	damaged := w.Path("damaged.cohort")
	if err := os.CopyFS(damaged, os.DirFS(w.Path("r.cohort"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(damaged, "rank-1.trace"), 4200); err != nil {
		t.Fatal(err)
	}
	conn, _ := w.DAP()
	c := daptest.New(t, conn)
	c.Initialize()
	for _, bad := range []struct {
		what map[string]any
		says []string
	}{
		{map[string]any{}, []string{"`program`", "`recording`"}},
		{
			map[string]any{"program": mpitest.BuildPlain(t, "nompi.c")},
			[]string{"is not linked to an MPI library", "Build it with mpicc"},
		},
		{map[string]any{"program": mpitest.Source(t, "hello.c")}, []string{"is not executable", "chmod +x"}},
		{map[string]any{"program": "/nowhere/prog"}, []string{"/nowhere/prog does not exist", "Check the path"}},
		{map[string]any{"program": w.Dir}, []string{"is a directory", "Name the MPI program itself"}},
		{
			map[string]any{"program": script},
			[]string{"is not a compiled program", "#!/bin/sh", "Name the MPI program itself"},
		},
		{map[string]any{"program": hello, "ranks": -1}, []string{"-1 ranks", "1 or more"}},
		{map[string]any{"program": hello, "ranks": 1000000}, []string{"1000000", "100000"}},
		{map[string]any{"program": hello, "ranks": "four"}, []string{"`ranks`", "a string", "a whole number"}},
		{map[string]any{"program": hello, "ranks": 2.5}, []string{"`ranks`", "2.5", "a whole number"}},
		{map[string]any{"program": hello, "cwd": "/nowhere"}, []string{"/nowhere is not a directory"}},
		{map[string]any{"program": hello, "yield": "often"}, []string{"`yield`", `"often"`}},
		{map[string]any{"program": hello, "mpi": "nonsense"}, []string{`"nonsense" is neither mpich nor openmpi`, "Leave --mpi out"}},
		{map[string]any{"program": hello, "mpi": "openmpi"}, []string{"is linked to", "Leave --mpi out"}},
		{
			map[string]any{"recording": w.Path("nowhere.cohort")},
			[]string{"is not a Cohort recording", "no such directory", "cohort record"},
		},
		{map[string]any{"recording": w.Path("r.cohort"), "ranks": 3}, []string{`"ranks" (3)`, "as many ranks as were recorded"}},
		{
			map[string]any{"recording": w.Path("r.cohort"), "program": mpi.Build(t, "hello.c", "-O1")},
			[]string{"is not the program of the recording", "build-id", "record anew"},
		},
		{map[string]any{"recording": damaged}, []string{"rank-1.trace", "truncated at byte 4200", "record again"}},
	} {
		c.Refused("launch", bad.what, bad.says...)
	}
	c.Do("launch", protocol.LaunchArguments{Program: hello, Ranks: 2}, nil)
	c.Expect(daptest.Initialized())
	c.ConfigurationDone()
	c.Expect(daptest.Terminated())
	c.Disconnect()
}

// What is no DAP, and what comes at a wrong time, has an answer that says so, and the session continues.
func TestDAPRefusesNonsense(t *testing.T) {
	t.Parallel()
	mpi := mpitest.Need(t, "mpich") // no rank is started but at the end
	w := cohorttest.New(t, mpi)
	conn, _ := w.DAP()
	c := daptest.New(t, conn)
	c.Refused("launch", protocol.LaunchArguments{Program: "x"}, "initialize")
	c.Initialize()
	c.Refused("initialize", daptest.InitializeArguments(), "a second time")
	c.Refused("threads", struct{}{}, "launch")
	c.Refused("continue", map[string]any{"threadId": 1}, "launch")
	c.Refused("configurationDone", struct{}{}, "launch")
	c.Refused("attach", struct{}{}, "launch")
	c.Refused("terminate", struct{}{}, "no job")
	c.Refused("cohort/rank", struct{}{}, `did you mean "cohort/ranks"`)
	c.Refused("goto", struct{}{}, "goto")
	answer := c.ExpectAnswer(0, "")
	if err := c.SendRaw([]byte("Content-Length: 12\r\n\r\n{\"seq\":77,\"t")); err != nil {
		t.Fatal(err)
	}
	var refusal *daptest.RequestError
	if err := answer.Wait(w.Ctx, nil); !errors.As(err, &refusal) ||
		!strings.Contains(refusal.Text, "not a JSON object") {
		t.Errorf("the answer to ill-formed JSON: %v", err)
	}
	c.Refused("launch", "not an object", "JSON object")

	c.Do("launch", protocol.LaunchArguments{Program: mpi.Build(t, "hello.c"), Ranks: 1, StopOnEntry: true}, nil)
	c.Expect(daptest.Initialized())
	c.Refused("stackTrace", map[string]any{"threadId": 1}, "configurationDone")
	c.ConfigurationDone()
	c.Expect(daptest.Stopped(0, "entry"))
	c.Refused("configurationDone", struct{}{}, "a second time")
	c.Refused("launch", protocol.LaunchArguments{Program: "x"}, "has a job already")
	c.Refused("stackTrace", map[string]any{"threadId": 4097}, "rank")
	c.Refused("cohort/setFocus", map[string]any{"ranks": "0-7"}, "0")
	c.Refused("evaluate", map[string]any{"expression": "[0", "context": "repl"})
	c.Refused("cohort/cut", map[string]any{"at": "0:1"}, "recording")

	answer = c.ExpectAnswer(0, "")
	if err := c.SendRaw([]byte("Content-Length: 987654321\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := answer.Wait(w.Ctx, nil); !errors.As(err, &refusal) || !strings.Contains(refusal.Text, "987654321 bytes") {
		t.Errorf("the answer to a message of a gigabyte: %v", err)
	}
	c.AwaitClosed(w.Ctx) // and with the connection goes the job
}

// On TCP nobody comes in without the token; who has it may join, and sees the same ranks.
func TestDAPTokenAndSecondClient(t *testing.T) {
	t.Parallel()
	mpi := mpitest.Need(t, "mpich") // no MPI knows of what happens here
	w := cohorttest.New(t, mpi)
	server := w.Listen("127.0.0.1:0")
	var address, token string
	if _, err := fmt.Sscanf(server.Said, "cohort dap listens on %s token %s", &address, &token); err != nil {
		t.Fatalf("cohort dap said %q: %v", server.Said, err)
	}
	arguments := protocol.LaunchArguments{
		Program: mpi.Build(t, "hello.c"), Ranks: 2, StopOnEntry: true,
		Token: token,
	}
	for _, wrong := range []string{"", "wrong", token[:len(token)-1], token + "x"} {
		for _, command := range []string{"launch", "attach"} {
			c := daptest.New(t, server.Dial("tcp", address))
			c.Initialize()
			c.Refused(command, map[string]any{"program": arguments.Program, "token": wrong}, "token")
			c.AwaitClosed(w.Ctx)
		}
	}
	if len(w.Processes()) != 1 {
		t.Errorf("something was started without the token: %v", w.Processes())
	}
	first := daptest.New(t, server.Dial("tcp", address))
	first.Launch(arguments)
	first.ConfigurationDone()
	first.Expect(daptest.Stopped(0, "entry"), daptest.Stopped(1, "entry"))

	second := daptest.New(t, server.Dial("tcp", address))
	second.Initialize()
	second.Refused("launch", arguments, "attach")
	second.Do("attach", protocol.AttachArguments{Token: token}, nil)
	second.Expect(daptest.Initialized())
	second.ConfigurationDone()
	var threads godap.ThreadsResponseBody
	second.Do("threads", struct{}{}, &threads)
	if len(threads.Threads) != 2 || threads.Threads[1].Name != "rank 1" {
		t.Errorf("the second client sees %+v", threads.Threads)
	}
	mine, theirs := first.WaitIdle(), second.WaitIdle()
	for i := range mine.Ranks {
		if mine.Ranks[i].Pid != theirs.Ranks[i].Pid || theirs.Ranks[i].State != "stopped" {
			t.Errorf("rank %d is %+v for the first client and %+v for the second", i, mine.Ranks[i],
				theirs.Ranks[i])
		}
	}
	second.Disconnect() // leaves the job to the first
	if ranks := first.WaitIdle().Ranks; ranks[0].State != "stopped" {
		t.Errorf("after the second client has left: %+v", ranks)
	}
	first.Continue(0)
	first.Expect(daptest.Terminated())
	first.Disconnect()
}
