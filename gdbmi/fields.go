package gdbmi

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// Fields reads the members of a tuple or list by name and type. The first thing that is not as
// asked is kept as an error, for [Fields.Err]; every reader then returns a zero value, so that a decoder
// checks once, at its end. Fields of one record share that error; they belong to one goroutine.
//
// The readers that begin with Opt return the zero value or the given default for a name that is
// absent, and still fail on a value of the wrong type.
type Fields struct {
	err   *error
	text  string // as gdb wrote it
	items []Result
}

// Fields returns a reader of r's results.
func (r Record) Fields() *Fields { return &Fields{new(error), r.Text, r.Items} }

// Err returns the first failure of any Fields of this record, or nil. It names the field, and shows what it is missing
// from.
func (f *Fields) Err() error { return *f.err }

func (f *Fields) fail(name, want string, v *Value) {
	if *f.err != nil {
		return
	}
	found := "nothing"
	switch {
	case v == nil:
	case v.Kind == Const:
		found = strconv.Quote(v.Text)
	default:
		found = "a " + v.Kind.String()
	}
	*f.err = fmt.Errorf("gdbmi: want %s at %s, found %s, in: %s", want, name, found, shorten(f.text))
}

// find returns the first member of that name.
func (f *Fields) find(name string) *Value {
	for i := range f.items {
		if f.items[i].Name == name {
			return &f.items[i].Value
		}
	}
	return nil
}

// Has reports whether there is a member of that name.
func (f *Fields) Has(name string) bool { return f.find(name) != nil }

// read reads a string as a T, and tells whether it is there and is one.
func read[T any](f *Fields, name, want string, optional bool, parse func(string) (T, error)) (none T, ok bool) {
	v := f.find(name)
	if v == nil && optional {
		return none, false
	}
	if v != nil && v.Kind == Const {
		if value, err := parse(v.Text); err == nil {
			return value, true
		}
	}
	f.fail(name, want, v)
	return none, false
}

func plain(s string) (string, error) { return s, nil }

// String returns the string of that name.
func (f *Fields) String(name string) string {
	s, _ := read(f, name, "a string", false, plain)
	return s
}

// OptString returns the string of that name, or "".
func (f *Fields) OptString(name string) string {
	s, _ := read(f, name, "a string", true, plain)
	return s
}

// Int returns the decimal integer of that name.
func (f *Fields) Int(name string) int {
	n, _ := read(f, name, "an integer", false, strconv.Atoi)
	return n
}

// OptInt returns the decimal integer of that name, or def if it is absent.
func (f *Fields) OptInt(name string, def int) int {
	if n, ok := read(f, name, "an integer", true, strconv.Atoi); ok {
		return n
	}
	return def
}

// OptOctal returns the octal number of that name (gdb gives exit codes so), or 0.
func (f *Fields) OptOctal(name string) int {
	n, _ := read(f, name, "an octal number", true, func(s string) (int64, error) { return strconv.ParseInt(s, 8, 32) })
	return int(n)
}

// OptAddr returns the hexadecimal address of that name, and whether it is there and a number: gdb also
// puts "<PENDING>", "<MULTIPLE>" and "<unavailable>" in its place, which are no failures.
func (f *Fields) OptAddr(name string) (uint64, bool) {
	if v := f.find(name); v != nil && strings.HasPrefix(v.Text, "<") {
		return 0, false
	}
	return read(f, name, "an address", true, func(s string) (uint64, error) {
		digits, ok := strings.CutPrefix(s, "0x")
		if !ok {
			return 0, strconv.ErrSyntax
		}
		return strconv.ParseUint(digits, 16, 64)
	})
}

// OptBool returns whether the field is one of gdb's words for yes ("y", "1", "true"); absent is false.
func (f *Fields) OptBool(name string) bool {
	yes, _ := read(f, name, "a truth value", true, func(s string) (bool, error) {
		switch s {
		case "y", "1", "true", "yes", "on":
			return true, nil
		case "n", "0", "false", "no", "off":
			return false, nil
		}
		return false, strconv.ErrSyntax
	})
	return yes
}

func (f *Fields) sub(v *Value) *Fields { return &Fields{f.err, v.Text, v.Items} }

// Tuple returns a reader of the tuple of that name.
func (f *Fields) Tuple(name string) *Fields {
	v := f.find(name)
	if v == nil || v.Kind != Tuple {
		f.fail(name, "a tuple", v)
		v = &Value{}
	}
	return f.sub(v)
}

// OptTuple returns a reader of the tuple of that name, and whether it is there.
func (f *Fields) OptTuple(name string) (*Fields, bool) {
	if !f.Has(name) {
		return f.sub(&Value{}), false
	}
	return f.Tuple(name), true
}

// list are the members of the list of that name. gdb writes some lists as tuples (`{"a","b"}`), so that is read too. An
// absent list has none.
func (f *Fields) list(name string) []Result {
	v := f.find(name)
	if v == nil {
		return nil
	}
	if v.Kind == Const {
		f.fail(name, "a list", v)
	}
	return v.Items
}

// Tuples yields a reader for each tuple in the list of that name, be the members plain values
// (`[{...},{...}]`) or results (`[frame={...},frame={...}]`).
func (f *Fields) Tuples(name string) iter.Seq[*Fields] {
	return func(yield func(*Fields) bool) {
		for i, it := range f.list(name) {
			if it.Value.Kind == Const {
				f.fail(fmt.Sprintf("%s[%d]", name, i), "a tuple", &it.Value)
				return
			}
			if !yield(f.sub(&it.Value)) {
				return
			}
		}
	}
}

// Strings returns the strings in the list of that name; nil if it is absent.
func (f *Fields) Strings(name string) []string {
	var out []string
	for _, it := range f.list(name) {
		if it.Value.Kind != Const {
			f.fail(name, "a list of strings", &it.Value)
			return nil
		}
		out = append(out, it.Value.Text)
	}
	return out
}

// All yields a reader for each tuple of that name among the members, and for the nameless tuples that
// follow one: `bkpt={...},{...}` is how MI 2 lists the locations of a breakpoint.
func (f *Fields) All(name string) iter.Seq[*Fields] {
	return func(yield func(*Fields) bool) {
		in := false
		for _, it := range f.items {
			if it.Name != "" {
				in = it.Name == name
			}
			if in && it.Value.Kind == Tuple && !yield(f.sub(&it.Value)) {
				return
			}
		}
	}
}
