// Package dap is Cohort's Debug Adapter Protocol server: the only door to a job. Editors, the terminal UI, scripts and
// tests are its clients, and several of them may share one job.
//
// It owns the connections, one session per connection, and the translation between DAP and package job: ranks are DAP
// threads, and what is not in DAP (rank sets, focus, cuts) is in dap/protocol. It starts nothing itself: a Starter,
// supplied by cmd/cohort, starts the ranks.
//
// Code map:
//
//	wire.go        frames: headers, lengths, base messages. Input from outside; fuzzed
//	outbox.go      the ordered outgoing queue of one connection
//	listen.go      addresses, unix sockets, loopback TCP, who may connect
//	server.go      the Server, its clients, and the one debuggee that they share
//	debuggee.go    a started job until it is gone
//	client.go      one connection from its first byte to its last
//	dispatch.go    requests: lanes, order, cancel, the one place that answers
//	arguments.go   decoding of arguments, with messages for people
//	requests.go    the table of requests
//	lifecycle.go breakpoints.go execution.go stack.go variables.go evaluate.go console.go ranks.go steering.go
//	               the handlers, one file per group: they return a body or an error, and send nothing
//	events.go      the job's stream of events -> DAP events
//	view.go        what one client has been told: threads, frame ids, variable references
//
// **Invariant:** each request gets exactly one response, whatever it holds; it is sent by dispatch.go and nowhere else.
//
// **Invariant:** one mutex, Server.mu, guards the state of the server, of the job that its clients share, and of each
// client.
//
// **Invariant:** no input from a client ends the process, and none blocks the answers to the others.
//
// **Invariant:** a `stopped` event never overtakes the response of the request that made the rank run.
//
// **Invariant:** on TCP nothing is started, read or told before the token has been compared, in constant time.
//
// Deliberately absent: TLS and addresses other than loopback (a later issue), reverse requests (runInTerminal), and any
// state of ranks: package job has that.
package dap
