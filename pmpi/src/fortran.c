/* What the wrappers of Fortran calls are made with: sentinels, arrays of handles, texts. */
#include "completion.h"
#include "fortran.h"
#include "objects.h"
#include "tracking.h"

#include <dlfcn.h>

#ifdef OPEN_MPI
extern int mpi_fortran_bottom_ __attribute__((weak));
extern int mpi_fortran_in_place_ __attribute__((weak));
extern int mpi_fortran_unweighted_ __attribute__((weak));
extern int mpi_fortran_weights_empty_ __attribute__((weak));
extern int mpi_fortran_status_ignore_ __attribute__((weak));
extern int mpi_fortran_statuses_ignore_ __attribute__((weak));

void *fortran_buffer(void *p) {
  if (p == &mpi_fortran_bottom_) return MPI_BOTTOM;
  if (p == &mpi_fortran_in_place_) return MPI_IN_PLACE;
  return p;
}

int fortran_ignores_status(const MPI_Fint *p) {
  return (const void *)p == &mpi_fortran_status_ignore_ || (const void *)p == &mpi_fortran_statuses_ignore_ ||
         p == MPI_F_STATUS_IGNORE || p == MPI_F_STATUSES_IGNORE;
}

int *fortran_weights(MPI_Fint *p) {
  if ((void *)p == &mpi_fortran_unweighted_) return MPI_UNWEIGHTED;
  if ((void *)p == &mpi_fortran_weights_empty_) return MPI_WEIGHTS_EMPTY;
  return p;
}
#else

int fortran_ignores_status(const MPI_Fint *p) {
  return (const void *)p == &MPIR_F08_MPI_STATUS_IGNORE_OBJ || (const void *)p == &MPIR_F08_MPI_STATUSES_IGNORE_OBJ ||
         p == MPI_F_STATUS_IGNORE || p == MPI_F_STATUSES_IGNORE;
}
#endif

/* Conversions reuse their memory; two calls at once (MPI_THREAD_MULTIPLE) have one each. */
static __thread struct cohort_buffer statuses_buffer, requests_buffer, types_buffer[2];

enum { STATUS_INTS = sizeof(MPI_Status) / sizeof(MPI_Fint) };

static void *space(struct cohort_buffer *b, int count, size_t size) {
  return cohort_reserve(b, (size_t)(count > 0 ? count : 1) * size) ? b->data : NULL;
}

MPI_Status *fortran_statuses(const MPI_Fint *p, int count) {
  if (fortran_ignores_status(p)) return MPI_STATUSES_IGNORE;
  MPI_Status *s = space(&statuses_buffer, count, sizeof *s);
  for (int i = 0; s != NULL && i < count; i++) PMPI_Status_f2c(p + (size_t)i * STATUS_INTS, &s[i]);
  return s;
}

void fortran_statuses_out(MPI_Fint *p, const MPI_Status *statuses, int count) {
  if (statuses == MPI_STATUSES_IGNORE || count == MPI_UNDEFINED) return;
  for (int i = 0; i < count; i++) PMPI_Status_c2f(&statuses[i], p + (size_t)i * STATUS_INTS);
}

MPI_Request *fortran_requests(const MPI_Fint *p, int count) {
  MPI_Request *r = space(&requests_buffer, count, sizeof *r);
  for (int i = 0; r != NULL && i < count; i++) r[i] = PMPI_Request_f2c(p[i]);
  return r;
}

void fortran_requests_out(MPI_Fint *p, const MPI_Request *requests, int count) {
  for (int i = 0; i < count; i++)
    if (requests[i] == MPI_REQUEST_NULL) p[i] = PMPI_Request_c2f(MPI_REQUEST_NULL);
}

MPI_Datatype *fortran_types(const MPI_Fint *p, int count, int second) {
  MPI_Datatype *t = space(&types_buffer[second], count, sizeof *t);
  for (int i = 0; t != NULL && i < count; i++) t[i] = PMPI_Type_f2c(p[i]);
  return t;
}

