// Package gdb is the backend.Backend that drives gdb through its machine interface: one gdb, one rank.
//
// A Backend is one owner goroutine (owner.go) that carries out requests one after another and takes in
// what gdb says of its own accord in between. Files by group of requests: launch.go, resume.go, stop.go,
// breakpoints.go, stack.go (threads and frames), variables.go and varobj.go, evaluate.go, memory.go.
//
// **Invariant:** only the owner goroutine touches the state of a rank. Interrupt, Control and Kill
// overtake it and touch none.
//
// **Invariant:** what a user asks to see never changes the program: only SetVariable and an evaluation
// in the "repl" context may write memory or call functions.
//
// **Invariant:** a Ref is valid until the rank resumes; all of gdb's variable objects are deleted then.
//
// **Invariant:** nothing that the program is to preload reaches gdb itself.
package gdb
