package gdbmi

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func c(s string) Value            { return Value{Kind: Const, Text: s} }
func tup(items ...Result) Value   { return Value{Kind: Tuple, Items: items} }
func lst(items ...Result) Value   { return Value{Kind: List, Items: items} }
func kv(n string, v Value) Result { return Result{Name: n, Value: v} }
func text(s string) Record        { return Record{Kind: Text, Text: s} }
func console(s string) Record     { return Record{Kind: Console, Text: s} }
func done(token uint64, items ...Result) Record {
	return Record{Kind: ResultKind, Token: token, Class: ClassDone, Items: items}
}

func TestSplit(t *testing.T) {
	stopped := Record{Kind: Exec, Class: ClassStopped, Items: []Result{kv("reason", c("exited-normally"))}}
	for _, tt := range []struct {
		name, line string
		want       []Record
	}{
		{"done", "12^done", []Record{done(12)}},
		{"no token", "^done", []Record{done(0)}},
		{"prompt", "(gdb) ", []Record{{Kind: Prompt}}},
		{"prompt without blank", "(gdb)", []Record{{Kind: Prompt}}},
		{"console", `~"a\tb\n"`, []Record{console("a\tb\n")}},
		{"target", `@"out"`, []Record{{Kind: Target, Text: "out"}}},
		{"log", `&"warning: x\n"`, []Record{{Kind: Log, Text: "warning: x\n"}}},
		{"status", `5+download,section=".text",total-size="9"`, []Record{{
			Kind: Status, Token: 5, Class: "download",
			Items: []Result{kv("section", c(".text")), kv("total-size", c("9"))},
		}}},
		{"octal", `~"h\303\251\0\7\377"`, []Record{console("h\u00e9\x00\x07\xff")}},
		{"letters", `~"\a\b\e\E\f\n\r\t\v\\\"\'\?"`, []Record{console("\a\b\x1b\x1b\f\n\r\t\v\\\"'?")}},
		{"hex and universal", `~"\x41\x4g\u00e9\U0001F600"`, []Record{console("A\x04g\u00e9\U0001F600")}},
		{"raw bytes", "~\"\xff\xc3\xa9\"", []Record{console("\xff\u00e9")}},
		{"empty containers", `^done,a={},b=[],c=""`, []Record{done(0, kv("a", tup()), kv("b", lst()), kv("c", c("")))}},
		{"duplicate keys", `^done,stack=[frame={level="0"},frame={level="1"}]`, []Record{done(0,
			kv("stack", lst(kv("frame", tup(kv("level", c("0")))), kv("frame", tup(kv("level", c("1")))))))}},
		{
			"locations without a name", `3^done,bkpt={number="1"},{number="1.1"},{number="1.2"}`,
			[]Record{done(3, kv("bkpt", tup(kv("number", c("1")))), kv("", tup(kv("number", c("1.1")))),
				kv("", tup(kv("number", c("1.2")))))},
		},
		{
			"a tuple of values", `^done,script={"silent","p 1"}`,
			[]Record{done(0, kv("script", tup(kv("", c("silent")), kv("", c("p 1")))))},
		},
		{"a mixed list", `^done,l=["a",x="b",{},[]]`, []Record{done(0,
			kv("l", lst(kv("", c("a")), kv("x", c("b")), kv("", tup()), kv("", lst()))))}},
		{"unknown class", `=something-new,a="1"`, []Record{{
			Kind: Notify, Class: "something-new",
			Items: []Result{kv("a", c("1"))},
		}}},
		{"plain output", "hello, world", []Record{text("hello, world")}},
		{"an empty line", "", []Record{text("")}},
		{"output that looks like a token", "42", []Record{text("42")}},
		{"output with marks", `a=b, c^d, *x* ~ & @ "q" (gdb) no`, []Record{text(`a=b, c^d, *x* ~ & @ "q" (gdb) no`)}},
		{"glued in front", `noeol*stopped,reason="exited-normally"`, []Record{text("noeol"), stopped}},
		{"glued in front of a result", `progress 99%17^done`, []Record{text("progress 99%"), done(17)}},
		{"digits in front of a token cannot be told apart", `9917^done`, []Record{done(9917)}},
		{"glued in front of a stream", `noeol~"\n"`, []Record{text("noeol"), console("\n")}},
		{"glued in front of the prompt", `noeol(gdb) `, []Record{text("noeol"), {Kind: Prompt}}},
		{"glued behind", `*stopped,reason="exited-normally"and more`, []Record{stopped, text("and more")}},
		{"glued behind the prompt", "(gdb) 3 4 5", []Record{{Kind: Prompt}, text("3 4 5")}},
		{"glued behind a stream", `~"x"tail`, []Record{console("x"), text("tail")}},
		{"broken result", `7^done,bkpt={number="1",`, []Record{{
			Kind: Malformed, Token: 7,
			Text: `7^done,bkpt={number="1",`,
		}}},
		{"cut in a class", `7^do`, []Record{{Kind: ResultKind, Token: 7, Class: "do"}}},
		{"broken async", `*stopped,reason="exi`, []Record{text(`*stopped,reason="exi`)}},
		{"bad escape", `~"\q"`, []Record{text(`~"\q"`)}},
		{"octal too large", `~"\777"`, []Record{text(`~"\777"`)}},
		{"token before stream", `3~"x"`, []Record{text("3"), console("x")}},
		{"huge token", `99999999999999999999999^done`, []Record{text("99999999999999999999999^done")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, bareAll(Split(tt.line))); diff != "" {
				t.Errorf("Split(%q) (-want +got):\n%s", tt.line, diff)
			}
		})
	}
}

