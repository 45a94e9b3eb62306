package report

import (
	_ "embed"
	"html/template"
	"io"
	"path/filepath"
	"strings"
)

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"join": strings.Join, "base": filepath.Base, "trim": strings.TrimSpace,
}).Parse(page))

// writeHTML writes one page that loads nothing. All that comes from the program is escaped.
func (r *Report) writeHTML(w io.Writer) error {
	return pageTemplate.Execute(w, struct {
		*Report
		Head                    string
		OutputText, SessionText string
	}{r, r.head(), r.Output.String(), r.Session.String()}) //nolint:wrapcheck // the caller names the file
}
