package gdbmi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustParse(t *testing.T, line string) Record {
	t.Helper()
	r, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFieldsRead(t *testing.T) {
	r := mustParse(t, `4*stopped,reason="breakpoint-hit",bkptno="2",exit-code="017",frame={addr="0x0000555555556c5c",func="twice<int>",args=[{name="x",value="1"},{name="y",value="2"}],line="6"},groups=["i1","i2"],addr="<PENDING>",enabled="y"`)
	f := r.Fields()
	frame := f.Tuple("frame")
	var names []string
	for a := range frame.Tuples("args") {
		names = append(names, a.String("name")+"="+a.String("value"))
	}
	_, hasAddr := f.OptAddr("addr")
	addr, _ := frame.OptAddr("addr")
	got := []any{
		f.String("reason"), f.Int("bkptno"), addr, frame.Int("line"), names, f.Strings("groups"),
		f.OptOctal("exit-code"), f.OptOctal("absent"), hasAddr, f.OptBool("enabled"), f.OptBool("absent"), f.OptInt("absent", -1),
		f.OptString("absent"), f.Has("frame"),
	}
	want := []any{
		"breakpoint-hit", 2, uint64(0x555555556c5c), 6,
		[]string{"x=1", "y=2"},
		[]string{"i1", "i2"},
		15, 0, false, true, false, -1, "", true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := f.Err(); err != nil {
		t.Error(err)
	}
}

func TestFieldsReadDuplicates(t *testing.T) {
	for _, line := range []string{
		`^done,bkpt={number="1"},{number="1.1"},{number="1.2"},x="y",{number="no"}`,
		`^done,bkpt={number="1"},bkpt={number="1.1"},bkpt={number="1.2"}`,
	} {
		var got []string
		f := mustParse(t, line).Fields()
		for b := range f.All("bkpt") {
			got = append(got, b.String("number"))
		}
		if diff := cmp.Diff([]string{"1", "1.1", "1.2"}, got); diff != "" || f.Err() != nil {
			t.Errorf("%s: %v\n%s", line, f.Err(), diff)
		}
	}
	var levels []int
	f := mustParse(t, `^done,stack=[frame={level="0"},frame={level="1"}]`).Fields()
	for frame := range f.Tuples("stack") {
		levels = append(levels, frame.Int("level"))
	}
	if diff := cmp.Diff([]int{0, 1}, levels); diff != "" {
		t.Error(diff)
	}
}

func TestFieldErrorsNameFieldAndTuple(t *testing.T) {
	const frame = `{level="0",args=[{name="x"},{name="y",value={}}],line="six"}`
	const line = `9^done,stack=[frame=` + frame + `]`
	first := func(f *Fields) *Fields {
		for frame := range f.Tuples("stack") {
			return frame
		}
		return nil
	}
	for _, tt := range []struct {
		name string
		read func(*Fields)
		want string
	}{
		{"absent", func(f *Fields) { f.String("bkpt") }, `want a string at bkpt, found nothing, in: ` + line},
		{
			"not a number", func(f *Fields) { first(f).Int("line") },
			`want an integer at line, found "six", in: ` + frame,
		},
		{"a tuple for a string", func(f *Fields) {
			for a := range first(f).Tuples("args") {
				a.OptString("value")
			}
		}, `want a string at value, found a tuple, in: {name="y",value={}}`},
		{
			"a list for a tuple", func(f *Fields) { f.Tuple("stack").String("x") },
			`want a tuple at stack, found a list, in: ` + line,
		},
		{
			"not an address", func(f *Fields) { first(f).OptAddr("level") },
			`want an address at level, found "0", in: ` + frame,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := mustParse(t, line).Fields()
			tt.read(f)
			if err := f.Err(); err == nil || err.Error() != "gdbmi: "+tt.want {
				t.Errorf("got  %v\nwant gdbmi: %s", err, tt.want)
			}
		})
	}
}
