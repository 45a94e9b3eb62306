// Package doctor finds out what of the things that Cohort needs is on this machine, what is unavailable without each,
// and how to fix it.
//
// **Invariant:** nothing is installed or changed, but that directories of dead jobs are removed as any start of a job
// does. What is started (gdb on a child, version questions, one compilation into the cache) has ended when Examine
// returns.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
)

// Status of a check.
type Status string

// The statuses.
const (
	OK      Status = "ok"
	Note    Status = "note"    // worth knowing; nothing is lost
	Warning Status = "warning" // something of Cohort does not work, or not well
	Missing Status = "missing" // without it Cohort is of little use
)

// Check is one thing that was looked at; no Status is OK. Texts are whole sentences or short facts.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Found  string `json:"found"`
	Costs  string `json:"costs,omitempty"` // what does not work because of it
	Fix    string `json:"fix,omitempty"`   // what to do
}

// Report is what Examine found.
type Report struct {
	OK     bool    `json:"ok"` // nothing essential is missing
	Checks []Check `json:"checks"`
}

// Examine looks at everything; isTerminal: standard output is a terminal. It takes some seconds if the interposer must
// be built.
func Examine(ctx context.Context, isTerminal bool) Report {
	sections := []func(context.Context) []Check{
		debugger, ptrace, mpis, compilers, machine, func(context.Context) []Check { return terminal(isTerminal) },
	}
	found := make([][]Check, len(sections))
	var group sync.WaitGroup
	for i, section := range sections {
		group.Go(func() { found[i] = section(ctx) })
	}
	group.Wait()
	report := Report{OK: true}
	for _, checks := range found {
		for _, c := range checks {
			c.Status = cmp.Or(c.Status, OK)
			report.OK = report.OK && c.Status != Missing
			report.Checks = append(report.Checks, c)
		}
	}
	return report
}

// install says how to get Debian packages, in the words of this system.
func install(packages ...string) string {
	list := strings.Join(packages, " ")
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		return fmt.Sprintf("Install what Debian calls %s, with the means of this system.", list)
	}
	if os.Geteuid() == 0 {
		return "apt-get install " + list
	}
	return "sudo apt-get install " + list
}

// firstLine of what a tool printed.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
