/* Groups, windows and files in the registry. */
#include "fortran.h"
#include "objects.h"
#include "p2p.h"
#include "registry.h"

#include "fortran.h"

struct object_table cohort_groups = {.table = {.published = &cohort_registry.groups}};

static void predefined(struct object_table *t, size_t bytes, uint64_t handle, int32_t f_handle, const char *name) {
  struct cohort_object *o = cohort_object_make(t, bytes, handle, 0);
  if (o == NULL) return;
  o->f_handle = f_handle;
  o->state = COHORT_OBJECT_PREDEFINED;
  cohort_object_set_name(o, name);
  cohort_object_publish(o);
}

/* ------------------------------------------------------------------ groups */

static void group_given(MPI_Group group, uint64_t site, uint32_t state) {
  if (group == MPI_GROUP_NULL || cohort_object_again(&cohort_groups, HANDLE(group))) return;
  int n = 0, rank = MPI_UNDEFINED;
  if (PMPI_Group_size(group, &n) != MPI_SUCCESS || PMPI_Group_rank(group, &rank) != MPI_SUCCESS) return;
  struct cohort_group *r = cohort_object_make(&cohort_groups, sizeof *r + 4 * (size_t)n, HANDLE(group), site);
  if (r == NULL) return;
  r->o.f_handle = PMPI_Group_c2f(group);
  r->o.state = state;
  r->group_rank = rank == MPI_UNDEFINED ? UINT32_MAX : (uint32_t)rank;
  r->n_members = cohort_world_ranks(group, n, (uint32_t *)(r + 1)) ? (uint32_t)n : 0;
  if (r->n_members < (uint32_t)n) r->o.state |= COHORT_OBJECT_TRUNCATED;
  cohort_object_publish_new(&r->o, 1);
}

uint64_t cohort_group_ref(MPI_Group group) {
  return (uint64_t)(uintptr_t)cohort_object_get(&cohort_groups, HANDLE(group));
}

GIVES(Comm_group, (MPI_Comm comm, MPI_Group *group), (comm, group), group_given(*group, site, 0))
GIVES(Comm_remote_group, (MPI_Comm comm, MPI_Group *group), (comm, group), group_given(*group, site, 0))
GIVES(Win_get_group, (MPI_Win win, MPI_Group *group), (win, group), group_given(*group, site, 0))
GIVES(File_get_group, (MPI_File fh, MPI_Group *group), (fh, group), group_given(*group, site, 0))
GIVES(Group_union, (MPI_Group group1, MPI_Group group2, MPI_Group *newgroup), (group1, group2, newgroup),
      group_given(*newgroup, site, 0))
GIVES(Group_intersection, (MPI_Group group1, MPI_Group group2, MPI_Group *newgroup), (group1, group2, newgroup),
      group_given(*newgroup, site, 0))
GIVES(Group_difference, (MPI_Group group1, MPI_Group group2, MPI_Group *newgroup), (group1, group2, newgroup),
      group_given(*newgroup, site, 0))
GIVES(Group_incl, (MPI_Group group, int n, const int ranks[], MPI_Group *newgroup), (group, n, ranks, newgroup),
      group_given(*newgroup, site, 0))
GIVES(Group_excl, (MPI_Group group, int n, const int ranks[], MPI_Group *newgroup), (group, n, ranks, newgroup),
      group_given(*newgroup, site, 0))
GIVES(Group_range_incl, (MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup), (group, n, ranges, newgroup),
      group_given(*newgroup, site, 0))
GIVES(Group_range_excl, (MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup), (group, n, ranges, newgroup),
      group_given(*newgroup, site, 0))
FREES(Group_free, MPI_Group, cohort_groups)

void cohort_groups_open(void) {
  predefined(&cohort_groups, sizeof(struct cohort_group), HANDLE(MPI_GROUP_NULL), PMPI_Group_c2f(MPI_GROUP_NULL),
             "MPI_GROUP_NULL");
  predefined(&cohort_windows, sizeof(struct cohort_window), HANDLE(MPI_WIN_NULL), PMPI_Win_c2f(MPI_WIN_NULL),
             "MPI_WIN_NULL");
  predefined(&cohort_files, sizeof(struct cohort_file), (uint64_t)(uintptr_t)MPI_FILE_NULL, -1, "MPI_FILE_NULL");
  struct cohort_group *r = cohort_object_make(&cohort_groups, sizeof *r, HANDLE(MPI_GROUP_EMPTY), 0);
  if (r == NULL) return;
  r->o.f_handle = PMPI_Group_c2f(MPI_GROUP_EMPTY);
  r->o.state = COHORT_OBJECT_PREDEFINED;
  r->group_rank = UINT32_MAX;
  cohort_object_set_name(&r->o, "MPI_GROUP_EMPTY");
  cohort_object_publish(&r->o);
}

