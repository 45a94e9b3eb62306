package main

import "github.com/spf13/cobra"

// commands lists every command, in the order of the help.
func commands(std streams) []*cobra.Command {
	return []*cobra.Command{
		newAgentCommand(std),
	}
}
