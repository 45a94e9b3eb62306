//go:build !race

package cohorttest

const withRace = false