/* ------------------------------------------------------------------ windows */

static void release_window(struct cohort_object *o, struct cohort_object **done) {
  struct cohort_window *w = (void *)o;
  cohort_object_drop(w->comm, done);
  cohort_object_drop(w->access_group, done);
  cohort_object_drop(w->exposure_group, done);
}
struct object_table cohort_windows = {.table = {.published = &cohort_registry.windows}, .release = release_window};

static void *attribute(MPI_Win win, int key) {
  void *value = NULL;
  int flag = 0;
  return PMPI_Win_get_attr(win, key, &value, &flag) == MPI_SUCCESS && flag ? value : NULL;
}

static uint64_t comm_record(MPI_Comm comm) {
  return (uint64_t)(uintptr_t)cohort_object_get(&cohort_comms, HANDLE(comm));
}

void cohort_window_made(MPI_Win win, uint32_t kind, MPI_Comm comm, uint64_t site) {
  struct cohort_window *w = cohort_object_make(&cohort_windows, sizeof *w, HANDLE(win), site);
  if (w == NULL) return;
  w->o.kind = kind;
  w->o.f_handle = PMPI_Win_c2f(win);
  w->comm = comm_record(comm);
  w->base = kind == COHORT_WINDOW_DYNAMIC ? 0 : (uint64_t)(uintptr_t)attribute(win, MPI_WIN_BASE);
  const MPI_Aint *bytes = attribute(win, MPI_WIN_SIZE);
  const int *unit = attribute(win, MPI_WIN_DISP_UNIT);
  w->bytes = bytes == NULL ? 0 : *bytes;
  w->disp_unit = unit == NULL ? 0 : *unit;
  cohort_object_publish(&w->o);
}

/* Changes a window's record: what a debugger sees in between is what was before, or after. */
#define CHANGE(win, ...)                                                                  \
  cohort_registry_lock();                                                                    \
  struct cohort_window *w = cohort_table_find(&cohort_windows.table, HANDLE(win));           \
  if (w != NULL) {                                                                           \
    __VA_ARGS__;                                                                             \
  }                                                                                          \
  cohort_registry_unlock()

static void set_epochs(struct cohort_window *w, uint32_t off, uint32_t on) {
  __atomic_store_n(&w->epochs, (w->epochs & ~off) | on, __ATOMIC_RELEASE);
}

void cohort_window_fence(MPI_Win win, int assert) {
  CHANGE(win, set_epochs(w, COHORT_EPOCH_FENCE, assert & MPI_MODE_NOSUCCEED ? 0 : COHORT_EPOCH_FENCE));
}

void cohort_window_group(MPI_Win win, MPI_Group group, uint32_t epoch) {
  uint64_t r = group == MPI_GROUP_NULL ? 0 : cohort_group_ref(group);
  struct cohort_object *before = NULL;
  CHANGE(win, {
    uint64_t *place = epoch == COHORT_EPOCH_START  ? &w->access_group
                      : epoch == COHORT_EPOCH_POST ? &w->exposure_group
                                                   : NULL;
    if (place != NULL) {
      before = (void *)(uintptr_t)*place;
      __atomic_store_n(place, r, __ATOMIC_RELEASE);
      r = 0;
    }
    set_epochs(w, 0, epoch);
    cohort_object_unref(before);
  });
  cohort_object_put((void *)(uintptr_t)r);
}

void cohort_window_ended(MPI_Win win, uint32_t epoch) {
  CHANGE(win, {
    set_epochs(w, epoch, 0);
    uint64_t *place = epoch == COHORT_EPOCH_START  ? &w->access_group
                      : epoch == COHORT_EPOCH_POST ? &w->exposure_group
                                                   : NULL;
    if (place != NULL) {
      struct cohort_object *before = (void *)(uintptr_t)*place;
      __atomic_store_n(place, 0, __ATOMIC_RELEASE);
      cohort_object_unref(before);
    }
  });
}

void cohort_window_lock(MPI_Win win, int rank, int type) {
  CHANGE(win, {
    if (w->n_locks < COHORT_LOCKS_MAX)
      w->locks[w->n_locks] = (uint32_t)rank | (type == MPI_LOCK_EXCLUSIVE ? COHORT_LOCK_EXCLUSIVE : 0);
    __atomic_store_n(&w->n_locks, w->n_locks + 1, __ATOMIC_RELEASE);
  });
}

