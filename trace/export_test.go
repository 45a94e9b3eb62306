package trace

// What the tests of package trace_test need of those of this one.
var (
	BothModes  = bothModes
	GenHeader  = genHeader
	GenRecords = genRecords
)
