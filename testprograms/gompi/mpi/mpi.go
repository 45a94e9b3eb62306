// Package mpi is a small binding of MPI for Go, by cgo, as programs bring their own: a dozen calls. Handles are
// structures around those of mpi.h, whatever those are in the MPI that it is built for.
package mpi

/*
#include <mpi.h>

// What is a macro in mpi.h, cgo can only have from functions.
static MPI_Comm world(void) { return MPI_COMM_WORLD; }
static MPI_Datatype byte_(void) { return MPI_BYTE; }
static MPI_Datatype int_(void) { return MPI_INT64_T; }
static MPI_Datatype double_(void) { return MPI_DOUBLE; }
static MPI_Op sum(void) { return MPI_SUM; }
static int any_source(void) { return MPI_ANY_SOURCE; }
static int any_tag(void) { return MPI_ANY_TAG; }
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Handles.
type (
	Comm     struct{ handle C.MPI_Comm }
	Datatype struct{ handle C.MPI_Datatype }
	Op       struct{ handle C.MPI_Op }
	Request  struct{ handle C.MPI_Request }
)

// Status of a message that was received.
type Status struct{ status C.MPI_Status }

// Source is the rank that sent it.
func (s *Status) Source() int { return int(s.status.MPI_SOURCE) }

// Tag is its tag.
func (s *Status) Tag() int { return int(s.status.MPI_TAG) }

// What mpi.h has as macros.
var (
	World     = Comm{C.world()}
	Byte      = Datatype{C.byte_()}
	Int       = Datatype{C.int_()}
	Double    = Datatype{C.double_()}
	Sum       = Op{C.sum()}
	AnySource = int(C.any_source())
	AnyTag    = int(C.any_tag())
)

func check(call string, code C.int) {
	if code != C.MPI_SUCCESS {
		panic(fmt.Sprintf("%s: error %d", call, code))
	}
}

// Init is MPI_Init. The goroutine that calls it must be locked to its thread.
func Init() { check("MPI_Init", C.MPI_Init(nil, nil)) }

// Finalize is MPI_Finalize.
func Finalize() { check("MPI_Finalize", C.MPI_Finalize()) }

// Rank is MPI_Comm_rank.
func (c Comm) Rank() int {
	var n C.int
	check("MPI_Comm_rank", C.MPI_Comm_rank(c.handle, &n))
	return int(n)
}

// Size is MPI_Comm_size.
func (c Comm) Size() int {
	var n C.int
	check("MPI_Comm_size", C.MPI_Comm_size(c.handle, &n))
	return int(n)
}

// Dup is MPI_Comm_dup.
func (c Comm) Dup() Comm {
	var out Comm
	check("MPI_Comm_dup", C.MPI_Comm_dup(c.handle, &out.handle))
	return out
}

// Send is MPI_Send.
func (c Comm) Send(buf unsafe.Pointer, count int, t Datatype, dest, tag int) {
	check("MPI_Send", C.MPI_Send(buf, C.int(count), t.handle, C.int(dest), C.int(tag), c.handle))
}

// Recv is MPI_Recv.
func (c Comm) Recv(buf unsafe.Pointer, count int, t Datatype, source, tag int) Status {
	var s Status
	check("MPI_Recv", C.MPI_Recv(buf, C.int(count), t.handle, C.int(source), C.int(tag), c.handle, &s.status))
	return s
}

// Isend is MPI_Isend. The buffer must not move: not on a goroutine's stack, and pinned or C's if MPI keeps it.
func (c Comm) Isend(buf unsafe.Pointer, count int, t Datatype, dest, tag int) Request {
	var r Request
	check("MPI_Isend", C.MPI_Isend(buf, C.int(count), t.handle, C.int(dest), C.int(tag), c.handle, &r.handle))
	return r
}

// Irecv is MPI_Irecv. The buffer is as Isend's.
func (c Comm) Irecv(buf unsafe.Pointer, count int, t Datatype, source, tag int) Request {
	var r Request
	check("MPI_Irecv", C.MPI_Irecv(buf, C.int(count), t.handle, C.int(source), C.int(tag), c.handle, &r.handle))
	return r
}

// Wait is MPI_Wait.
func (r *Request) Wait() Status {
	var s Status
	check("MPI_Wait", C.MPI_Wait(&r.handle, &s.status))
	return s
}

// Barrier is MPI_Barrier.
func (c Comm) Barrier() { check("MPI_Barrier", C.MPI_Barrier(c.handle)) }

// Bcast is MPI_Bcast.
func (c Comm) Bcast(buf unsafe.Pointer, count int, t Datatype, root int) {
	check("MPI_Bcast", C.MPI_Bcast(buf, C.int(count), t.handle, C.int(root), c.handle))
}

// Allreduce is MPI_Allreduce.
func (c Comm) Allreduce(send, recv unsafe.Pointer, count int, t Datatype, op Op) {
	check("MPI_Allreduce", C.MPI_Allreduce(send, recv, C.int(count), t.handle, op.handle, c.handle))
}

// Vector is MPI_Type_vector, committed.
func Vector(count, length, stride int, of Datatype) Datatype {
	var t Datatype
	check("MPI_Type_vector", C.MPI_Type_vector(C.int(count), C.int(length), C.int(stride), of.handle, &t.handle))
	check("MPI_Type_commit", C.MPI_Type_commit(&t.handle))
	return t
}
