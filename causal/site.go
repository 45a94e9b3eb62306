package causal

// Site is a place in the program from which MPI was called: an address in a loaded object, relative to its load bias.
// It is the same on all ranks that run the same build.
type Site struct {
	Module  string // path of the object
	BuildID string // raw bytes; may be empty
	Offset  uint64 // inside the call instruction
}

// SiteOf returns from where an event was called; false if the trace does not say.
func (g *Graph) SiteOf(e EventID) (Site, bool) {
	if g.check(e) != nil || e.Index == 0 {
		return Site{}, false
	}
	r := &g.ranks[e.Rank]
	if at := r.sites[e.Index-1]; at != 0 {
		return r.declared[at-1], true
	}
	return Site{}, false
}
