// Package wire carries package backend's requests and events between a job and the agent of one rank, over any stream
// connection.
//
// A connection begins with a JSON text each way (Hello and its answer), after its length in four bytes, so that two
// different versions can still tell each other that they do not match, and so that nothing but a small JSON text is
// parsed before the token has been checked. After that each way is a stream of gob: one Message after the other.
//
// **Invariant:** each side has one ordered outgoing queue. What was handed over first arrives first, be it an answer or
// an event.
//
// **Invariant:** no more than maxHello bytes are read from a peer that has not shown the token, and no gob. What gob
// reads into memory it bounds itself: a message is at most 1 GiB, and memory is taken as the bytes come.
//
// **Invariant:** a connection that breaks ends every call in flight; nothing waits for a peer that has gone.
package wire
