/* Counts that are greater than an int holds. See gen_large.c. */
#include "large.h"
#include "p2p.h"

#include <limits.h>

#if !defined(OPEN_MPI) && MPI_VERSION >= 4
int large_count(struct large *l, MPI_Count count, MPI_Datatype type, int may_make) {
  *l = (struct large){.count = (int)count, .type = type};
  if (LIKELY(count <= INT_MAX && count >= INT_MIN)) return 1;
  l->count = 1;
  if (!may_make || count < 0 || type == MPI_DATATYPE_NULL ||
      PMPI_Type_contiguous_c(count, type, &l->type) != MPI_SUCCESS)
    return 0;
  l->made = 1;
  if (PMPI_Type_commit(&l->type) == MPI_SUCCESS) return 1;
  large_free(l);
  return 0;
}

/* MPI keeps a datatype that a pending operation uses. */
void large_free(struct large *l) {
  if (!l->made) return;
  PMPI_Type_free(&l->type);
  cohort_type_size_forget(); /* its handle may come again for another */
  l->made = 0;
}

static __thread struct cohort_buffer slots[4];

_Static_assert(sizeof(MPI_Count) == sizeof(int64_t) && sizeof(MPI_Aint) == sizeof(int64_t), "both are narrowed alike");

static const int *narrowed(int slot, const int64_t *values, int n, int *fits) {
  int room = cohort_reserve(&slots[slot], (size_t)(n > 0 ? n : 1) * sizeof(int));
  int *to = (int *)(void *)slots[slot].data;
  if (!room || (values == NULL && n > 0)) {
    *fits &= values == NULL;
    return NULL;
  }
  for (int i = 0; i < n; i++) {
    to[i] = (int)values[i];
    *fits &= to[i] == values[i];
  }
  return to;
}

const int *large_counts(int slot, const MPI_Count *counts, int n, int *fits) {
  return narrowed(slot, (const int64_t *)counts, n, fits);
}

const int *large_places(int slot, const MPI_Aint *places, int n, int *fits) {
  return narrowed(slot, (const int64_t *)places, n, fits);
}

int cohort_local_size(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}
#endif
