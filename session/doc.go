// Package session starts what a DAP launch request asks for: a live job under debuggers, or the replay of a recording
// with its steering. It fulfils dap.Starter and joins launch, runner, job and replayctl; nothing but cmd imports it.
package session
