package datatype

// Combiner is the kind of a datatype's constructor (MPI-3.1, 4.1.13), numbered as in cohort_abi.h.
type Combiner uint32

// The combiners of enum cohort_combiner.
const (
	CombinerNamed         Combiner = 1
	CombinerDup           Combiner = 2
	CombinerContiguous    Combiner = 3
	CombinerVector        Combiner = 4
	CombinerHvector       Combiner = 5
	CombinerIndexed       Combiner = 6
	CombinerHindexed      Combiner = 7
	CombinerIndexedBlock  Combiner = 8
	CombinerHindexedBlock Combiner = 9
	CombinerStruct        Combiner = 10
	CombinerSubarray      Combiner = 11
	CombinerDarray        Combiner = 12
	CombinerResized       Combiner = 13
	CombinerF90Real       Combiner = 14
	CombinerF90Complex    Combiner = 15
	CombinerF90Integer    Combiner = 16
	CombinerUnknown       Combiner = 99
)

var combinerNames = map[Combiner]string{
	CombinerNamed: "NAMED", CombinerDup: "DUP", CombinerContiguous: "CONTIGUOUS", CombinerVector: "VECTOR",
	CombinerHvector: "HVECTOR", CombinerIndexed: "INDEXED", CombinerHindexed: "HINDEXED",
	CombinerIndexedBlock: "INDEXED_BLOCK", CombinerHindexedBlock: "HINDEXED_BLOCK", CombinerStruct: "STRUCT",
	CombinerSubarray: "SUBARRAY", CombinerDarray: "DARRAY", CombinerResized: "RESIZED", CombinerF90Real: "F90_REAL",
	CombinerF90Complex: "F90_COMPLEX", CombinerF90Integer: "F90_INTEGER", CombinerUnknown: "UNKNOWN",
}

// String returns the combiner as the paper prints it: STRUCT, VECTOR, ...
func (c Combiner) String() string {
	if s, ok := combinerNames[c]; ok {
		return s
	}
	return "UNKNOWN"
}

// Basic is what a named (predefined) datatype holds, numbered as enum cohort_basic.
type Basic uint32

// The values of enum cohort_basic.
const (
	BasicNone    Basic = 0
	BasicChar    Basic = 1
	BasicInt     Basic = 2
	BasicUint    Basic = 3
	BasicFloat   Basic = 4
	BasicComplex Basic = 5
	BasicBool    Basic = 6
	BasicLogical Basic = 7
	BasicByte    Basic = 8
	BasicPacked  Basic = 9
	BasicPair    Basic = 10
	BasicLB      Basic = 11
	BasicUB      Basic = 12
	BasicWchar   Basic = 13
	BasicAddress Basic = 14
	BasicNull    Basic = 15
)
