// Package faults holds tests only: what cohort says and leaves when its processes are killed, it is interrupted, or the
// disk is full.
package faults
