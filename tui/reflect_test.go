package tui

import (
	"reflect"

	tea "charm.land/bubbletea/v2"
)

func typeName(v any) string { return reflect.TypeOf(v).String() }

// commands takes the commands out of a message that is a []tea.Cmd under another name.
func commands(msg tea.Msg) []tea.Cmd {
	v := reflect.ValueOf(msg)
	out := make([]tea.Cmd, 0, v.Len())
	for i := range v.Len() {
		out = append(out, v.Index(i).Interface().(tea.Cmd))
	}
	return out
}
