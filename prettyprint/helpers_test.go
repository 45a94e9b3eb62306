package prettyprint_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

var hexNumber = regexp.MustCompile(`0x([0-9a-f]+)`)

// relative writes addresses of the buffer at base as ADDR+offset.
func relative(s string, base uint64) string {
	return hexNumber.ReplaceAllStringFunc(s, func(m string) string {
		n, err := strconv.ParseUint(m[2:], 16, 64)
		if err != nil || n < base || n > base+1<<20 {
			return m
		}
		return fmt.Sprintf("ADDR+%d", n-base)
	})
}

func isOurs(err error) bool {
	var e *fault.Error
	return errors.As(err, &e)
}

// commsOf are all communicators of a rank that are not MPI_COMM_NULL and not freed.
func commsOf(r *handle.Rank) ([]*handle.Comm, error) {
	heads, _, _, err := r.Heads(registry.ClassOf(registry.KindComm))
	if err != nil {
		return nil, err
	}
	var all []*handle.Comm
	for _, h := range heads {
		c, err := r.CommAt(h.Address)
		if err != nil {
			return nil, err
		}
		if c.Kind != abi.CommNull && !c.Freed {
			all = append(all, c)
		}
	}
	return all, nil
}

// datatypesOf are all live datatypes of a rank whose records can be decoded, in the order of their creation, and the
// first error met.
func datatypesOf(r *handle.Rank) (all []*datatype.Type, first error) {
	heads, problems, _, err := r.Heads(registry.ClassOf(registry.KindDatatype))
	if err != nil {
		return nil, err
	}
	for _, h := range heads {
		t, err := r.DatatypeAt(h.Address)
		if err != nil {
			problems = append(problems, err)
		} else if !h.Freed {
			all = append(all, t)
		}
	}
	if len(problems) > 0 {
		first = problems[0]
	}
	return all, first
}

// arguments are what a datatype's constructor was given, but for the types.
func arguments(t *datatype.Type) (integers, addresses []int64) {
	for i := range t.Integers.Len() {
		integers = append(integers, t.Integers.At(i))
	}
	for i := range t.Addresses.Len() {
		addresses = append(addresses, t.Addresses.At(i))
	}
	return integers, addresses
}

var kinds = regexp.MustCompile(`\([A-Z0-9_]+\)`)

// short is the short form of an address in its long form: t[2][5] of t(STRUCT)[2][5](CHAR).
func short(address string) string { return kinds.ReplaceAllString(address, "") }

// objectsOf are all objects of a kind; an error if one of them cannot be read.
func objectsOf(r *handle.Rank, kind registry.Kind) ([]registry.Head, error) {
	all, problems, unread, err := r.Heads(registry.ClassOf(kind))
	switch {
	case err != nil:
		return nil, err
	case len(problems) > 0:
		return nil, problems[0]
	case unread > 0:
		return nil, fmt.Errorf("%d are not read", unread)
	}
	return all, nil
}
