// Package control shares a control block with a rank: a mapped file through which Cohort tells the interposer what to
// do, and the interposer tells how far the rank is (struct cohort_control).
//
// **Invariant:** every word that both sides touch is read and written atomically.
package control
