package mpicall

// The table: names, parameters, buffers (see parseBuffer). MPI-3.1, with what MPI-4.0 adds to it.

const envelope = "buf count datatype dest tag comm"

var plain = [][3]string{
	{"Send Bsend Ssend Rsend", envelope, ">buf count datatype"},
	{
		"Isend Ibsend Issend Irsend Send_init Bsend_init Ssend_init Rsend_init", envelope + " request",
		">buf count datatype",
	},
	{"Recv", "buf count datatype source tag comm status", "<buf count datatype"},
	{"Irecv Recv_init", "buf count datatype source tag comm request", "<buf count datatype"},
	{"Mrecv", "buf count datatype message status", "<buf count datatype"},
	{"Imrecv", "buf count datatype message request", "<buf count datatype"},
	{
		"Sendrecv", "sendbuf sendcount sendtype dest sendtag recvbuf recvcount recvtype source recvtag comm status",
		">sendbuf sendcount sendtype; <recvbuf recvcount recvtype",
	},
	{
		"Isendrecv", "sendbuf sendcount sendtype dest sendtag recvbuf recvcount recvtype source recvtag comm request",
		">sendbuf sendcount sendtype; <recvbuf recvcount recvtype",
	},
	{"Sendrecv_replace", "buf count datatype dest sendtag source recvtag comm status", "=buf count datatype"},
	{"Isendrecv_replace", "buf count datatype dest sendtag source recvtag comm request", "=buf count datatype"},
	{"Psend_init", "buf partitions count datatype dest tag comm info request", ">buf count*partitions datatype"},
	{"Precv_init", "buf partitions count datatype source tag comm info request", "<buf count*partitions datatype"},

	{"Probe", "source tag comm status", ""},
	{"Mprobe", "source tag comm message status", ""},
	{"Barrier", "comm", ""},
	{"Ibarrier", "comm request", ""},
	{"Wait", "request status", ""},
	{"Test", "request flag status", ""},
	{"Waitall", "count array_of_requests array_of_statuses", ""},
	{"Waitany", "count array_of_requests index status", ""},
	{"Waitsome Testsome", "incount array_of_requests outcount array_of_indices array_of_statuses", ""},
	{"Testall", "count array_of_requests flag array_of_statuses", ""},
	{"Testany", "count array_of_requests index flag status", ""},
	{"Start Cancel Request_free", "request", ""},
	{"Startall", "count array_of_requests", ""},
	{"Request_get_status", "request flag status", ""},
}

// collectives have nonblocking and persistent forms.
var collectives = [][3]string{
	{"Bcast", "buffer count datatype root comm", "~buffer count datatype"},
	{
		"Gather", "sendbuf sendcount sendtype recvbuf recvcount recvtype root comm",
		">sendbuf sendcount sendtype; <recvbuf recvcount*n recvtype @root",
	},
	{
		"Gatherv", "sendbuf sendcount sendtype recvbuf recvcounts displs recvtype root comm",
		">sendbuf sendcount sendtype; <recvbuf recvcounts[n] displs[] recvtype @root",
	},
	{
		"Scatter", "sendbuf sendcount sendtype recvbuf recvcount recvtype root comm",
		">sendbuf sendcount*n sendtype @root; <recvbuf recvcount recvtype",
	},
	{
		"Scatterv", "sendbuf sendcounts displs sendtype recvbuf recvcount recvtype root comm",
		">sendbuf sendcounts[n] displs[] sendtype @root; <recvbuf recvcount recvtype",
	},
	{
		"Allgather", "sendbuf sendcount sendtype recvbuf recvcount recvtype comm",
		">sendbuf sendcount sendtype; <recvbuf recvcount*n recvtype",
	},
	{
		"Allgatherv", "sendbuf sendcount sendtype recvbuf recvcounts displs recvtype comm",
		">sendbuf sendcount sendtype; <recvbuf recvcounts[n] displs[] recvtype",
	},
	{
		"Alltoall", "sendbuf sendcount sendtype recvbuf recvcount recvtype comm",
		">sendbuf sendcount*n sendtype; <recvbuf recvcount*n recvtype",
	},
	{
		"Alltoallv", "sendbuf sendcounts sdispls sendtype recvbuf recvcounts rdispls recvtype comm",
		">sendbuf sendcounts[n] sdispls[] sendtype; <recvbuf recvcounts[n] rdispls[] recvtype",
	},
	{
		"Alltoallw", "sendbuf sendcounts sdispls sendtypes recvbuf recvcounts rdispls recvtypes comm",
		">sendbuf sendcounts[n] sdispls[] sendtypes[]; <recvbuf recvcounts[n] rdispls[] recvtypes[]",
	},
	{"Reduce", "sendbuf recvbuf count datatype op root comm", ">sendbuf count datatype; <recvbuf count datatype @root"},
	{"Allreduce", "sendbuf recvbuf count datatype op comm", ">sendbuf count datatype; <recvbuf count datatype"},
	{"Scan", "sendbuf recvbuf count datatype op comm", ">sendbuf count datatype; <recvbuf count datatype"},
	{"Exscan", "sendbuf recvbuf count datatype op comm", ">sendbuf count datatype; <recvbuf count datatype"},
	{
		"Reduce_scatter", "sendbuf recvbuf recvcounts datatype op comm",
		">sendbuf recvcounts[sum] datatype; <recvbuf recvcounts[me] datatype",
	},
	{
		"Reduce_scatter_block", "sendbuf recvbuf recvcount datatype op comm",
		">sendbuf recvcount*n datatype; <recvbuf recvcount datatype",
	},
	{
		"Neighbor_allgather", "sendbuf sendcount sendtype recvbuf recvcount recvtype comm",
		">sendbuf sendcount sendtype; <recvbuf recvcount*in recvtype",
	},
	{
		"Neighbor_allgatherv", "sendbuf sendcount sendtype recvbuf recvcounts displs recvtype comm",
		">sendbuf sendcount sendtype; <recvbuf recvcounts[in] displs[] recvtype",
	},
	{
		"Neighbor_alltoall", "sendbuf sendcount sendtype recvbuf recvcount recvtype comm",
		">sendbuf sendcount*out sendtype; <recvbuf recvcount*in recvtype",
	},
	{
		"Neighbor_alltoallv", "sendbuf sendcounts sdispls sendtype recvbuf recvcounts rdispls recvtype comm",
		">sendbuf sendcounts[out] sdispls[] sendtype; <recvbuf recvcounts[in] rdispls[] recvtype",
	},
	{
		"Neighbor_alltoallw", "sendbuf sendcounts sdispls sendtypes recvbuf recvcounts rdispls recvtypes comm",
		">sendbuf sendcounts[out] sdispls[] sendtypes[]; <recvbuf recvcounts[in] rdispls[] recvtypes[]",
	},
}

