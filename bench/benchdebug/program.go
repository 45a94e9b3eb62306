package benchdebug

// source is the program that is debugged.
const source = `#include <mpi.h>
#include <time.h>
static int work(int i) {
    return i * 2;
}
int main(int argc, char **argv) {
    int sum = 0;
    const struct timespec pause = {0, 10000000};
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; sum >= 0; i = (i + 1) % 1000) {
        sum = work(i);
        nanosleep(&pause, NULL);
    }
    MPI_Finalize();
}
`

// step is one thing that is done to all ranks, and measured.
type step string

const (
	launchStep   step = "launch to all stopped at main"
	initStep     step = "continue through MPI_Init to a breakpoint on all"
	continueStep step = "continue to a breakpoint on all"
	nextStep     step = "step all"
	evaluateStep step = "one expression on all"
	stacksStep   step = "stacks of all"
	pauseStep    step = "pause all"
)

var steps = []step{launchStep, initStep, continueStep, nextStep, evaluateStep, stacksStep, pauseStep}

// run is what one way of debugging does; each returns when all ranks are where it leads.
type run interface {
	do(s step) error // launchStep is the first
	resume() error   // lets all ranks run, without a breakpoint; for pauseStep
	memory() (agents, gdbs uint64)
	end()
}
