/* Counts that are greater than an int holds. */
#ifndef COHORT_LARGE_H
#define COHORT_LARGE_H
#include "core.h"

struct large { int count, made; MPI_Datatype type; };

#if !defined(OPEN_MPI) && MPI_VERSION >= 4
/* `count` elements of `type`, as an int counts them: 0: they cannot be. */
int large_count(struct large *l, MPI_Count count, MPI_Datatype type, int may_make);
void large_free(struct large *l);
/* Arrays of counts and places as ints, in memory that the next call of the thread with the same slot uses again; *fits
 * becomes 0 if they are none. */
const int *large_counts(int slot, const MPI_Count *counts, int n, int *fits);
const int *large_places(int slot, const MPI_Aint *places, int n, int *fits);
int cohort_local_size(MPI_Comm comm);
#endif
#endif
