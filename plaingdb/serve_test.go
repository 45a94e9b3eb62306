package plaingdb_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/plaingdb"
)

// FuzzServe has a script that says anything.
func FuzzServe(f *testing.F) {
	for _, lines := range []string{
		"", "\n", "{}", `{"do":"mpipp","line":"--help"}`, `{"do":"mpipp","pid":1,"line":"t"}`, `{"do":"describe","pid":1,"type":"MPI_Comm","handle":1}`,
		`{"do":"mpipp","pid":1,"line":"t"}` + "\n" + `{"address":4096}` + "\n" + `{"address":4096,"memory":"AAAA"}`, `{"do":"mpipp","pid":1}` + "\n" + `{"memory":[1]}`,
		`{"do":"mpipp","pid":1}` + "\n" + `{"address":18446744073709551615}`, `[1]`,
	} {
		f.Add(lines)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		var out bytes.Buffer
		_ = plaingdb.Serve(strings.NewReader(lines), &out, "fuzzed") // an error is as good as an answer
		if !strings.HasPrefix(out.String(), `{"protocol":2,`) {
			t.Errorf("it greets with %q", out.String())
		}
	})
}

func TestServe(t *testing.T) {
	var out bytes.Buffer
	err := plaingdb.Serve(strings.NewReader(`{"do":"mpipp","pid":0,"line":"x"}`+"\n"+`{"do":"dance","pid":1}`+"\n"),
		&out, "v1")
	want := `{"protocol":2,"cohort":"decoder","version":"v1"}` + "\n" +
		`{"done":true,"error":"There is no process: run the program, attach to one of its ranks, or open a core file."}` + "\n" +
		`{"done":true,"error":"The decoder was asked for \"dance\", which it does not do."}` + "\n"
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := plaingdb.Serve(strings.NewReader(`{"do":"mpipp","pid":1,"line":"x"}`+"\n"), &out, "v1"); err == nil {
		t.Errorf("a conversation that ends in the middle is no error:\n%s", out.String())
	}
}

func TestInstall(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	path, err := plaingdb.Install(dir, `/a "strange" place/cohort`)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte(`"/a \"strange\" place/cohort"`)) ||
		bytes.Contains(text, []byte("@COHORT@")) {
		t.Errorf("%v\n%.300s", err, text)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := plaingdb.Install(dir, `/a "strange" place/cohort`)
	after, statErr := os.Stat(path)
	if err != nil || statErr != nil || again != path || !os.SameFile(before, after) {
		t.Errorf("%s, %v, %v: it was written again", again, err, statErr)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := plaingdb.Install(dir, "/cohort"); err == nil ||
		!strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("%v", err)
	}
}
