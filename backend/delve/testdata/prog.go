// A program for the tests of the backend.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sync"
)

type point struct {
	X, Y int
	Name string
}

var greeting = "hello"

func square(n int) int {
	result := n * n // breakpoint: square
	return result
}

func sum(points []point) (total int) {
	for i, p := range points {
		total += p.X // breakpoint: loop
		_ = i
	}
	return total // breakpoint: summed
}

func meet() {
	var all sync.WaitGroup
	ready, leave := make(chan int), make(chan int)
	for i := range 3 {
		all.Go(func() {
			ready <- i
			<-leave // breakpoint: never reached twice
		})
	}
	for range 3 {
		<-ready
	}
	fmt.Println("met") // breakpoint: met
	close(leave)
	all.Wait()
}

func spin() {
	for stop := false; !stop; { // breakpoint: spin
		runtime.Gosched()
	}
	fmt.Println("stopped spinning")
}

func main() {
	points := []point{{1, 2, "a"}, {3, 4, "b"}, {5, 6, "c"}} // breakpoint: main
	kinds := map[string]int{"one": 1}
	var any any = points[1]
	pointer := &points[2]
	fmt.Println(square(3), sum(points), kinds, any, pointer.Name) // breakpoint: values
	meet()
	switch {
	case len(os.Args) < 2:
	case os.Args[1] == "panic":
		var none []int
		fmt.Println(none[len(os.Args)])
	case os.Args[1] == "spin":
		spin()
	case os.Args[1] == "read":
		line, err := bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Printf("%q %v %s\n", line, err, os.Getenv("GIVEN"))
	case os.Args[1] == "exit":
		os.Exit(3)
	}
	fmt.Fprintln(os.Stderr, greeting)
}
