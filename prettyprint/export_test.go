package prettyprint

// Arguments are what the constructor was given, but for the types.
func (t *Datatype) Arguments() (integers, addresses []int64) {
	for i := range t.integers.len() {
		integers = append(integers, t.integers.at(i))
	}
	for i := range t.addrs.len() {
		addresses = append(addresses, t.addrs.at(i))
	}
	return integers, addresses
}

// Refs is how many hold the record: others that refer to it, and the program's handle.
func (t *Datatype) Refs() uint32 { return t.hdr.refs }

// Comms are all communicators that are not MPI_COMM_NULL and not freed.
func (r *Registry) Comms() ([]*Comm, error) {
	slots, err := r.slots(&r.commSlots, r.abi.comms, "communicators")
	if err != nil {
		return nil, err
	}
	var all []*Comm
	for _, s := range slots.live {
		c, err := r.comm(s.record)
		if err != nil {
			return nil, err
		}
		if c.Kind() != CommNull && !c.Freed() {
			all = append(all, c)
		}
	}
	return all, nil
}

// Objects are all objects of a kind; an error if one of them cannot be read.
func (r *Registry) Objects(kind HandleKind) ([]*Object, error) {
	all, problems, unread, err := r.allObjects(infoOf(kind))
	switch {
	case err != nil:
		return nil, err
	case len(problems) > 0:
		return nil, problems[0]
	case unread > 0:
		return nil, errorf(KindTooLarge, 0, "%d are not read", unread)
	}
	return all, nil
}

// Lost is how many records could not be kept.
func (r *Registry) Lost() uint64 { return r.abi.lost }

// QuoteBytes shows characters as a C string.
func QuoteBytes(b []byte) string { return quoteBytes(b) }
