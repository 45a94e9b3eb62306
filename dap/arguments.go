package dap

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
)

// decodeArguments decodes a request's arguments. Unknown fields are allowed, as DAP asks (editors add their own);
// missing arguments are the empty object.
func decodeArguments(command string, raw json.RawMessage, into any) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	if raw[0] != '{' {
		return refuse("the arguments of %s must be a JSON object, but they are %s", command, describeJSON(raw))
	}
	err := json.Unmarshal(raw, into)
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mismatch):
		return refuse("the argument `%s` of %s cannot be %s: it must be %s", cmp.Or(mismatch.Field, "(the whole)"),
			command, article(mismatch.Value), goKind(mismatch))
	default:
		return refuse("the arguments of %s cannot be read: %v", command, err)
	}
}

// goKind names a Go type as JSON does.
func goKind(e *json.UnmarshalTypeError) string {
	if e.Type == nil {
		return "of another type"
	}
	switch kind := e.Type.Kind().String(); {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "a whole number in range"
	case kind == "string":
		return "a string"
	case kind == "bool":
		return "true or false"
	case kind == "slice":
		return "an array"
	case kind == "map", kind == "struct", kind == "ptr":
		return "an object"
	default:
		return "of type " + e.Type.String()
	}
}

func article(value string) string {
	switch {
	case strings.HasPrefix(value, "number "):
		return "the number " + strings.TrimPrefix(value, "number ")
	case value == "object" || value == "array":
		return "an " + value
	default:
		return "a " + value
	}
}

// unknownKeys lists the keys of a JSON object that are not among known, sorted. Keys that editors put into every launch
// configuration are left out.
func unknownKeys(raw json.RawMessage, known []string) []string {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	var unknown []string
	for key := range object {
		if !slices.Contains(known, key) && !editorKey(key) {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// editorKey tells whether a launch configuration's key is the editor's own affair.
func editorKey(key string) bool {
	switch key {
	case "type", "request", "name", "presentation", "preLaunchTask", "postDebugTask", "internalConsoleOptions",
		"debugServer", "serverReadyAction",
		"linux", "osx", "windows", "suppressMultipleSessionView", "restart", "console", "cohort", "cohortPath",
		"adapterID", "clientID":
		return true
	}
	return strings.HasPrefix(key, "_") || strings.HasPrefix(key, "$")
}

// nearest returns the known word that is most like word, or "" if none is near.
func nearest(word string, known []string) string {
	best, bestDistance := "", max(2, len(word)/3)+1
	for _, k := range known {
		if d := editDistance(strings.ToLower(word), strings.ToLower(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// editDistance is Levenshtein's; for words of a few dozen letters.
func editDistance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			if a[i] != b[j] {
				diagonal++
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal)
		}
	}
	return row[len(b)]
}

// jsonNames lists the JSON names of a struct's fields.
func jsonNames(of reflect.Type) []string {
	var names []string
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
