// Package wire carries package backend's requests and events between a job and the agent of one rank, over any stream
// connection.
//
// A connection begins with one JSON frame each way (Hello and its answer), so that two different versions can still
// tell each other that they do not match, and so that nothing but a small JSON text is parsed before the token has been
// checked. After that come gob frames: each is one Message, preceded by its length in four bytes, little endian.
//
// **Invariant:** each side has one ordered outgoing queue. What was handed over first arrives first, be it an answer or
// an event.
//
// **Invariant:** no frame longer than its bound is read into memory, and no gob is decoded from a peer that has not
// shown the token.
//
// **Invariant:** a connection that breaks ends every call in flight; nothing waits for a peer that has gone.
package wire