int cohort_is_scratch(const void *p) {
  for (int i = 0; i < 2; i++)
    if (types_buffer[i].data != NULL &&
        (const uint8_t *)p - types_buffer[i].data < (ptrdiff_t)types_buffer[i].capacity &&
        (const uint8_t *)p >= types_buffer[i].data)
      return 1;
  return 0;
}

int fortran_peers(MPI_Comm comm) {
  int inter = 0, size = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter)
    PMPI_Comm_remote_size(comm, &size);
  else
    PMPI_Comm_size(comm, &size);
  return size;
}

static int degree(MPI_Comm comm, int out) {
  int kind = MPI_UNDEFINED, n = 0, in = 0, away = 0, weighted = 0, rank = 0;
  PMPI_Topo_test(comm, &kind);
  if (kind == MPI_CART) {
    PMPI_Cartdim_get(comm, &n);
    return 2 * n;
  }
  if (kind == MPI_GRAPH) {
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, &n);
    return n;
  }
  if (kind == MPI_DIST_GRAPH) PMPI_Dist_graph_neighbors_count(comm, &in, &away, &weighted);
  return out ? away : in;
}
int fortran_out_degree(MPI_Comm comm) { return degree(comm, 1); }
int fortran_in_degree(MPI_Comm comm) { return degree(comm, 0); }

void fortran_string(char *to, size_t room, const char *from, size_t length) {
  while (length > 0 && from[length - 1] == ' ') length--;
  if (length > room - 1) length = room - 1;
  memcpy(to, from, length);
  to[length] = 0;
}

/* The displacements of a call of MPI-1, which are INTEGERs. */
MPI_Aint *fortran_places(const MPI_Fint *p, int count) {
  static __thread struct cohort_buffer places_buffer;
  MPI_Aint *places = space(&places_buffer, count, sizeof *places);
  for (int i = 0; places != NULL && i < count; i++) places[i] = p[i];
  return places;
}

void *fortran_next(const char *name) { return dlsym(RTLD_NEXT, name); }

/* Fortran counts array elements from 1; but mpi_f08 of MPICH 4.0 gives the indices of Waitany and its kin from 0 (a
 * defect of its own), and programs must see under Cohort what they see without it. So it is asked, with a request that
 * is complete at once. */
int fortran_first_index(void) {
#ifdef OPEN_MPI
  return 1;
#else
  static int first = -1;
  if (first >= 0) return first;
  void (*waitany)(MPI_Fint *, MPI_Request *, MPI_Fint *, MPI_Status *, MPI_Fint *);
  *(void **)&waitany = fortran_next("mpi_waitany_f08_");
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Fint one = 1, index = 1, rc = MPI_ERR_OTHER;
  MPI_Status status;
  int buffer;
  if (waitany == NULL || PMPI_Irecv(&buffer, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request) != MPI_SUCCESS)
    return 1;
  waitany(&one, &request, &index, &status, &rc);
  first = rc == MPI_SUCCESS && index == 0 ? 0 : 1;
  return first;
#endif
}

/* ---- calls with texts among their arguments, which are passed on */

void fortran_opened(MPI_Fint file, MPI_Fint comm, const char *name, size_t length, int amode, uint64_t site) {
  char text[1024];
  fortran_string(text, sizeof text, name, length);
  cohort_file_opened(PMPI_File_f2c(file), PMPI_Comm_f2c(comm), text, amode, site);
}

void fortran_viewed(MPI_Fint file, MPI_Offset disp, MPI_Fint etype, MPI_Fint filetype, const char *datarep,
                    size_t length) {
  char text[32];
  fortran_string(text, sizeof text, datarep, length);
  cohort_file_viewed(PMPI_File_f2c(file), disp, PMPI_Type_f2c(etype), PMPI_Type_f2c(filetype), text);
}

void fortran_view_given(MPI_Fint file, MPI_Fint etype, MPI_Fint filetype) {
  if (!cohort_view_given(PMPI_File_f2c(file), PMPI_Type_f2c(etype), PMPI_Type_f2c(filetype))) return;
  cohort_datatype_in_fortran(PMPI_Type_f2c(etype), etype);
  cohort_datatype_in_fortran(PMPI_Type_f2c(filetype), filetype);
}
