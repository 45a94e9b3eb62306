package wrapgen

// handmade are the functions whose C wrapper is written by hand.
var handmade = []struct{ name, prototype, condition string }{
	{"Recv", "void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status", ""},
	{
		"Irecv", "void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request",
		"",
	},
	{"Recv_init", "void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request " +
		"*request", ""},
	{"Sendrecv", "const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, " +
		"int recvcount, " +
		"MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status", ""},
	{"Sendrecv_replace", "void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int " +
		"recvtag, MPI_Comm comm, MPI_Status *status", ""},
	{"Probe", "int source, int tag, MPI_Comm comm, MPI_Status *status", ""},
	{"Iprobe", "int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status", ""},
	{"Mprobe", "int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status", ""},
	{"Improbe", "int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status", ""},
	{"Mrecv", "void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status", ""},
	{"Imrecv", "void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request", ""},
	{"Start", "MPI_Request *request", ""},
	{"Startall", "int count, MPI_Request array_of_requests[]", ""},
	{"Wait", "MPI_Request *request, MPI_Status *status", ""},
	{"Waitall", "int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]", ""},
	{"Waitany", "int count, MPI_Request array_of_requests[], int *index, MPI_Status *status", ""},
	{"Waitsome", "int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[], MPI_Status " +
		"array_of_statuses[]", ""},
	{"Test", "MPI_Request *request, int *flag, MPI_Status *status", ""},
	{"Testall", "int count, MPI_Request array_of_requests[], int *flag, MPI_Status array_of_statuses[]", ""},
	{"Testany", "int count, MPI_Request array_of_requests[], int *index, int *flag, MPI_Status *status", ""},
	{"Testsome", "int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[], MPI_Status " +
		"array_of_statuses[]", ""},
	{"Request_get_status", "MPI_Request request, int *flag, MPI_Status *status", ""},
	{"Request_free", "MPI_Request *request", ""},
	{"Cancel", "MPI_Request *request", ""},
	{"Test_cancelled", "const MPI_Status *status, int *flag", ""},
	{"Comm_dup", "MPI_Comm comm, MPI_Comm *newcomm", ""},
	{"Comm_dup_with_info", "MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm", ""},
	{"Comm_idup", "MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request", ""},
	{"Comm_split", "MPI_Comm comm, int color, int key, MPI_Comm *newcomm", ""},
	{"Comm_split_type", "MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm", ""},
	{"Comm_create", "MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm", ""},
	{"Comm_create_group", "MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm", ""},
	{"Intercomm_create", "MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag, " +
		"MPI_Comm *newcomm", ""},
	{"Intercomm_merge", "MPI_Comm intercomm, int high, MPI_Comm *newcomm", ""},
	{"Comm_disconnect", "MPI_Comm *comm", ""},
	{"Comm_free", "MPI_Comm *comm", ""},
	{"Comm_set_name", "MPI_Comm comm, const char *comm_name", ""},
	{
		"Cart_create", "MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *newcomm",
		"",
	},
	{"Cart_sub", "MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm", ""},
	{
		"Graph_create", "MPI_Comm comm, int nnodes, const int indx[], const int edges[], int reorder, MPI_Comm *newcomm",
		"",
	},
	{"Dist_graph_create", "MPI_Comm comm, int n, const int nodes[], const int degrees[], const int targets[], const " +
		"int weights[], " +
		"MPI_Info info, int reorder, MPI_Comm *newcomm", ""},
	{
		"Dist_graph_create_adjacent",
		"MPI_Comm comm, int indegree, const int sources[], const int sourceweights[], int outdegree, " +
			"const int destinations[], const int destweights[], MPI_Info info, int reorder, MPI_Comm *newcomm", "",
	},
	{"Type_contiguous", "int count, MPI_Datatype oldtype, MPI_Datatype *newtype", ""},
	{"Type_vector", "int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype *newtype", ""},
	{
		"Type_create_hvector", "int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype",
		"",
	},
	{
		"Type_indexed", "int count, const int lengths[], const int places[], MPI_Datatype oldtype, MPI_Datatype *newtype",
		"",
	},
	{"Type_create_hindexed", "int count, const int lengths[], const MPI_Aint places[], MPI_Datatype oldtype, " +
		"MPI_Datatype *newtype", ""},
	{
		"Type_create_indexed_block",
		"int count, int blocklength, const int places[], MPI_Datatype oldtype, MPI_Datatype *newtype", "",
	},
	{
		"Type_create_hindexed_block",
		"int count, int blocklength, const MPI_Aint places[], MPI_Datatype oldtype, MPI_Datatype *newtype", "",
	},
	{"Type_create_struct", "int count, const int lengths[], const MPI_Aint places[], const MPI_Datatype types[], " +
		"MPI_Datatype *newtype", ""},
	{"Type_create_subarray", "int ndims, const int sizes[], const int subsizes[], const int starts[], int order, " +
		"MPI_Datatype oldtype, MPI_Datatype *newtype", ""},
	{"Type_create_darray", "int size, int rank, int ndims, const int gsizes[], const int distribs[], const int " +
		"dargs[], const int psizes[], " +
		"int order, MPI_Datatype oldtype, MPI_Datatype *newtype", ""},
	{"Type_create_resized", "MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *newtype", ""},
	{"Type_dup", "MPI_Datatype oldtype, MPI_Datatype *newtype", ""},
	{"Type_create_f90_real", "int p, int r, MPI_Datatype *newtype", ""},
	{"Type_create_f90_complex", "int p, int r, MPI_Datatype *newtype", ""},
	{"Type_create_f90_integer", "int r, MPI_Datatype *newtype", ""},
	{"Type_match_size", "int typeclass, int size, MPI_Datatype *newtype", ""},
	{"Type_commit", "MPI_Datatype *datatype", ""},
	{"Type_free", "MPI_Datatype *datatype", ""},
	{"Type_set_name", "MPI_Datatype datatype, const char *type_name", ""},
	{"Win_create", "void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win", ""},
	{"Win_allocate", "MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win", ""},
	{"Win_free", "MPI_Win *win", ""},
	{"Put", "const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint " +
		"target_disp, " +
		"int target_count, MPI_Datatype target_datatype, MPI_Win win", ""},
	{"Get", "void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, " +
		"int target_count, MPI_Datatype target_datatype, MPI_Win win", ""},
	{"Accumulate", "const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, " +
		"MPI_Aint target_disp, " +
		"int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win", ""},
	{"Get_accumulate", "const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, void *result_addr, " +
		"int result_count, " +
		"MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, int target_count, " +
		"MPI_Datatype target_datatype, MPI_Op op, MPI_Win win", ""},
	{"Fetch_and_op", "const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank, MPI_Aint " +
		"target_disp, MPI_Op op, MPI_Win win", ""},
	{"Compare_and_swap", "const void *origin_addr, const void *compare_addr, void *result_addr, MPI_Datatype " +
		"datatype, int target_rank, " +
		"MPI_Aint target_disp, MPI_Win win", ""},
	{"Win_fence", "int assert, MPI_Win win", ""},
	{"Win_start", "MPI_Group group, int assert, MPI_Win win", ""},
	{"Win_complete", "MPI_Win win", ""},
	{"Win_post", "MPI_Group group, int assert, MPI_Win win", ""},
	{"Win_wait", "MPI_Win win", ""},
	{"Win_lock", "int lock_type, int rank, int assert, MPI_Win win", ""},
	{"Win_unlock", "int rank, MPI_Win win", ""},
	{"Win_lock_all", "int assert, MPI_Win win", ""},
	{"Win_unlock_all", "MPI_Win win", ""},
	{"Win_flush", "int rank, MPI_Win win", ""},
	{"Win_flush_all", "MPI_Win win", ""},
	{"Win_flush_local", "int rank, MPI_Win win", ""},
	{"Win_flush_local_all", "MPI_Win win", ""},
	{"Win_sync", "MPI_Win win", ""},
	{"Finalize", "void", ""},
	{"Abort", "MPI_Comm comm, int code", ""},
}

