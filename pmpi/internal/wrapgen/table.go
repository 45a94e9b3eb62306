package wrapgen

import "strings"

// class says how a function is wrapped.
type class int

const (
	byHand         class = iota // in C by hand; the table serves its Fortran symbol
	send                        // blocking send
	isend                       // nonblocking send
	sendInit                    // persistent send
	collective                  // blocking collective
	icollective                 // nonblocking collective
	collectiveInit              // persistent collective, of MPI 4 or with the prefix MPIX_ of Open MPI 4
	uncovered                   // record and replay do not cover it
	large                       // with large counts: made of its int form
)

// function is one MPI function with its C prototype.
type function struct {
	name       string // without MPI_
	parameters []parameter
	class      class
	root       string // collectives: C expression, "-1" if there is none
	moved      string // collectives that order all ranks: C expression of "count, datatype"; empty: not one of them
	bytes      string // collectives: C expression of the bytes that this rank contributes
	// blocking collectives: the nonblocking form that may stand for it; empty: a reduction, which runs as it is
	nonblock  string
	fortran   bool   // has a Fortran symbol that is wrapped
	mpich     bool   // MPICH only
	condition string // preprocessor condition, or empty
	objects   bool   // calls about objects of the registry alone, in objects.c and functions.c
}

// parameter is one parameter of a C prototype.
type parameter struct {
	kind  string // its C type without name and brackets: "const int", "MPI_Comm *"
	name  string
	array bool
}

func (f function) op() string { return "COHORT_OP_" + strings.ToUpper(f.name) }

// parse reads "const void *buf, int count, MPI_Request array_of_requests[]".
func parse(prototype string) []parameter {
	if prototype == "void" || prototype == "" {
		return nil
	}
	var all []parameter
	for part := range strings.SplitSeq(prototype, ",") {
		part = strings.TrimSpace(part)
		var p parameter
		for strings.HasSuffix(part, "]") {
			p.array = true
			part = part[:strings.LastIndex(part, "[")]
		}
		cut := strings.LastIndexAny(part, " *") + 1
		p.kind, p.name = strings.TrimSpace(part[:cut]), part[cut:]
		all = append(all, p)
	}
	return all
}

const message = "const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm"

func functions() []function {
	var all []function
	add := func(c class, name, prototype string, f function) {
		f.class, f.name, f.parameters = c, name, parse(prototype)
		all = append(all, f)
	}
	for _, name := range []string{"Send", "Bsend", "Ssend", "Rsend"} {
		add(send, name, message, function{fortran: true})
	}
	for _, name := range []string{"Isend", "Ibsend", "Issend", "Irsend"} {
		add(isend, name, message+", MPI_Request *request", function{fortran: true})
	}
	for _, name := range []string{"Send_init", "Bsend_init", "Ssend_init", "Rsend_init"} {
		add(sendInit, name, message+", MPI_Request *request", function{fortran: true})
	}
	for _, c := range collectives {
		f := function{root: c.root, bytes: c.bytes, moved: ordering[c.name], fortran: true}
		if !c.reduction {
			f.nonblock = "I" + strings.ToLower(c.name[:1]) + c.name[1:]
		}
		add(collective, c.name, c.prototype, f)
		f.nonblock, f.moved = "", ""
		prototype := c.prototype + ", MPI_Request *request"
		add(icollective, "I"+strings.ToLower(c.name[:1])+c.name[1:], prototype, f)
	}
	for _, h := range handmade {
		add(byHand, h.name, h.prototype, function{fortran: true, condition: h.condition})
	}
	for _, o := range objectCalls {
		add(byHand, o.name, o.prototype, function{fortran: true, objects: true})
	}
	for _, u := range uncoveredCalls {
		add(uncovered, u.name, u.prototype, function{fortran: u.fortran, mpich: u.mpich})
	}
	return append(all, ofMPI4(all)...)
}

// ofMPI4 are the forms that MPI 4 added to those of MPI 3.1: with large counts, and persistent collectives.
func ofMPI4(all []function) []function {
	var added []function
	for _, f := range all {
		if f.class == collective {
			p := function{name: f.name + "_init", class: collectiveInit, mpich: true, root: f.root, bytes: f.bytes}
			p.parameters = append(append(p.parameters, f.parameters...),
				parse("MPI_Info info, MPI_Request *request")...)
			added = append(added, p)
		}
	}
	for _, f := range append(append([]function{}, all...), added...) {
		if f.class == byHand || f.class == uncovered {
			if !largeByHand[f.name] && !strings.HasPrefix(f.name, "File_") {
				continue
			}
		}
		form := function{name: f.name + "_c", class: large, mpich: true, nonblock: f.nonblock}
		changed, arrays := false, false
		for _, p := range f.parameters {
			switch {
			case countOf[p.name] != "":
				changed = changed || p.kind == "int"
				p.kind = "MPI_Count"
			case p.name == "disp_unit":
				p.kind, changed = "MPI_Aint", true
			case strings.HasSuffix(p.name, "counts"):
				p.kind, changed, arrays = "const MPI_Count", true, true
			case strings.HasSuffix(p.name, "displs"):
				p.kind = "const MPI_Aint"
			}
			form.parameters = append(form.parameters, p)
		}
		// A call that goes on needs its arrays for as long.
		if f.class == uncovered || f.class == collectiveInit || arrays && f.class != collective {
			form.class = uncovered
		}
		if changed {
			added = append(added, form)
		}
	}
	return added
}

