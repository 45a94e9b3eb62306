package gdbmi

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// FieldError says which field of which record is not what its reader expects.
type FieldError struct {
	Record Record // the record that was read
	Path   string // e.g. "frame.args[2].value"
	Want   string // e.g. "an integer"
	Found  string // what is there, or "nothing"
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("gdbmi: want %s at %s, found %s, in: %s", e.Want, e.Path, e.Found, e.Record.brief())
}

// reading is what all Fields of one record share.
type reading struct {
	record Record
	err    error
}

// Fields reads the members of a tuple or list by name and type. The first thing that is not as
// asked is kept as an error, for [Fields.Err]; every reader then returns a zero value, so that a decoder
// checks once, at its end. Fields of one record share that error; they belong to one goroutine.
//
// The readers that begin with Opt return the zero value or the given default for a name that is
// absent, and still fail on a value of the wrong type.
type Fields struct {
	r      *reading
	parent *Fields
	name   string
	index  int // ordinal in the parent when name is empty
	items  []Result
}

// Fields returns a reader of r's results.
func (r Record) Fields() *Fields { return &Fields{r: &reading{record: r}, items: r.Items} }

// Err returns the first failure of any Fields of this record, a *[FieldError], or nil.
func (f *Fields) Err() error { return f.r.err }

// Items returns the members as they are.
func (f *Fields) Items() []Result { return f.items }

func (f *Fields) path() string {
	if f.parent == nil {
		return ""
	}
	up := f.parent.path()
	if f.name == "" {
		return up + "[" + strconv.Itoa(f.index) + "]"
	}
	return join(up, f.name)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (f *Fields) fail(name, want string, v *Value) {
	if f.r.err != nil {
		return
	}
	found := "nothing"
	if v != nil {
		found = v.Kind.String()
		if v.Kind == Const {
			found = strconv.Quote(v.Text)
		}
	}
	f.r.err = &FieldError{Record: f.r.record, Path: join(f.path(), name), Want: want, Found: found}
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

func (f *Fields) text(name, want string, optional bool) (string, bool) {
	v := f.find(name)
	if v == nil {
		if !optional {
			f.fail(name, want, nil)
		}
		return "", false
	}
	if v.Kind != Const {
		f.fail(name, want, v)
		return "", false
	}
	return v.Text, true
}

// String returns the string of that name.
func (f *Fields) String(name string) string {
	s, _ := f.text(name, "a string", false)
	return s
}

// OptString returns the string of that name, or "".
func (f *Fields) OptString(name string) string {
	s, _ := f.text(name, "a string", true)
	return s
}

func (f *Fields) integer(name string, optional bool, def int) int {
	s, ok := f.text(name, "an integer", optional)
	if !ok {
		return def
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		f.fail(name, "an integer", &Value{Text: s})
		return def
	}
	return n
}

// Int returns the decimal integer of that name.
func (f *Fields) Int(name string) int { return f.integer(name, false, 0) }

// OptInt returns the decimal integer of that name, or def if it is absent.
func (f *Fields) OptInt(name string, def int) int { return f.integer(name, true, def) }

// OptOctal returns the octal number of that name (gdb gives exit codes so), and whether it is there.
func (f *Fields) OptOctal(name string) (int, bool) {
	s, ok := f.text(name, "an octal number", true)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 8, 32)
	if err != nil {
		f.fail(name, "an octal number", &Value{Text: s})
		return 0, false
	}
	return int(n), true
}

// OptAddr returns the hexadecimal address of that name, and whether it is there and a number: gdb also
// puts "<PENDING>", "<MULTIPLE>" and "<unavailable>" in its place, which are no failures.
func (f *Fields) OptAddr(name string) (uint64, bool) {
	s, ok := f.text(name, "an address", true)
	if !ok || strings.HasPrefix(s, "<") {
		return 0, false
	}
	digits, hex := strings.CutPrefix(s, "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	if !hex || err != nil {
		f.fail(name, "an address", &Value{Text: s})
		return 0, false
	}
	return n, true
}

// Addr returns the hexadecimal address of that name.
func (f *Fields) Addr(name string) uint64 {
	n, ok := f.OptAddr(name)
	if !ok {
		f.fail(name, "an address", f.find(name))
	}
	return n
}

// OptBool returns whether the field is one of gdb's words for yes ("y", "1", "true"); absent is false.
func (f *Fields) OptBool(name string) bool {
	s, ok := f.text(name, "a truth value", true)
	if !ok {
		return false
	}
	switch s {
	case "y", "1", "true", "yes", "on":
		return true
	case "n", "0", "false", "no", "off":
		return false
	}
	f.fail(name, "a truth value", &Value{Text: s})
	return false
}

func (f *Fields) sub(name string, index int, v *Value) *Fields {
	s := &Fields{r: f.r, parent: f, name: name, index: index}
	if v != nil {
		s.items = v.Items
	}
	return s
}

// Tuple returns a reader of the tuple of that name.
func (f *Fields) Tuple(name string) *Fields {
	v := f.find(name)
	if v == nil || v.Kind != Tuple {
		f.fail(name, "a tuple", v)
		v = nil
	}
	return f.sub(name, 0, v)
}

// OptTuple returns a reader of the tuple of that name, and whether it is there.
func (f *Fields) OptTuple(name string) (*Fields, bool) {
	if !f.Has(name) {
		return f.sub(name, 0, nil), false
	}
	return f.Tuple(name), true
}

// Tuples yields a reader for each tuple in the list of that name, be the members plain values
// (`[{...},{...}]`) or results (`[frame={...},frame={...}]`). gdb writes some lists as tuples
// (`{"a","b"}`), so that is read too. An absent list yields nothing.
func (f *Fields) Tuples(name string) iter.Seq[*Fields] {
	return func(yield func(*Fields) bool) {
		v := f.find(name)
		if v == nil {
			return
		}
		if v.Kind == Const {
			f.fail(name, "a list", v)
			return
		}
		list := f.sub(name, 0, v)
		for i := range v.Items {
			it := &v.Items[i]
			if it.Value.Kind == Const {
				list.fail("["+strconv.Itoa(i)+"]", "a tuple", &it.Value)
				return
			}
			if !yield(list.sub("", i, &it.Value)) {
				return
			}
		}
	}
}

// Strings returns the strings in the list of that name; nil if it is absent.
func (f *Fields) Strings(name string) []string {
	v := f.find(name)
	if v == nil {
		return nil
	}
	if v.Kind == Const {
		f.fail(name, "a list", v)
		return nil
	}
	out := make([]string, 0, len(v.Items))
	for i := range v.Items {
		if v.Items[i].Value.Kind != Const {
			f.fail(name, "a list of strings", &v.Items[i].Value)
			return nil
		}
		out = append(out, v.Items[i].Value.Text)
	}
	return out
}

// All yields a reader for each tuple of that name among the members, and for the nameless tuples that
// follow one: `bkpt={...},{...}` is how MI 2 lists the locations of a breakpoint.
func (f *Fields) All(name string) iter.Seq[*Fields] {
	return func(yield func(*Fields) bool) {
		n, in := 0, false
		for i := range f.items {
			it := &f.items[i]
			if it.Name != "" {
				in = it.Name == name
			}
			if !in || it.Value.Kind != Tuple {
				continue
			}
			if !yield(f.sub(name+"#"+strconv.Itoa(n), 0, &it.Value)) {
				return
			}
			n++
		}
	}
}
