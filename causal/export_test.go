package causal

import "iter"

// Messages iterates over all messages, by sender and send.
func (g *Graph) Messages() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		for r := range g.ranks {
			for i := range g.ranks[r].sends {
				if !g.ranks[r].sends[i].void && !yield(g.Message(MessageRef{int32(r), int32(i)})) {
					return
				}
			}
		}
	}
}

// Collectives iterates over all collectives, by communicator and place.
func (g *Graph) Collectives() iter.Seq[Collective] {
	return func(yield func(Collective) bool) {
		for _, in := range g.instances {
			if !in.first().IsZero() && !yield(in.collective()) {
				return
			}
		}
	}
}
