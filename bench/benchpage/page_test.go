package benchpage

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestNotesStay(t *testing.T) {
	const mark = "<!-- mark -->"
	dir := t.TempDir()
	page := filepath.Join(dir, "page.md")
	write := func(table string, fails error) error {
		return Write(page, mark, func(w io.Writer, notes string) error {
			_, err := io.WriteString(w, table+"\n"+mark+"\n"+notes)
			return errors.Join(err, fails)
		})
	}
	is := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(page); err != nil || string(got) != want {
			t.Errorf("the page is %q, %v; want %q", got, err, want)
		}
	}
	if err := write("first", nil); err != nil {
		t.Fatal(err)
	}
	is("first\n" + mark + "\n")
	if err := os.WriteFile(page, []byte("first\n"+mark+"\nby hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write("second", nil); err != nil {
		t.Fatal(err)
	}
	is("second\n" + mark + "\nby hand\n")
	if err := write("third", errors.New("no figures")); err == nil {
		t.Error("a page that could not be made was written")
	}
	is("second\n" + mark + "\nby hand\n")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("in the folder there are %v, %v", left, err)
	}
}
