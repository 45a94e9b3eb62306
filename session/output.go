package session

import (
	"bytes"
	"sync"

	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/launch"
)

func discard(launch.OutputChunk) {}

// launcherOutput keeps what the launcher says until there is a job to show it, and passes it on from then on. The
// ranks' own output comes through their backends.
type launcherOutput struct {
	mu   sync.Mutex // guards all below; publishing never blocks for long
	job  *job.Job
	kept bytes.Buffer
}

func (o *launcherOutput) write(chunk launch.OutputChunk) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.job == nil {
		o.kept.Write(chunk.Data) // cannot fail
		return
	}
	say(o.job, chunk.Category, string(chunk.Data))
}

func (o *launcherOutput) attach(j *job.Job) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.job = j
	if o.kept.Len() > 0 {
		say(j, "console", o.kept.String())
		o.kept.Reset()
	}
}

// say shows text that comes from no rank. A job that is closed has nobody left to see it.
func say(j *job.Job, category, text string) {
	_ = j.ReportOutput(job.Output{Category: category, Text: text})
}
