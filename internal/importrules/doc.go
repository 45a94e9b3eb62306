// Package importrules holds the test that keeps the imports of this repository running one way (ARCHITECTURE.md). It
// has no code for others.
//
// **Invariant:** every package of the repository is covered by a row of the table in rules_test.go; a new folder needs
// a new row, with its reason.
package importrules