// objectCalls concern nothing but the registry: they are no events. Those with procedures or texts among their
// arguments are in fortran_objects.c.
var objectCalls = []struct{ name, prototype string }{
	{"Comm_group", "MPI_Comm comm, MPI_Group *group"},
	{"Comm_remote_group", "MPI_Comm comm, MPI_Group *group"},
	{"Win_get_group", "MPI_Win win, MPI_Group *group"},
	{"File_get_group", "MPI_File fh, MPI_Group *group"},
	{"Group_union", "MPI_Group group1, MPI_Group group2, MPI_Group *newgroup"},
	{"Group_intersection", "MPI_Group group1, MPI_Group group2, MPI_Group *newgroup"},
	{"Group_difference", "MPI_Group group1, MPI_Group group2, MPI_Group *newgroup"},
	{"Group_incl", "MPI_Group group, int n, const int ranks[], MPI_Group *newgroup"},
	{"Group_excl", "MPI_Group group, int n, const int ranks[], MPI_Group *newgroup"},
	{"Group_range_incl", "MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup"},
	{"Group_range_excl", "MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup"},
	{"Group_free", "MPI_Group *group"},
	{"Win_set_name", "MPI_Win win, const char *win_name"},
	{"Op_free", "MPI_Op *op"},
	{"Comm_get_errhandler", "MPI_Comm comm, MPI_Errhandler *errhandler"},
	{"Win_get_errhandler", "MPI_Win win, MPI_Errhandler *errhandler"},
	{"File_get_errhandler", "MPI_File file, MPI_Errhandler *errhandler"},
	{"Errhandler_free", "MPI_Errhandler *errhandler"},
	{"Info_create", "MPI_Info *info"},
	{"Info_dup", "MPI_Info info, MPI_Info *newinfo"},
	{"Info_free", "MPI_Info *info"},
	{"Comm_get_info", "MPI_Comm comm, MPI_Info *info_used"},
	{"Win_get_info", "MPI_Win win, MPI_Info *info_used"},
	{"File_get_info", "MPI_File fh, MPI_Info *info_used"},
}

