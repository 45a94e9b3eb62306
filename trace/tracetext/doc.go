// Package tracetext is the text form of a trace: for people to read, and to make traces by hand.
package tracetext
