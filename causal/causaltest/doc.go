// Package causaltest makes up executions of message-passing programs: their traces, and the truth about them (which
// receive took which message, who met in which collective), for tests of everything that works on event graphs.
//
// It simulates MPI, not a solution of the matching problem: messages travel through queues, arrive in an order that is
// made up, and meet posted receives and probes by MPI's rules (MPI-3.1 section 3.5). The truth is noted where it
// happens, so it owes nothing to package causal.
package causaltest
