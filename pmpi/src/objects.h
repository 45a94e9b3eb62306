/* The tables of the small objects: groups, windows, files, ops, error handlers and infos (objects.c). */
#ifndef COHORT_OBJECTS_H
#define COHORT_OBJECTS_H
#include "registry.h"

extern struct object_table cohort_groups, cohort_windows, cohort_files, cohort_reductions;
void cohort_objects_open(void);
void cohort_window_made(MPI_Win win, uint32_t kind, MPI_Comm comm, uint64_t site);
void cohort_window_epoch(MPI_Win win, uint32_t off, uint32_t on, MPI_Group group);
void cohort_window_lock(MPI_Win win, int rank, int type);
void cohort_window_unlock(MPI_Win win, int rank);
void cohort_file_opened(MPI_File file, MPI_Comm comm, const char *name, int amode, uint64_t site);
void cohort_file_viewed(MPI_File file, int64_t disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep);
int cohort_view_given(MPI_File file, MPI_Datatype etype, MPI_Datatype filetype); /* whether they were given */
/* Made or changed by Fortran, whose wrapper is the MPI's own. */
void cohort_info_changed(MPI_Info info, uint64_t site);
void cohort_op_from_fortran(MPI_Fint f, const void *function, int commutes, uint64_t site);
void cohort_errhandler_from_fortran(MPI_Fint f, uint32_t kind, const void *function, uint64_t site);

#endif
