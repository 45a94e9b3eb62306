package dap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/atomicfile"
	"github.com/cohort-debugger/cohort/rankset"
)

// keepFile writes the file that a console command has made, on the host of this server, which is the user's, and names
// it in the answer. Where several ranks give different ones, of is the ranks that gave this, which its name then tells.
func (k *call) keepFile(r *backend.EvaluateResult, of rankset.Set) error {
	if r.File == nil {
		return nil
	}
	name := r.File.Name
	if of.Len() > 0 {
		extension := filepath.Ext(name)
		name = fmt.Sprintf("%s-%s%s", strings.TrimSuffix(name, extension), strings.ReplaceAll(of.String(), ",", "+"),
			extension)
	}
	path, err := writeFile(k.d.Launch.Cwd, name, r.File.Data)
	if err != nil {
		return err
	}
	if r.Text != "" && !strings.HasSuffix(r.Text, "\n") {
		r.Text += "\n"
	}
	r.Text += "The picture is in " + path + "\n"
	r.File = nil
	return nil
}

// writeFile writes a file whole or not at all: another client may do so at once. A relative name is one in dir, the
// directory of the program, or if that is not here in this server's.
func writeFile(dir, name string, data []byte) (path string, err error) {
	refused := func(err error) (string, error) {
		return "", quietly("%s cannot be written: %v", quoteShort(path), err)
	}
	path = name
	if !filepath.IsAbs(path) && filepath.IsAbs(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			path = filepath.Join(dir, path)
		}
	}
	if path, err = filepath.Abs(path); err != nil {
		return refused(err)
	}
	if old, err := os.Stat(path); err == nil && !old.Mode().IsRegular() {
		return refused(errors.New("it exists, and is no regular file"))
	}
	if err := atomicfile.Write(path, data); err != nil {
		return refused(err)
	}
	return path, nil
}
