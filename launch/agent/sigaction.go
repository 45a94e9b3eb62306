package agent

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func rawSigaction(s syscall.Signal, action *[4]uint64, maskBytes uintptr) {
	//nolint:errcheck,gosec // the kernel reads the struct during the call only; SIGKILL has no action to set
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(action)), 0, maskBytes, 0, 0)
}
