package agent

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// signalName is the name of a signal, such as SIGSEGV.
func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return s.String()
}

// Mirror gives this process the program's end: it does not return if the program died by a signal, unless that signal
// cannot be raised. It returns the exit status to end with. For main only.
func (o Outcome) Mirror() int {
	if o.Signal == 0 {
		return o.Code
	}
	// The program has left a core already, if one is wanted; a second one, of the agent, would confuse.
	none := unix.Rlimit{}
	unix.Setrlimit(unix.RLIMIT_CORE, &none)      //nolint:errcheck // then there is a second core
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) //nolint:errcheck // likewise
	defaultAction(o.Signal)                      // Go's own handler would print the stacks of all goroutines
	// To this very thread: then it has arrived when the call returns.
	runtime.LockOSThread()
	unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil) //nolint:errcheck // the status below says it, then
	unix.Tgkill(unix.Getpid(), unix.Gettid(), o.Signal)          //nolint:errcheck // likewise
	return 128 + int(o.Signal)
}

// defaultAction is signal(s, SIG_DFL), which package os/signal does not do for the signals of faults.
func defaultAction(s syscall.Signal) {
	var action [4]uint64 // struct sigaction of the kernel: handler, flags, restorer, mask; all zero is SIG_DFL
	const maskBytes = 8
	//nolint:errcheck,gosec // the kernel reads the struct during the call only; SIGKILL has no action to set
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, maskBytes, 0, 0)
}
