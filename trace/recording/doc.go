// Package recording owns the directory NAME.cohort: recording.json, the traces of all ranks, packed or not, and the
// graph, which is their full traces from a replay.
//
// **Invariant:** nothing in a directory is ever deleted unless the directory is a recording and the file is one that
// this package wrote or made a rank write.
package recording