// largeByHand are the functions with a large-count form that are not among the generated classes.
var largeByHand = map[string]bool{
	"Recv": true, "Irecv": true, "Recv_init": true, "Sendrecv": true, "Sendrecv_replace": true, "Mrecv": true,
	"Imrecv":    true,
	"Isendrecv": true, "Isendrecv_replace": true, "Win_create": true, "Win_allocate": true, "Win_allocate_shared": true,
	"Put": true, "Get": true, "Accumulate": true, "Get_accumulate": true, "Rput": true, "Rget": true,
	"Raccumulate": true, "Rget_accumulate": true,
}

// collectives are the blocking ones; the nonblocking form of each takes a request more.
var collectives = []struct {
	name, prototype, root, bytes string
	reduction                    bool
}{
	{"Barrier", "MPI_Comm comm", "-1", "0", false},
	{
		"Bcast", "void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm", "root",
		"cohort_is_root(comm, root) ? cohort_bytes(count, datatype) : 0", false,
	},
	{
		"Gather", "const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, " +
			"MPI_Datatype recvtype, int root, MPI_Comm comm", "root",
		"!cohort_gives_root(comm, root) ? 0 : sendbuf == MPI_IN_PLACE ? cohort_bytes(recvcount, recvtype) : " +
			"cohort_bytes(sendcount, sendtype)", false,
	},
	{
		"Gatherv", "const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], " +
			"const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm", "root",
		"!cohort_gives_root(comm, root) ? 0 : sendbuf == MPI_IN_PLACE ? cohort_bytes(recvcounts[root], recvtype) : " +
			"cohort_bytes(sendcount, sendtype)", false,
	},
	{
		"Scatter", "const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, " +
			"MPI_Datatype recvtype, int root, MPI_Comm comm", "root",
		"cohort_is_root(comm, root) ? cohort_bytes_all(sendcount, sendtype, comm) : 0", false,
	},
	{
		"Scatterv", "const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void " +
			"*recvbuf, " +
			"int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm", "root",
		"cohort_is_root(comm, root) ? cohort_bytes_v(sendcounts, sendtype, comm) : 0", false,
	},
	{
		"Allgather", "const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, " +
			"MPI_Datatype recvtype, MPI_Comm comm", "-1",
		"sendbuf == MPI_IN_PLACE ? cohort_bytes(recvcount, recvtype) : cohort_bytes(sendcount, sendtype)", false,
	},
	{
		"Allgatherv", "const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int " +
			"recvcounts[], " +
			"const int displs[], MPI_Datatype recvtype, MPI_Comm comm", "-1",
		"sendbuf == MPI_IN_PLACE ? cohort_bytes(recvcounts[cohort_my_rank(comm)], recvtype) : " +
			"cohort_bytes(sendcount, sendtype)", false,
	},
	{
		"Alltoall", "const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, " +
			"MPI_Datatype recvtype, MPI_Comm comm", "-1",
		"sendbuf == MPI_IN_PLACE ? cohort_bytes_all(recvcount, recvtype, comm) : cohort_bytes_all(sendcount, " +
			"sendtype, comm)", false,
	},
	{
		"Alltoallv", "const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void " +
			"*recvbuf, " +
			"const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm", "-1",
		"sendbuf == MPI_IN_PLACE ? cohort_bytes_v(recvcounts, recvtype, comm) : cohort_bytes_v(sendcounts, sendtype, " +
			"comm)", false,
	},
	{
		"Alltoallw", "const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype " +
			"sendtypes[], " +
			"void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm",
		"-1",
		"sendbuf == MPI_IN_PLACE ? cohort_bytes_w(recvcounts, recvtypes, comm) : cohort_bytes_w(sendcounts, " +
			"sendtypes, comm)", false,
	},
	{
		"Reduce", "const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, " +
			"MPI_Comm comm", "root",
		"cohort_gives_root(comm, root) ? cohort_bytes(count, datatype) : 0", true,
	},
	{
		"Allreduce", "const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm",
		"-1",
		"cohort_bytes(count, datatype)", true,
	},
	{
		"Reduce_scatter", "const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op " +
			"op, MPI_Comm comm", "-1",
		"cohort_bytes_v(recvcounts, datatype, comm)", true,
	},
	{
		"Reduce_scatter_block", "const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op " +
			"op, MPI_Comm comm", "-1",
		"cohort_bytes_all(recvcount, datatype, comm)", true,
	},
	{
		"Scan", "const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm", "-1",
		"cohort_bytes(count, datatype)", true,
	},
	{
		"Exscan", "const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm",
		"-1",
		"cohort_bytes(count, datatype)", true,
	},
	{
		"Neighbor_allgather", "const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int " +
			"recvcount, MPI_Datatype recvtype, MPI_Comm comm", "-1",
		"cohort_bytes(sendcount, sendtype)", false,
	},
	{
		"Neighbor_allgatherv", "const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int " +
			"recvcounts[], " +
			"const int displs[], MPI_Datatype recvtype, MPI_Comm comm", "-1",
		"cohort_bytes(sendcount, sendtype)", false,
	},
	{
		"Neighbor_alltoall", "const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int " +
			"recvcount, MPI_Datatype recvtype, MPI_Comm comm", "-1",
		"cohort_bytes(sendcount, sendtype) * cohort_out_degree(comm)", false,
	},
	{
		"Neighbor_alltoallv", "const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype " +
			"sendtype, void *recvbuf, " +
			"const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm", "-1",
		"cohort_bytes_out(sendcounts, sendtype, comm)", false,
	},
	{
		"Neighbor_alltoallw", "const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[], const " +
			"MPI_Datatype sendtypes[], " +
			"void *recvbuf, const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], " +
			"MPI_Comm comm", "-1",
		"cohort_bytes_out_w(sendcounts, sendtypes, comm)", false,
	},
}