func TestParseSaysWhereItFails(t *testing.T) {
	_, err := Parse(`7^done,frame={level=x}`)
	if err == nil {
		t.Fatal("no error")
	}
	if got, want := err.Error(), `gdbmi: want a value at byte 20 of a line of 22 bytes, found "x}"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestParseBoundsNesting(t *testing.T) {
	line := "^done,a=" + strings.Repeat("[", 1<<20)
	if _, err := Parse(line); err == nil {
		t.Fatal("a million open brackets were taken for a record")
	}
	if got := Split(line); len(got) != 1 || got[0].Kind != Malformed {
		t.Errorf("got %d records, the first %v", len(got), got[0].Kind)
	}
}

// Every line of a session with a real gdb, in which the program's output shares the stream, is
// recognised, and written again gives a line that means the same.
func TestTranscriptsOfRealGdb(t *testing.T) {
	files, err := filepath.Glob("testdata/*.mi")
	if err != nil || len(files) < 2 {
		t.Fatalf("transcripts: %v, %v", files, err)
	}
	output := []string{"noeol", " i=15 2"}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(strings.TrimSuffix(string(content), "\n"), "\n") {
			for _, r := range Split(line) {
				if r.Kind == Malformed || r.Kind == Text && !slices.Contains(output, r.Text) {
					t.Errorf("%s:%d: %v: %s", name, n+1, r.Kind, r.Text)
					continue
				}
				if r.Kind == Text {
					continue
				}
				again, err := Parse(written(r))
				if diff := cmp.Diff(bare(r), bare(again)); err != nil || diff != "" {
					t.Errorf("%s:%d: written again: %v\n%s", name, n+1, err, diff)
				}
			}
		}
	}
}

func genValue(depth int) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		kind := Const
		if depth > 0 {
			kind = rapid.SampledFrom([]ValueKind{Const, Tuple, List}).Draw(t, "kind")
		}
		if kind == Const {
			return c(string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "text")))
		}
		return Value{Kind: kind, Items: rapid.SliceOfN(genResult(depth-1), 0, 4).Draw(t, "items")}
	})
}

func genResult(depth int) *rapid.Generator[Result] {
	return rapid.Custom(func(t *rapid.T) Result {
		return Result{
			Name:  rapid.StringMatching(`([a-zA-Z_][a-z0-9_.-]{0,6})?`).Draw(t, "name"),
			Value: genValue(depth).Draw(t, "value"),
		}
	})
}

func genRecord() *rapid.Generator[Record] {
	return rapid.Custom(func(t *rapid.T) Record {
		r := Record{Kind: rapid.SampledFrom([]Kind{ResultKind, Exec, Status, Notify, Console, Target, Log}).Draw(t,
			"kind")}
		if r.IsStream() {
			r.Text = string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
			return r
		}
		r.Token = rapid.Uint64Range(0, 1<<40).Draw(t, "token")
		r.Class = rapid.SampledFrom(classes[r.Kind]).Draw(t, "class")
		r.Items = rapid.SliceOfN(genResult(4), 0, 5).Draw(t, "items")
		return r
	})
}

// normal maps empty slices to nil, which is what the parser gives.
func normal(items []Result) []Result {
	if len(items) == 0 {
		return nil
	}
	for i := range items {
		items[i].Value.Items = normal(items[i].Value.Items)
	}
	return items
}

func TestRecordsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genRecord().Draw(t, "record")
		want.Items = normal(want.Items)
		got, err := Parse(written(want))
		if err != nil {
			t.Fatalf("%q: %v", written(want), err)
		}
		if diff := cmp.Diff(want, bare(got)); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
		// Output in front of it that holds no mark must not matter.
		front := rapid.StringMatching(`[a-z ,.]{1,9}`).Draw(t, "front")
		if diff := cmp.Diff([]Record{text(front), want}, bareAll(Split(front+written(want)))); diff != "" {
			t.Fatalf("glued, -want +got:\n%s", diff)
		}
	})
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		`12^done,bkpt={number="1"},{number="1.1"}`, `~"h\303\251\n"`, `noeol*stopped,reason="x"`, `(gdb) x`,
		`^error,msg="a \"b\"",code="undefined-command"`, `=thread-created,id="1"`, `5+download,{a="b"}`, `7^done,x=[`, `9&"x"`,
		`~"\x41\u00e9"`, `123456^running*running,thread-id="all"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsRune(line, '\n') {
			return
		}
		records := Split(line)
		if len(records) == 0 || len(records) > 2 {
			t.Fatalf("%d records", len(records))
		}
		for _, r := range records {
			if r.Kind == Text || r.Kind == Malformed {
				if !strings.Contains(line, r.Text) {
					t.Fatalf("%v %q is not of the line", r.Kind, r.Text)
				}
				continue
			}
			again, err := Parse(written(r))
			if err != nil {
				t.Fatalf("%q written as %q: %v", line, written(r), err)
			}
			if diff := cmp.Diff(bare(r), bare(again)); diff != "" {
				t.Fatalf("%q: -first +second:\n%s", line, diff)
			}
		}
	})
}

