package abi

import "strconv"

func (m Mode) String() string {
	return name("mode", uint32(m), "off", "order", "racing", "full", "replay")
}

func (s State) String() string {
	return name("state", uint32(s), "new", "running", "parked", "stopped", "diverged", "end", "finalized", "refused")
}

func (r StopReason) String() string {
	return name("reason", uint32(r), "none", "parked", "guard", "divergence", "end of recording")
}

func name(what string, v uint32, names ...string) string {
	if int64(v) < int64(len(names)) {
		return names[v]
	}
	return what + " " + strconv.FormatUint(uint64(v), 10)
}