// uncoveredCalls mark a recording incomplete, by name.
var uncoveredCalls = []struct {
	name, prototype string
	fortran, mpich  bool
}{
	{"Comm_spawn", "const char *command, char *argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm, " +
		"MPI_Comm *intercomm, " +
		"int array_of_errcodes[]", false, false},
	{
		"Comm_spawn_multiple", "int count, char *array_of_commands[], char **array_of_argv[], const int " +
			"array_of_maxprocs[], " +
			"const MPI_Info array_of_info[], int root, MPI_Comm comm, MPI_Comm *intercomm, int array_of_errcodes[]", false,
		false,
	},
	{"Comm_accept", "const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm", false, false},
	{"Comm_connect", "const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm", false, false},
	{"Comm_join", "int fd, MPI_Comm *intercomm", true, false},
	{
		"Win_allocate_shared", "MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win",
		true, false,
	},
	{"Win_create_dynamic", "MPI_Info info, MPI_Comm comm, MPI_Win *win", true, false},
	{"Rput", "const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint " +
		"target_disp, " +
		"int target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request", true, false},
	{"Rget", "void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint " +
		"target_disp, " +
		"int target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request", true, false},
	{"Raccumulate", "const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, " +
		"MPI_Aint target_disp, " +
		"int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request", true, false},
	{"Rget_accumulate", "const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, void *result_addr, " +
		"int result_count, " +
		"MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, int target_count, " +
		"MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request", true, false},
	{"Win_test", "MPI_Win win, int *flag", true, false},
	{"File_open", "MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh", false, false},
	{"File_close", "MPI_File *fh", true, false},
	{"File_set_view", "MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep, " +
		"MPI_Info info", false, false},
	{"File_read", "MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status", true, false},
	{"File_read_all", "MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status", true, false},
	{
		"File_read_at", "MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Status *status",
		true, false,
	},
	{"File_read_at_all", "MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Status " +
		"*status", true, false},
	{"File_read_shared", "MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status", true, false},
	{"File_read_ordered", "MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status", true, false},
	{"File_write", "MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status", true, false},
	{
		"File_write_all", "MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status", true,
		false,
	},
	{"File_write_at", "MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, MPI_Status " +
		"*status", true, false},
	{"File_write_at_all", "MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, " +
		"MPI_Status *status", true, false},
	{
		"File_write_shared", "MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status", true,
		false,
	},
	{
		"File_write_ordered", "MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status", true,
		false,
	},
	{"File_iread", "MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request", true, false},
	{"File_iread_at", "MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Request " +
		"*request", true, false},
	{"File_iread_all", "MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request", true, false},
	{"File_iread_at_all", "MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Request " +
		"*request", true, false},
	{
		"File_iwrite_all", "MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request", true,
		false,
	},
	{"File_iwrite_at_all", "MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, " +
		"MPI_Request *request", true, false},
	{
		"File_iread_shared", "MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request", true,
		false,
	},
	{
		"File_iwrite", "MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request", true,
		false,
	},
	{"File_iwrite_at", "MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, " +
		"MPI_Request *request", true, false},
	{
		"File_iwrite_shared", "MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request", true,
		false,
	},
	{"File_sync", "MPI_File fh", true, false},
	{"File_set_size", "MPI_File fh, MPI_Offset size", true, false},
	{"File_preallocate", "MPI_File fh, MPI_Offset size", true, false},
	{"File_read_all_begin", "MPI_File fh, void *buf, int count, MPI_Datatype datatype", true, false},
	{"File_write_all_begin", "MPI_File fh, const void *buf, int count, MPI_Datatype datatype", true, false},
	{
		"File_read_at_all_begin", "MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype", true,
		false,
	},
	{
		"File_write_at_all_begin", "MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype",
		true, false,
	},
	{"File_read_ordered_begin", "MPI_File fh, void *buf, int count, MPI_Datatype datatype", true, false},
	{"File_write_ordered_begin", "MPI_File fh, const void *buf, int count, MPI_Datatype datatype", true, false},
	{"Isendrecv", "const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, " +
		"int recvcount, " +
		"MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request *request", false, true},
	{"Isendrecv_replace", "void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int " +
		"recvtag, MPI_Comm comm, " +
		"MPI_Request *request", false, true},
	{"Psend_init", "const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag, " +
		"MPI_Comm comm, " +
		"MPI_Info info, MPI_Request *request", false, true},
	{"Precv_init", "void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm " +
		"comm, " +
		"MPI_Info info, MPI_Request *request", false, true},
	{
		"Comm_create_from_group",
		"MPI_Group group, const char *stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *newcomm", false,
		true,
	},
	{
		"Intercomm_create_from_groups",
		"MPI_Group local_group, int local_leader, MPI_Group remote_group, int remote_leader, " +
			"const char *stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *newintercomm", false, true,
	},
	{"Lookup_name", "const char *service_name, MPI_Info info, char *port_name", false, false},
	{"T_pvar_read", "MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf", false, false},
	{"T_pvar_readreset", "MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf", false, false},
	{"Session_init", "MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session", false, true},
}

// ordering are the collectives that racing mode takes into its order: no rank leaves one before all have entered it, if
// it moves data at all (of a broadcast: before its root has). With the count and datatype that tell whether it does.
var ordering = map[string]string{
	"Barrier":              "0, MPI_BYTE",
	"Bcast":                "count, datatype",
	"Allreduce":            "count, datatype",
	"Allgather":            "recvcount, recvtype",
	"Alltoall":             "recvcount, recvtype",
	"Reduce_scatter_block": "recvcount, datatype",
}
