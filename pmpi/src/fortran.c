/* Fortran: sentinels, arrays of handles, and the initialisation, which belongs to the MPI's own wrapper. */
#include "completion.h"
#include "fortran.h"
#include "registry.h"
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

#ifdef OPEN_MPI
/* The names of MPI-1, in which an address is an INTEGER: mpif.h has them still. */
int MPI_Type_hvector_of_mpi1(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                             MPI_Datatype *newtype) __asm__("MPI_Type_hvector");
int MPI_Type_hindexed_of_mpi1(int count, int lengths[], MPI_Aint places[], MPI_Datatype oldtype,
                              MPI_Datatype *newtype) __asm__("MPI_Type_hindexed");
int MPI_Type_struct_of_mpi1(int count, int lengths[], MPI_Aint places[], MPI_Datatype types[],
                            MPI_Datatype *newtype) __asm__("MPI_Type_struct");

static __thread struct cohort_buffer places_buffer;

static MPI_Aint *fortran_places(const MPI_Fint *p, int count) {
  MPI_Aint *places = space(&places_buffer, count, sizeof *places);
  for (int i = 0; places != NULL && i < count; i++) places[i] = p[i];
  return places;
}

#define MPI1_END(newtype, ierr)                                     \
  cohort_fortran_site(0);                                           \
  if (rc == MPI_SUCCESS) *newtype = cohort_datatype_c2f(c_newtype); \
  if (ierr != NULL) *ierr = rc;

EXPORT void mpi_type_hvector_(MPI_Fint *count, MPI_Fint *blocklength, MPI_Fint *stride, MPI_Fint *oldtype,
                              MPI_Fint *newtype, MPI_Fint *ierr) {
  MPI_Datatype c_newtype;
  cohort_fortran_site(SITE);
  int rc = MPI_Type_hvector_of_mpi1(*count, *blocklength, *stride, PMPI_Type_f2c(*oldtype), &c_newtype);
  MPI1_END(newtype, ierr)
}

EXPORT void mpi_type_hindexed_(MPI_Fint *count, MPI_Fint *lengths, MPI_Fint *places, MPI_Fint *oldtype,
                               MPI_Fint *newtype, MPI_Fint *ierr) {
  MPI_Datatype c_newtype;
  MPI_Aint *c_places = fortran_places(places, *count);
  cohort_fortran_site(SITE);
  int rc = MPI_Type_hindexed_of_mpi1(*count, lengths, c_places, PMPI_Type_f2c(*oldtype), &c_newtype);
  MPI1_END(newtype, ierr)
}

EXPORT void mpi_type_struct_(MPI_Fint *count, MPI_Fint *lengths, MPI_Fint *places, MPI_Fint *types, MPI_Fint *newtype,
                             MPI_Fint *ierr) {
  MPI_Datatype c_newtype, *c_types = fortran_types(types, *count, 0);
  MPI_Aint *c_places = fortran_places(places, *count);
  cohort_fortran_site(SITE);
  int rc = MPI_Type_struct_of_mpi1(*count, lengths, c_places, c_types, &c_newtype);
  MPI1_END(newtype, ierr)
}

#define MPI1_NAMES(lower, upper)            \
  ALIAS(mpi_##lower##__, mpi_##lower##_)    \
  ALIAS(mpi_##lower, mpi_##lower##_)        \
  ALIAS(MPI_##upper, mpi_##lower##_)
MPI1_NAMES(type_hvector, TYPE_HVECTOR)
MPI1_NAMES(type_hindexed, TYPE_HINDEXED)
MPI1_NAMES(type_struct, TYPE_STRUCT)
#endif

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

/* Procedures are called back as the language has them, which only the MPI's own wrapper arranges. */
#define GREQUEST_START(symbol)                                                                                             \
  EXPORT void symbol(void *query_fn, void *free_fn, void *cancel_fn, void *extra_state, MPI_Fint *request, MPI_Fint *ierr) {  \
    static void (*next)(void *, void *, void *, void *, MPI_Fint *, MPI_Fint *);                                           \
    MPI_Fint own = MPI_ERR_OTHER, *rc = ierr == NULL ? &own : ierr;                                                        \
    if (next == NULL) *(void **)&next = fortran_next(#symbol);                                                             \
    if (next == NULL) return;                                                                                              \
    int seen = cohort_enter(COHORT_OP_GREQUEST_START, SITE);                                                               \
    next(query_fn, free_fn, cancel_fn, extra_state, request, rc);                                                          \
    if (seen) {                                                                                                            \
      cohort_grequest_started(*rc, PMPI_Request_f2c(*request));                                                            \
      cohort_leave();                                                                                                      \
    }                                                                                                                      \
    if (*rc == MPI_SUCCESS) cohort_call_grequest(SITE, PMPI_Request_f2c(*request), *request);                              \
  }
GREQUEST_START(mpi_grequest_start_f08_)
#ifdef OPEN_MPI
GREQUEST_START(mpi_grequest_start_)
GREQUEST_START(mpi_grequest_start__)
#endif

/* The MPI's own wrapper sets up more than MPI: it must run. */
#define INIT(symbol)                                                            \
  EXPORT void symbol(MPI_Fint *ierr) {                                          \
    static void (*next)(MPI_Fint *);                                            \
    MPI_Fint own = MPI_ERR_OTHER, *rc = ierr == NULL ? &own : ierr;             \
    if (next == NULL) *(void **)&next = fortran_next(#symbol);                  \
    if (next == NULL) return;                                                   \
    int outer = cohort_init_begin();                                            \
    next(rc);                                                                   \
    cohort_init_end(outer, *rc);                                                \
  }
#define INIT_THREAD(symbol)                                                     \
  EXPORT void symbol(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr) {  \
    static void (*next)(MPI_Fint *, MPI_Fint *, MPI_Fint *);                    \
    MPI_Fint own = MPI_ERR_OTHER, *rc = ierr == NULL ? &own : ierr;             \
    if (next == NULL) *(void **)&next = fortran_next(#symbol);                  \
    if (next == NULL) return;                                                   \
    int outer = cohort_init_begin();                                            \
    next(required, provided, rc);                                               \
    cohort_init_end(outer, *rc);                                                \
  }
INIT(mpi_init_f08_)
INIT_THREAD(mpi_init_thread_f08_)
#ifdef OPEN_MPI
INIT(mpi_init_)
INIT(mpi_init__)
INIT_THREAD(mpi_init_thread_)
INIT_THREAD(mpi_init_thread__)
#endif
