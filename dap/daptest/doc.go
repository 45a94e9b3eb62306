// Package daptest is a DAP client for tests of Cohort's server, of the whole with real ranks, and for scripts that
// check a session.
//
// What a test waits for is an Expectation. It has three verdicts: met, not yet, and no longer possible; a test fails at
// once when what it waits for can no longer come, and says why, with the last messages. Nothing sleeps and nothing
// polls.
//
//	c := daptest.New(t, conn)
//	c.Launch(protocol.LaunchArguments{Program: "./heat", Ranks: 4})
//	c.SetBreakpoints("heat.c", 41)
//	c.ConfigurationDone()
//	c.Expect(daptest.Stopped(2, "breakpoint"))
//
// Events are numbered as they arrive. Expect looks at the events after the client's cursor and moves it behind the one
// that met the expectation; events that it passed over are not seen again, so expectations of things that may come in
// any order go into one Expect.
//
// **Invariant:** one goroutine reads; it never blocks on the test.
package daptest
