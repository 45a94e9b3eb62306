package main

import "github.com/spf13/cobra"

// commands lists every command, in the order of the help.
func commands(std streams) []*cobra.Command {
	return []*cobra.Command{
		newRecordCommand(std),
		newReplayCommand(std),
		newDebugCommand(std),
		newCoreCommand(std),
		newDAPCommand(std),
		newCutCommand(std),
		newRacesCommand(std),
		newTraceCommand(std),
		newGdbScriptCommand(std),
		newLibraryCommand(std),
		newDoctorCommand(std),
		newAgentCommand(std),
		newGdbDecoderCommand(std),
		newGuardCommand(std),
		newManCommand(),
	}
}