// A record of tens of megabytes, and long lines made to defeat the search for glued records, must take time in
// proportion to their length.
func TestLongLines(t *testing.T) {
	if testing.Short() {
		t.Skip("reads many megabytes")
	}
	const n = 8 << 20
	start := time.Now()
	for _, line := range []string{
		`^done,value="` + strings.Repeat(`\303\251`, n/8) + `"`,
		`^done,l=[` + strings.Repeat(`{a="b"},`, n/8) + `{}]`,
		strings.Repeat("1", n),
		strings.Repeat(`~"`, n/2),
		strings.Repeat(`*running,a="`, n/12),
		strings.Repeat(`*running,a={`, n/12),
		strings.Repeat(`(gdb)`, n/5),
		`x` + strings.Repeat(`~"\\`, n/4) + `"`,
	} {
		if got := Split(line); len(got) == 0 {
			t.Fatal("no record")
		}
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %v: that is not linear", d)
	}
}

func BenchmarkParseFrame(b *testing.B) {
	line := `*stopped,reason="breakpoint-hit",disp="keep",bkptno="4",frame={addr="0x000055555555657f",func="main",args=[{name="argc",value="1"},{name="argv",value="0x7fffffffe6f8"}],file="a.cc",fullname="/tmp/h-gdb/a.cc",line="18",arch="i386:x86-64"},thread-id="1",stopped-threads="all",core="0"`
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(line); err != nil {
			b.Fatal(err)
		}
	}
}
