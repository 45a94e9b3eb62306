package launch

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Cores counts the cores (not hardware threads) that this process may run on: distinct (package, core) pairs among the
// processors that the affinity mask allows. That is what launchers call a slot.
func Cores() int {
	var mask unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mask); err != nil {
		return runtime.NumCPU()
	}
	seen := map[string]bool{}
	for cpu := range len(mask) * 64 {
		if !mask.IsSet(cpu) {
			continue
		}
		dir := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/", cpu)
		pkg, err1 := os.ReadFile(dir + "physical_package_id")
		core, err2 := os.ReadFile(dir + "core_id")
		if err1 != nil || err2 != nil {
			return runtime.NumCPU()
		}
		seen[strings.TrimSpace(string(pkg))+"/"+strings.TrimSpace(string(core))] = true
	}
	if len(seen) == 0 {
		return runtime.NumCPU()
	}
	return len(seen)
}
