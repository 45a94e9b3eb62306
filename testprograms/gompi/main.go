// Command gompi is a small farm with MPI in Go: the master deals numbers out to the workers and takes the squares from
// whoever is first (MPI_ANY_SOURCE), so that the order differs between runs. Before that the ranks exchange a column of
// a matrix around a ring, and after it they agree on the sum. It prints the order in which the answers came.
//
//	gompi [TASKS]
//
// Ranks of the C program farmworker.c may take the place of workers.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"unsafe"

	"gompi/mpi"
)

// Tags of messages.
const (
	tagTask = 1 + iota
	tagAnswer
	tagStop
	tagColumn
)

const (
	rows    = 4
	columns = 10
)

// task is what the farm is about, in a type of the program's.
type task struct {
	Number int64
	Square int64
	By     string
}

// The main goroutine stays on the process's main thread, of which MPI is told that it makes all calls, and which a
// recording knows again in its replay.
func init() { runtime.LockOSThread() }

func main() {
	mpi.Init()
	defer mpi.Finalize()
	tasks := 12
	if len(os.Args) > 1 {
		tasks, _ = strconv.Atoi(os.Args[1])
	}
	comm := mpi.World.Dup()
	rank, size := comm.Rank(), comm.Size()
	exchange(comm, rank, size)
	var sum int64
	if rank == 0 {
		done := master(comm, size, tasks)
		for _, t := range done {
			sum += t.Square
		}
	} else {
		worker(comm)
	}
	total := agree(comm, sum)
	if rank == 0 {
		fmt.Println("sum", total)
	}
}

// exchange sends a column of a matrix to the next rank.
func exchange(comm mpi.Comm, rank, size int) {
	var pin runtime.Pinner
	defer pin.Unpin()
	matrix, halo := new([rows][columns]float64), new([rows]float64)
	pin.Pin(matrix)
	pin.Pin(halo)
	for i := range matrix {
		for j := range matrix[i] {
			matrix[i][j] = float64(100*rank + 10*i + j)
		}
	}
	column := mpi.Vector(rows, 1, columns, mpi.Double)
	request := comm.Irecv(unsafe.Pointer(halo), rows, mpi.Double, (rank+size-1)%size, tagColumn)
	sent := comm.Isend(unsafe.Pointer(&matrix[0][1]), 1, column, (rank+1)%size, tagColumn) // breakpoint: column
	status := request.Wait()                                                               // breakpoint: wait
	sent.Wait()
	if status.Source() != (rank+size-1)%size || halo[3] != float64(100*status.Source()+31) {
		panic("the column is wrong")
	}
	comm.Barrier() // breakpoint: exchanged
}

// master deals out the numbers from 1 to tasks.
func master(comm mpi.Comm, size, tasks int) []task {
	var done []task
	next, working := int64(1), 0
	for to := 1; to < size && next <= int64(tasks); to++ {
		deal(comm, to, next)
		next++
		working++
	}
	for working > 0 {
		var answer int64
		status := comm.Recv(unsafe.Pointer(&answer), 1, mpi.Int, mpi.AnySource, tagAnswer)
		from := status.Source()
		done = append(done, task{Square: answer, By: fmt.Sprint("rank ", from)}) // breakpoint: answer
		fmt.Println("answer", answer, "from", from)
		if next <= int64(tasks) {
			deal(comm, from, next)
			next++
		} else {
			working--
		}
	}
	for to := 1; to < size; to++ {
		var nothing int64
		comm.Send(unsafe.Pointer(&nothing), 1, mpi.Int, to, tagStop)
	}
	return done
}

func deal(comm mpi.Comm, to int, number int64) {
	comm.Send(unsafe.Pointer(&number), 1, mpi.Int, to, tagTask)
}

// worker computes each number's square on two goroutines.
func worker(comm mpi.Comm) {
	for solved := 0; ; solved++ {
		var number int64
		status := comm.Recv(unsafe.Pointer(&number), 1, mpi.Int, 0, mpi.AnyTag)
		if status.Tag() == tagStop {
			return
		}
		square := add(number, number) // breakpoint: task
		comm.Send(unsafe.Pointer(&square), 1, mpi.Int, 0, tagAnswer)
	}
}

// add adds a number to itself, times times.
func add(number, times int64) int64 {
	var parts [2]int64
	var both sync.WaitGroup
	for half := range parts {
		both.Go(func() {
			for i := int64(half); i < times; i += 2 {
				parts[half] += number // breakpoint: goroutine
			}
		})
	}
	both.Wait()
	return parts[0] + parts[1]
}

// agree sums up over all ranks; the root then tells everyone how many there are.
func agree(comm mpi.Comm, mine int64) int64 {
	var total int64
	comm.Allreduce(unsafe.Pointer(&mine), unsafe.Pointer(&total), 1, mpi.Int, mpi.Sum)
	comm.Bcast(unsafe.Pointer(&total), 1, mpi.Int, 0)
	return total // breakpoint: agreed
}
