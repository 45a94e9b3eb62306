/* The tables of the small objects: groups, windows, files (objects.c); ops, error handlers, infos (functions.c). */
#ifndef COHORT_OBJECTS_H
#define COHORT_OBJECTS_H
#include "registry.h"

extern struct object_table cohort_groups, cohort_windows, cohort_files, cohort_reductions, cohort_errhandlers,
    cohort_infos;
void cohort_groups_open(void);
void cohort_functions_open(void);
void cohort_infos_open(void);
uint64_t cohort_group_ref(MPI_Group group); /* address of its record, with a reference; 0: not known */
void cohort_window_made(MPI_Win win, uint32_t kind, MPI_Comm comm, uint64_t site);
void cohort_window_fence(MPI_Win win, int assert);
void cohort_window_group(MPI_Win win, MPI_Group group, uint32_t epoch);
void cohort_window_ended(MPI_Win win, uint32_t epoch);
void cohort_window_lock(MPI_Win win, int rank, int type);
void cohort_window_unlock(MPI_Win win, int rank);
void cohort_file_opened(MPI_File file, MPI_Comm comm, const char *name, int amode, uint64_t site);
void cohort_file_viewed(MPI_File file, int64_t disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep);
int cohort_view_given(MPI_File file, MPI_Datatype etype, MPI_Datatype filetype); /* whether they were given */
void cohort_info_noted(MPI_Info info, uint64_t site, const char *name); /* made or changed; name: predefined */
/* Made by Fortran, whose wrapper is the MPI's own. */
void cohort_op_from_fortran(MPI_Fint f, void *function, int commutes, uint64_t site);
void cohort_errhandler_from_fortran(MPI_Fint f, uint32_t kind, void *function, uint64_t site);

/* A call that is only about the registry: what it gave the program is made known, or what it changed. */
#define GIVES(name, parameters, arguments, noted)                        \
  EXPORT int MPI_##name parameters {                                     \
    int rc = PMPI_##name arguments;                                      \
    uint64_t site = rc == MPI_SUCCESS ? cohort_registry_enter(SITE) : 0; \
    if (site == 0) return rc;                                            \
    noted;                                                               \
    cohort_registry_leave();                                             \
    return rc;                                                           \
  }
#define FREES(name, type, table)                                          \
  EXPORT int MPI_##name(type *handle) {                                   \
    if (!cohort_registry_enter(SITE)) return PMPI_##name(handle);         \
    struct cohort_object *o = cohort_object_freeing(&table, HANDLE(*handle)); \
    int rc = PMPI_##name(handle);                                         \
    cohort_object_freed(o, rc);                                           \
    cohort_registry_leave();                                              \
    return rc;                                                            \
  }
#endif
