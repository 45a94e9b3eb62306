/* Fortran calls with procedures or texts among their arguments, which only the MPI's own wrapper understands: they are
 * passed on, and what they made is noted. */
#include "fortran.h"
#include "objects.h"
#include "p2p.h"
#include "registry.h"

/* The calls of one procedure under all its names. */
#ifdef OPEN_MPI
#define NAMES(HOOK, lower, note) HOOK(mpi_##lower##_, note) HOOK(mpi_##lower##__, note) HOOK(mpi_##lower##_f08_, note)
#else
#define NAMES(HOOK, lower, note) HOOK(mpi_##lower##_, note) HOOK(mpi_##lower##_f08_, note)
#endif

/* `note` sees the arguments a, b, ..., rc, and site, the call in the program. */
#define PASS(symbol, parameters, arguments, ierr, note)                                     \
  EXPORT void symbol parameters {                                                           \
    static void(*next) parameters;                                                          \
    MPI_Fint own = MPI_ERR_OTHER, *result = ierr == NULL ? &own : ierr;                     \
    if (next == NULL) *(void **)&next = fortran_next(#symbol);                              \
    if (next == NULL) return;                                                               \
    cohort_fortran_site(SITE);                                                              \
    ierr = result;                                                                          \
    next arguments;                                                                         \
    cohort_fortran_site(0);                                                                 \
    uint64_t site = *result == MPI_SUCCESS ? cohort_registry_enter(SITE) : 0;               \
    if (site == 0) return;                                                                  \
    note;                                                                                   \
    cohort_registry_leave();                                                                \
  }
#define HOOK3(symbol, note) PASS(symbol, (void *a, MPI_Fint *b, MPI_Fint *ierr), (a, b, ierr), ierr, note)
#define HOOK4(symbol, note)                                                                                            \
  PASS(symbol, (void *a, MPI_Fint *b, MPI_Fint *c, MPI_Fint *ierr), (a, b, c, ierr), ierr, note)
#define HOOK8(symbol, note)                                                                                                     \
  PASS(symbol, (MPI_Fint * a, MPI_Fint *b, MPI_Fint *c, MPI_Fint *d, MPI_Fint *e, void *f, MPI_Fint *types, MPI_Fint *ierr), \
       (a, b, c, d, e, f, types, ierr), ierr, note)

NAMES(HOOK4, op_create, cohort_op_from_fortran(*c, a, *b != 0, site))
NAMES(HOOK3, comm_create_errhandler, cohort_errhandler_from_fortran(*b, COHORT_FUNCTION_COMM, a, site))
NAMES(HOOK3, win_create_errhandler, cohort_errhandler_from_fortran(*b, COHORT_FUNCTION_WINDOW, a, site))
NAMES(HOOK3, file_create_errhandler, cohort_errhandler_from_fortran(*b, COHORT_FUNCTION_FILE, a, site))

/* ---- texts: their lengths follow the other arguments */
#define HOOK_INFO_SET(symbol, note) \
  PASS(symbol, (MPI_Fint * a, char *b, char *c, MPI_Fint *ierr, size_t n, size_t m), (a, b, c, ierr, n, m), ierr, note)
#define HOOK_INFO_DELETE(symbol, note)                                                                                 \
  PASS(symbol, (MPI_Fint * a, char *b, MPI_Fint *ierr, size_t n), (a, b, ierr, n), ierr, note)
NAMES(HOOK_INFO_SET, info_set, cohort_info_noted(PMPI_Info_f2c(*a), site, NULL))
NAMES(HOOK_INFO_DELETE, info_delete, cohort_info_noted(PMPI_Info_f2c(*a), site, NULL))

#define HOOK_GET_VIEW(symbol, note)                                                                                        \
  PASS(symbol, (MPI_Fint * a, void *b, MPI_Fint *etype, MPI_Fint *filetype, char *c, MPI_Fint *ierr, size_t n),            \
       (a, b, etype, filetype, c, ierr, n), ierr, note)
static void given(MPI_Fint f) {
  MPI_Datatype type = PMPI_Type_f2c(f);
  cohort_datatype_given(type);
  cohort_datatype_in_fortran(type, f);
}
static void viewed(MPI_Fint file, MPI_Fint etype, MPI_Fint filetype) {
  if (!cohort_view_given(PMPI_File_f2c(file), PMPI_Type_f2c(etype), PMPI_Type_f2c(filetype))) return;
  cohort_datatype_in_fortran(PMPI_Type_f2c(etype), etype);
  cohort_datatype_in_fortran(PMPI_Type_f2c(filetype), filetype);
}
#ifdef OPEN_MPI /* in MPICH the C function is called, but by mpi_f08 */
NAMES(HOOK_GET_VIEW, file_get_view, viewed(*a, *etype, *filetype))
#else
HOOK_GET_VIEW(mpi_file_get_view_f08_, viewed(*a, *etype, *filetype))
#endif

static void contents(MPI_Fint type, MPI_Fint most, const MPI_Fint *types) {
  int ni, na, nt = 0, combiner;
  PMPI_Type_get_envelope(PMPI_Type_f2c(type), &ni, &na, &nt, &combiner);
  for (int i = 0; i < nt && i < most; i++) given(types[i]);
}
#ifdef OPEN_MPI
NAMES(HOOK8, type_get_contents, contents(*a, *d, types))
#else
HOOK8(mpi_type_get_contents_f08_, contents(*a, *d, types))
#endif

/* ---- files: record and replay do not cover them */
#define OPENED(symbol)                                                                                                                       \
  EXPORT void symbol(MPI_Fint *comm, char *name, MPI_Fint *amode, MPI_Fint *info, MPI_Fint *fh, MPI_Fint *ierr, size_t length) {             \
    static void (*next)(MPI_Fint *, char *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, size_t);                                         \
    MPI_Fint own = MPI_ERR_OTHER, *rc = ierr == NULL ? &own : ierr;                                                                          \
    if (next == NULL) *(void **)&next = fortran_next(#symbol);                                                                               \
    if (next == NULL) return;                                                                                                                \
    uint64_t site = SITE;                                                                                                                    \
    int seen = cohort_enter(COHORT_OP_OTHER, site);                                                                                          \
    if (seen) cohort_uncovered("MPI_File_open");                                                                                             \
    next(comm, name, amode, info, fh, rc, length);                                                                                           \
    if (*rc == MPI_SUCCESS) {                                                                                                                \
      char text[1024];                                                                                                                       \
      fortran_string(text, sizeof text, name, length);                                                                                       \
      cohort_file_opened(PMPI_File_f2c(*fh), PMPI_Comm_f2c(*comm), text, *amode, site);                                                      \
    }                                                                                                                                        \
    if (!seen) return;                                                                                                                       \
    cohort_event_plain();                                                                                                                    \
    cohort_leave();                                                                                                                          \
  }
#define VIEWED(symbol)                                                                                                                       \
  EXPORT void symbol(MPI_Fint *fh, MPI_Offset *disp, MPI_Fint *etype, MPI_Fint *filetype, char *datarep, MPI_Fint *info, MPI_Fint *ierr,      \
                     size_t length) {                                                                                                        \
    static void (*next)(MPI_Fint *, MPI_Offset *, MPI_Fint *, MPI_Fint *, char *, MPI_Fint *, MPI_Fint *, size_t);                            \
    MPI_Fint own = MPI_ERR_OTHER, *rc = ierr == NULL ? &own : ierr;                                                                          \
    if (next == NULL) *(void **)&next = fortran_next(#symbol);                                                                               \
    if (next == NULL) return;                                                                                                                \
    int seen = cohort_enter(COHORT_OP_OTHER, SITE);                                                                                          \
    if (seen) cohort_uncovered("MPI_File_set_view");                                                                                         \
    next(fh, disp, etype, filetype, datarep, info, rc, length);                                                                              \
    if (*rc == MPI_SUCCESS) {                                                                                                                \
      char text[32];                                                                                                                         \
      fortran_string(text, sizeof text, datarep, length);                                                                                    \
      cohort_file_viewed(PMPI_File_f2c(*fh), *disp, PMPI_Type_f2c(*etype), PMPI_Type_f2c(*filetype), text);                                  \
    }                                                                                                                                        \
    if (!seen) return;                                                                                                                       \
    cohort_event_plain();                                                                                                                    \
    cohort_leave();                                                                                                                          \
  }
#ifdef OPEN_MPI
OPENED(mpi_file_open_)
OPENED(mpi_file_open__)
VIEWED(mpi_file_set_view_)
VIEWED(mpi_file_set_view__)
#endif
OPENED(mpi_file_open_f08_)
VIEWED(mpi_file_set_view_f08_)

#ifndef OPEN_MPI /* constructors of MPI-1: the C functions are called */
#define HOOK6(symbol, note)                                                                                            \
  PASS(symbol, (MPI_Fint * a, MPI_Fint * b, MPI_Fint * c, MPI_Fint * d, MPI_Fint * e, MPI_Fint * ierr),                \
       (a, b, c, d, e, ierr), ierr, note)
HOOK6(mpi_type_hvector_, (void)0)
HOOK6(mpi_type_hindexed_, (void)0)
HOOK6(mpi_type_struct_, (void)0)
#endif