/* Of more than are kept, the one that ends may be one that is not. */
void cohort_window_unlock(MPI_Win win, int rank) {
  CHANGE(win, {
    uint32_t n = w->n_locks < COHORT_LOCKS_MAX ? w->n_locks : COHORT_LOCKS_MAX, i = 0;
    while (i < n && (w->locks[i] & ~COHORT_LOCK_EXCLUSIVE) != (uint32_t)rank) i++;
    if (i < n && w->n_locks <= COHORT_LOCKS_MAX) w->locks[i] = w->locks[n - 1];
    else if (i < n) w->locks[i] = UINT32_MAX;
    if (w->n_locks > 0) __atomic_store_n(&w->n_locks, w->n_locks - 1, __ATOMIC_RELEASE);
  });
}

static void name_window(MPI_Win win, const char *name) {
  struct cohort_object *o = cohort_object_get(&cohort_windows, HANDLE(win));
  if (o != NULL) cohort_object_set_name(o, name);
  cohort_object_put(o);
}
GIVES(Win_set_name, (MPI_Win win, const char *win_name), (win, win_name), (void)site; name_window(win, win_name))

/* ------------------------------------------------------------------ files */

static void release_file(struct cohort_object *o, struct cohort_object **done) {
  struct cohort_file *f = (void *)o;
  cohort_object_drop(f->comm, done);
  cohort_object_drop(f->etype, done);
  cohort_object_drop(f->filetype, done);
}
struct object_table cohort_files = {.table = {.published = &cohort_registry.files}, .release = release_file};

static uint64_t type_record(MPI_Datatype type) {
  return (uint64_t)(uintptr_t)cohort_object_get(&cohort_datatypes, HANDLE(type));
}

void cohort_file_opened(MPI_File file, MPI_Comm comm, const char *name, int amode, uint64_t site) {
  struct cohort_file *f = cohort_object_make(&cohort_files, sizeof *f, (uint64_t)(uintptr_t)file, site);
  if (f == NULL) return;
  f->o.f_handle = PMPI_File_c2f(file);
  f->comm = comm_record(comm);
  f->amode = amode;
  f->etype = type_record(MPI_BYTE);
  f->filetype = type_record(MPI_BYTE);
  cohort_copy_name(f->datarep, sizeof f->datarep, "native");
  cohort_object_set_name(&f->o, name);
  cohort_object_publish(&f->o);
}

/* A new record in the place of the old one, so that no debugger sees half a view. */
void cohort_file_viewed(MPI_File file, int64_t disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep) {
  struct cohort_file *old = cohort_object_get(&cohort_files, (uint64_t)(uintptr_t)file);
  if (old == NULL) return;
  struct cohort_file *f = cohort_object_make(&cohort_files, sizeof *f, old->o.handle, old->o.call_site);
  if (f != NULL) {
    f->o.f_handle = old->o.f_handle;
    f->o.id = old->o.id;
    f->o.event = old->o.event;
    f->o.stack = old->o.stack;
    cohort_registry_lock();
    f->comm = old->comm;
    cohort_object_ref((void *)(uintptr_t)f->comm);
    cohort_registry_unlock();
    f->amode = old->amode;
    f->disp = disp;
    f->etype = type_record(etype);
    f->filetype = type_record(filetype);
    cohort_copy_name(f->datarep, sizeof f->datarep, datarep);
    if (old->o.name != 0) cohort_object_set_name(&f->o, (const char *)(uintptr_t)old->o.name);
    cohort_object_publish(&f->o);
  }
  cohort_object_put(&old->o);
}

/* Of a file that is none, MPICH reports success and leaves the arguments as they were: they are no handles, and asking
 * MPI about them would end the program. */
int cohort_view_given(MPI_File file, MPI_Datatype etype, MPI_Datatype filetype) {
  struct cohort_object *f = cohort_object_get(&cohort_files, (uint64_t)(uintptr_t)file);
  int open = f != NULL && !(f->state & COHORT_OBJECT_PREDEFINED);
  cohort_object_put(f);
  if (!open) return 0;
  cohort_datatype_given(etype);
  cohort_datatype_given(filetype);
  cohort_datatype_committed(etype); /* MPI-3.1, 13.3: both are returned in a committed state */
  cohort_datatype_committed(filetype);
  return 1;
}

GIVES(File_get_view, (MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype *filetype, char *datarep),
      (fh, disp, etype, filetype, datarep), (void)site;
      cohort_view_given(fh, *etype, *filetype))
