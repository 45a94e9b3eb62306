// Package scripts holds tests only: commands as users type them, from testdata/scripts, docs/ and testdata/recordings.
package scripts
