// Package tui is Cohort's terminal front end: a DAP client that shows all ranks of a job at once.
//
// It speaks to the server over one connection and nothing else: whatever it does, any other DAP client can do. The
// files:
//
//	session.go    what the program asks of the server, as tea.Cmds
//	model.go      the state, owned by bubbletea's event loop
//	update.go     messages -> state
//	keys.go       keys -> state and commands; the one table from which the help on the screen is made
//	view.go       state -> screen;  panes.go: one function per pane
//	source.go     source files and where the ranks are in them
//	scrollback.go the text of the Output and Console panes
//	vartree.go    the tree of variables, loaded as it is opened
//
// **Invariant:** tui imports dap/protocol and dap/client and nothing else of ours.
//
// **Invariant:** only bubbletea's loop touches a Model; the reader of the connection sends it messages.
package tui