const target = " target_rank target_disp target_count target_datatype "

// oneSided have forms with a request.
var oneSided = [][4]string{
	{
		"Put", "origin_addr origin_count origin_datatype" + target + "win", ">origin_addr origin_count origin_datatype",
		"puts/",
	},
	{
		"Get", "origin_addr origin_count origin_datatype" + target + "win", "<origin_addr origin_count origin_datatype",
		"/gets",
	},
	{
		"Accumulate", "origin_addr origin_count origin_datatype" + target + "op win",
		">origin_addr origin_count origin_datatype", "accumulates/",
	},
	{
		"Get_accumulate", "origin_addr origin_count origin_datatype result_addr result_count result_datatype" + target +
			"op win",
		">origin_addr origin_count origin_datatype; <result_addr result_count result_datatype", "accumulates/gets",
	},
}

var packing = [][4]string{
	{
		"Reduce_local", "inbuf inoutbuf count datatype op", ">inbuf count datatype; =inoutbuf count datatype",
		"takes/gives",
	},
	{
		"Fetch_and_op", "origin_addr result_addr datatype target_rank target_disp op win",
		">origin_addr 1 datatype; <result_addr 1 datatype", "accumulates/gets",
	},
	{
		"Compare_and_swap", "origin_addr compare_addr result_addr datatype target_rank target_disp win",
		">origin_addr 1 datatype; >compare_addr 1 datatype; <result_addr 1 datatype", "puts/gets",
	},
	{
		"Pack", "inbuf incount datatype outbuf outsize position comm", ">inbuf incount datatype; <outbuf outsize",
		"packs/packs into",
	},
	{
		"Unpack", "inbuf insize position outbuf outcount datatype comm", ">inbuf insize; <outbuf outcount datatype",
		"unpacks/unpacks into",
	},
	{
		"Pack_external", "datarep inbuf incount datatype outbuf outsize position",
		">inbuf incount datatype; <outbuf outsize", "packs/packs into",
	},
	{
		"Unpack_external", "datarep inbuf insize position outbuf outcount datatype",
		">inbuf insize; <outbuf outcount datatype", "unpacks/unpacks into",
	},
}

var files = [][3]string{
	{
		"File_read File_read_all File_read_shared File_read_ordered", "fh buf count datatype status",
		"<buf count datatype",
	},
	{"File_read_at File_read_at_all", "fh offset buf count datatype status", "<buf count datatype"},
	{"File_iread File_iread_all File_iread_shared", "fh buf count datatype request", "<buf count datatype"},
	{"File_iread_at File_iread_at_all", "fh offset buf count datatype request", "<buf count datatype"},
	{"File_read_all_begin File_read_ordered_begin", "fh buf count datatype", "<buf count datatype"},
	{"File_read_at_all_begin", "fh offset buf count datatype", "<buf count datatype"},
	{
		"File_write File_write_all File_write_shared File_write_ordered", "fh buf count datatype status",
		">buf count datatype",
	},
	{"File_write_at File_write_at_all", "fh offset buf count datatype status", ">buf count datatype"},
	{"File_iwrite File_iwrite_all File_iwrite_shared", "fh buf count datatype request", ">buf count datatype"},
	{"File_iwrite_at File_iwrite_at_all", "fh offset buf count datatype request", ">buf count datatype"},
	{"File_write_all_begin File_write_ordered_begin", "fh buf count datatype", ">buf count datatype"},
	{"File_write_at_all_begin", "fh offset buf count datatype", ">buf count datatype"},
}
