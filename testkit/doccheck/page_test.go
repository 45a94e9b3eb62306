package doccheck

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const example = "# A page\n" +
	"\n" +
	"```console\n" +
	"$ one \\\n" +
	"    --two\n" +
	"first\n" +
	"\n" +
	"$ cohort debug -- ./prog\n" +
	"(cohort) p x\n" +
	"7\n" +
	"```\n" +
	"<!-- doccheck: status 3 any-order numbers openmpi -->\n" +
	"\n" +
	"```console\n" +
	"$ three\n" +
	"```\n" +
	"```\n" +
	"no prompt\n" +
	"```\n" +
	"```console\n" +
	"(gdb) p x\n" +
	"```\n"

func TestSteps(t *testing.T) {
	got, err := Steps(example)
	if err != nil {
		t.Fatal(err)
	}
	want := []Step{
		{Prompt: Shell, Command: "one --two", Want: []string{"first", ""}, Line: 4, Lines: 2},
		{Prompt: Shell, Command: "cohort debug -- ./prog", Line: 8, Lines: 1},
		{Prompt: Cohort, Command: "p x", Want: []string{"7"}, Line: 9, Lines: 1},
		{Prompt: Shell, Command: "three", Line: 15, Lines: 1, Options: Options{
			Status: 3, AnyOrder: true, Numbers: true,
			MPI: "openmpi",
		}},
		{Prompt: Gdb, Command: "p x", Line: 21, Lines: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A page cannot have an example that is not run without anybody's noticing.
func TestPagesThatAreRefused(t *testing.T) {
	for page, want := range map[string]string{
		"```\n$ one\n```\n":                                `not console`,
		"```sh\n(gdb) p x\n```\n":                          `not console`,
		"text\n\n    $ one\n":                              `in no block`,
		"```console\noutput\n```\n":                        `not with a prompt`,
		"```console\n$ one\n":                              `not closed`,
		"<!-- doccheck: sometimes -->\n":                   `"sometimes" is not understood`,
		"<!-- doccheck: status -->\n":                      `names no status`,
		"<!-- doccheck: status x -->\n```console\n$ one\n": `invalid syntax`,
	} {
		if _, err := Steps(page); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", page, err, want)
		}
	}
}

func TestCompare(t *testing.T) {
	same := [][3]string{
		{"", "\n\n", ""},
		{"a 0x7ffe10  b", "a 0x55 b", ""},
		{"in 2.3 s at heat.c:12", "in 120ms at /home/me/work/heat.c:12", ""},
		{"core.12 of process 12 in ~/x/y", "core.7 of process 8 in /tmp/y", ""},
		{"a\n...\nd", "a\nb\nc\nd", ""},
		{"...\nb\n...\nb", "b\na\nc\nb", ""},
		{"...", "", ""},
		{"a b ...\nc", "a b c d\nc", ""},
		{"...\na ...", "b\na b", ""},
		{"b ...\na", "a\nb c", "any-order"},
		{"7 of 9 at a.c:1", "8 of 99 at a.c:2", "numbers"},
		{"order 0570f0f67bb1aaa3 1.5", "order e0570f0f67bb1aaa 2", "numbers"},
		{"a\nb\nb", "b\na\nb", "any-order"},
		{"b\n...", "c\nb\na", "any-order"},
	}
	different := [][3]string{
		{"a", "", ""},
		{"", "a", ""},
		{"a", "a\nb", ""},
		{"a\n...\nd", "a\nb\nc", ""},
		{"at heat.c:12", "at heat.c:13", ""},
		{"a b ...", "a c", ""},
		{"at heat.c:12", "at /x/meat.c:12", ""},
		{"7", "8", ""},
		{"a 0x7ffe10", "a 7", ""},
		{"a b", "ab", ""},
		{"a\nb\nb", "b\na", "any-order"},
		{"a\nb", "b\na\nb", "any-order"},
		{"seven", "8", "numbers"},
	}
	check := func(c [3]string) error {
		options, err := parseOptions("<!-- doccheck: "+c[2]+" -->", Options{})
		if err != nil {
			t.Fatal(err)
		}
		return Compare(strings.Split(c[0], "\n"), strings.Split(c[1], "\n"), options)
	}
	for _, c := range same {
		if err := check(c); err != nil {
			t.Errorf("%q: %v", c, err)
		}
	}
	for _, c := range different {
		if check(c) == nil {
			t.Errorf("%q: no difference was found", c)
		}
	}
}
