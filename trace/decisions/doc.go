// Package decisions makes of a trace what a replay of its rank must enforce: which message each wildcard receive is
// given, how many polls fail, which requests complete (struct cohort_decisions of pmpi/include/cohort_abi.h).
package decisions
