/* Groups, windows, files, ops, error handlers and infos in the registry. Their wrappers, at the end, are generated. */
#include "fortran.h"
#include "objects.h"
#include "p2p.h"
#include "registry.h"

static uint64_t address(const void *p) { return (uint64_t)(uintptr_t)p; }

/* A record that is not published yet. `name`: of what MPI has from the beginning, else NULL. NULL: no memory. */
static void *make(struct object_table *t, size_t bytes, uint64_t handle, MPI_Fint f_handle, uint64_t site,
                  const char *name) {
  struct cohort_object *o = cohort_object_make(t, bytes, handle, site);
  if (o == NULL) return NULL;
  o->f_handle = f_handle;
  if (name != NULL) {
    o->state = COHORT_OBJECT_PREDEFINED;
    cohort_object_set_name(o, name);
  }
  return o;
}

/* A new record in the place of an old one, so that no debugger sees half a change: it is the same object. */
static void inherit(struct cohort_object *o, const struct cohort_object *old) {
  o->id = old->id;
  o->event = old->event;
  o->stack = old->stack;
  if (old->name != 0) cohort_object_set_name(o, (const char *)(uintptr_t)old->name);
}

/* ------------------------------------------------------------------ groups */

struct object_table cohort_groups = {.table = {.published = &cohort_registry.groups}};

static void group_given(MPI_Group group, uint64_t site, const char *name) {
  int n = 0, rank = MPI_UNDEFINED;
  if (group == MPI_GROUP_NULL ? name == NULL : cohort_object_again(&cohort_groups, HANDLE(group))) return;
  if (group != MPI_GROUP_NULL &&
      (PMPI_Group_size(group, &n) != MPI_SUCCESS || PMPI_Group_rank(group, &rank) != MPI_SUCCESS))
    return;
  struct cohort_group *r =
      make(&cohort_groups, sizeof *r + 4 * (size_t)n, HANDLE(group), PMPI_Group_c2f(group), site, name);
  if (r == NULL) return;
  r->group_rank = rank == MPI_UNDEFINED ? UINT32_MAX : (uint32_t)rank;
  r->n_members = n > 0 && cohort_world_ranks(group, n, (uint32_t *)(r + 1)) ? (uint32_t)n : 0;
  if (r->n_members < (uint32_t)n) r->o.state |= COHORT_OBJECT_TRUNCATED;
  cohort_object_publish_new(&r->o, 1);
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

void cohort_window_made(MPI_Win win, uint32_t kind, MPI_Comm comm, uint64_t site) {
  struct cohort_window *w = make(&cohort_windows, sizeof *w, HANDLE(win), PMPI_Win_c2f(win), site, NULL);
  if (w == NULL) return;
  w->o.kind = kind;
  w->comm = address(cohort_object_get(&cohort_comms, HANDLE(comm)));
  w->base = kind == COHORT_WINDOW_DYNAMIC ? 0 : address(attribute(win, MPI_WIN_BASE));
  const MPI_Aint *bytes = attribute(win, MPI_WIN_SIZE);
  const int *unit = attribute(win, MPI_WIN_DISP_UNIT);
  w->bytes = bytes == NULL ? 0 : *bytes;
  w->disp_unit = unit == NULL ? 0 : *unit;
  cohort_object_publish(&w->o);
}

/* Its record, with the lock held; NULL: it is not known. */
static struct cohort_window *window_locked(MPI_Win win) {
  cohort_registry_lock();
  return cohort_table_find(&cohort_windows.table, HANDLE(win));
}

/* Epochs that end, and those that begin: for the members of `group`, or all. A debugger that looks meanwhile finds no
 * epoch without its group. */
void cohort_window_epoch(MPI_Win win, uint32_t off, uint32_t on, MPI_Group group) {
  struct cohort_object *r = group == MPI_GROUP_NULL ? NULL : cohort_object_get(&cohort_groups, HANDLE(group));
  struct cohort_window *w = window_locked(win);
  if (w != NULL) {
    uint64_t *place = (on | off) == COHORT_EPOCH_START  ? &w->access_group
                      : (on | off) == COHORT_EPOCH_POST ? &w->exposure_group
                                                        : NULL;
    STORE(w->epochs, w->epochs & ~(off & ~on));
    if (place != NULL) {
      struct cohort_object *before = (void *)(uintptr_t)*place;
      STORE(*place, address(r));
      r = before;
    }
    STORE(w->epochs, w->epochs | on);
  }
  cohort_object_unref(r);
  cohort_registry_unlock();
}

void cohort_window_lock(MPI_Win win, int rank, int type) {
  struct cohort_window *w = window_locked(win);
  if (w != NULL) {
    if (w->n_locks < COHORT_LOCKS_MAX)
      w->locks[w->n_locks] = (uint32_t)rank | (type == MPI_LOCK_EXCLUSIVE ? COHORT_LOCK_EXCLUSIVE : 0);
    STORE(w->n_locks, w->n_locks + 1);
  }
  cohort_registry_unlock();
}

/* Of more than there is room for, the one that ends may be one that is not there. */
void cohort_window_unlock(MPI_Win win, int rank) {
  struct cohort_window *w = window_locked(win);
  if (w != NULL) {
    uint32_t n = w->n_locks < COHORT_LOCKS_MAX ? w->n_locks : COHORT_LOCKS_MAX, i = 0;
    while (i < n && (w->locks[i] & ~COHORT_LOCK_EXCLUSIVE) != (uint32_t)rank) i++;
    if (i < n) w->locks[i] = w->n_locks <= COHORT_LOCKS_MAX ? w->locks[n - 1] : UINT32_MAX;
    if (w->n_locks > 0) STORE(w->n_locks, w->n_locks - 1);
  }
  cohort_registry_unlock();
}

/* ------------------------------------------------------------------ files */

static void release_file(struct cohort_object *o, struct cohort_object **done) {
  struct cohort_file *f = (void *)o;
  cohort_object_drop(f->comm, done);
  cohort_object_drop(f->etype, done);
  cohort_object_drop(f->filetype, done);
}
struct object_table cohort_files = {.table = {.published = &cohort_registry.files}, .release = release_file};

static struct cohort_file *make_file(MPI_File file, int amode, uint64_t site, int64_t disp, MPI_Datatype etype,
                                     MPI_Datatype filetype, const char *datarep) {
  struct cohort_file *f = make(&cohort_files, sizeof *f, address(file), PMPI_File_c2f(file), site, NULL);
  if (f == NULL) return NULL;
  f->amode = amode;
  f->disp = disp;
  f->etype = address(cohort_object_get(&cohort_datatypes, HANDLE(etype)));
  f->filetype = address(cohort_object_get(&cohort_datatypes, HANDLE(filetype)));
  cohort_copy_name(f->datarep, sizeof f->datarep, datarep);
  return f;
}

void cohort_file_opened(MPI_File file, MPI_Comm comm, const char *name, int amode, uint64_t site) {
  struct cohort_file *f = make_file(file, amode, site, 0, MPI_BYTE, MPI_BYTE, "native");
  if (f == NULL) return;
  f->comm = address(cohort_object_get(&cohort_comms, HANDLE(comm)));
  cohort_object_set_name(&f->o, name);
  cohort_object_publish(&f->o);
}

void cohort_file_viewed(MPI_File file, int64_t disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep) {
  struct cohort_file *old = cohort_object_get(&cohort_files, address(file));
  if (old == NULL) return;
  struct cohort_file *f = make_file(file, old->amode, old->o.call_site, disp, etype, filetype, datarep);
  if (f != NULL) {
    inherit(&f->o, &old->o);
    cohort_registry_lock();
    f->comm = old->comm;
    cohort_object_ref((void *)(uintptr_t)f->comm);
    cohort_registry_unlock();
    cohort_object_publish(&f->o);
  }
  cohort_object_put(&old->o);
}

/* Of a file that is none, MPICH reports success and leaves the arguments as they were: they are no handles, and asking
 * MPI about them would end the program. */
int cohort_view_given(MPI_File file, MPI_Datatype etype, MPI_Datatype filetype) {
  struct cohort_object *f = cohort_object_get(&cohort_files, address(file));
  int open = f != NULL && !(f->state & COHORT_OBJECT_PREDEFINED);
  cohort_object_put(f);
  if (!open) return 0;
  cohort_datatype_given(etype);
  cohort_datatype_given(filetype);
  cohort_datatype_committed(etype); /* MPI-3.1, 13.3: both are returned in a committed state */
  cohort_datatype_committed(filetype);
  return 1;
}

/* ------------------------------------------------------------------ ops and error handlers */

struct object_table cohort_reductions = {.table = {.published = &cohort_registry.ops}};
static struct object_table errhandlers = {.table = {.published = &cohort_registry.errhandlers}};

static void op_made(MPI_Op op, const void *function, int commutes, uint64_t site, const char *name) {
  struct cohort_reduction *r = make(&cohort_reductions, sizeof *r, HANDLE(op), PMPI_Op_c2f(op), site, name);
  if (r == NULL) return;
  r->o.kind = name == NULL ? COHORT_FUNCTION_USER : COHORT_FUNCTION_PREDEFINED;
  r->function = address(function);
  r->commutes = commutes != 0;
  cohort_object_publish(&r->o);
}

static struct cohort_errhandler *make_errhandler(MPI_Errhandler handler, uint32_t kind, const void *function,
                                                 uint64_t site, const char *name) {
  struct cohort_errhandler *r =
      make(&errhandlers, sizeof *r, HANDLE(handler), PMPI_Errhandler_c2f(handler), site, name);
  if (r == NULL) return NULL;
  r->o.kind = kind;
  r->function = address(function);
  return r;
}

static void errhandler_made(MPI_Errhandler handler, uint32_t kind, const void *function, uint64_t site,
                            const char *name) {
  struct cohort_errhandler *r = make_errhandler(handler, kind, function, site, name);
  if (r != NULL) cohort_object_publish(&r->o);
}

static void errhandler_given(MPI_Errhandler handler, uint64_t site) {
  if (cohort_object_again(&errhandlers, HANDLE(handler))) return;
  struct cohort_errhandler *r = make_errhandler(handler, COHORT_FUNCTION_USER, NULL, site, NULL);
  if (r == NULL) return;
  r->o.state = COHORT_OBJECT_UNSEEN | COHORT_OBJECT_ADDRESS_ONLY;
  cohort_object_publish_new(&r->o, 1);
}

/* What Fortran made has a procedure of Fortran; the MPI's wrapper may have called C with one of its own. */
static void in_fortran(struct object_table *t, uint64_t handle, const void *function) {
  struct cohort_errhandler *r = cohort_object_get(t, handle);
  if (r == NULL) return;
  r->function = address(function); /* where a struct cohort_reduction has it too */
  __atomic_fetch_or(&r->o.state, COHORT_OBJECT_FORTRAN, __ATOMIC_RELEASE);
  cohort_object_put(&r->o);
}

void cohort_op_from_fortran(MPI_Fint f, const void *function, int commutes, uint64_t site) {
  MPI_Op op = PMPI_Op_f2c(f);
  if (!cohort_object_known(&cohort_reductions, HANDLE(op))) op_made(op, function, commutes, site, NULL);
  in_fortran(&cohort_reductions, HANDLE(op), function);
}

void cohort_errhandler_from_fortran(MPI_Fint f, uint32_t kind, const void *function, uint64_t site) {
  MPI_Errhandler handler = PMPI_Errhandler_f2c(f);
  if (!cohort_object_known(&errhandlers, HANDLE(handler))) errhandler_made(handler, kind, function, site, NULL);
  in_fortran(&errhandlers, HANDLE(handler), function);
}

/* ------------------------------------------------------------------ infos */

static struct object_table infos = {.table = {.published = &cohort_registry.infos}};

/* What MPI says is in it: `text` has the entries, the record the rest. */
static struct cohort_info read_info(MPI_Info info, struct cohort_buffer *text) {
  struct cohort_info r = {0};
  int n = 0;
  text->length = 0;
  if (info == MPI_INFO_NULL || PMPI_Info_get_nkeys(info, &n) != MPI_SUCCESS) return r;
  r.n_keys = (uint32_t)n;
  for (int i = 0; i < n; i++) {
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int length = 0, flag = 0;
    if (r.n_entries == COHORT_INFO_KEYS_MAX ||
        !cohort_reserve(text, text->length + sizeof key + COHORT_INFO_VALUE_MAX))
      break;
    if (PMPI_Info_get_nthkey(info, i, key) != MPI_SUCCESS ||
        PMPI_Info_get_valuelen(info, key, &length, &flag) != MPI_SUCCESS || !flag ||
        PMPI_Info_get(info, key, (int)sizeof value - 1, value, &flag) != MPI_SUCCESS || !flag)
      continue;
    size_t k = strnlen(key, sizeof key - 1), v = strnlen(value, sizeof value - 1);
    if (length > (int)v || v > COHORT_INFO_VALUE_MAX - 1) r.o.state = COHORT_OBJECT_TRUNCATED;
    if (v > COHORT_INFO_VALUE_MAX - 1) v = COHORT_INFO_VALUE_MAX - 1;
    key[k] = value[v] = 0;
    memcpy(text->data + text->length, key, k + 1);
    memcpy(text->data + text->length + k + 1, value, v + 1);
    text->length += k + v + 2;
    r.n_entries++;
  }
  if (r.n_entries < r.n_keys) r.o.state = COHORT_OBJECT_TRUNCATED;
  return r;
}

/* `fresh`: the program has just been given it, or MPI has it from the beginning (`name`); else it is a change of one
 * that the program has. */
static void info_noted(MPI_Info info, uint64_t site, const char *name, int fresh) {
  static THREAD_LOCAL struct cohort_buffer text;
  static uint64_t published; /* how often an info was */
  for (int newest = info == MPI_INFO_NULL && name == NULL; !newest;) {
    uint64_t before = LOAD(published);
    struct cohort_info read = read_info(info, &text);
    struct cohort_object *old = fresh ? NULL : cohort_object_get(&infos, HANDLE(info));
    struct cohort_info *r = make(&infos, sizeof *r + text.length, HANDLE(info), PMPI_Info_c2f(info),
                                 old == NULL ? site : old->call_site, name);
    if (r == NULL) {
      cohort_object_put(old);
      return;
    }
    r->o.state |= read.o.state;
    if (old != NULL) {
      r->o.state |= old->state & COHORT_OBJECT_PREDEFINED;
      inherit(&r->o, old);
    } else if (!fresh) {
      r->o.state |= COHORT_OBJECT_UNSEEN;
    }
    r->n_keys = read.n_keys;
    r->n_entries = read.n_entries;
    if (text.length > 0) memcpy(r + 1, text.data, text.length);
    cohort_object_put(old);
    /* Another thread may have changed it since it was read: what it has published may be newer. */
    cohort_registry_lock();
    newest = published == before;
    if (newest) STORE(published, before + 1);
    cohort_object_unref(newest ? cohort_table_put(&infos.table, r->o.handle, r) : &r->o);
    cohort_registry_unlock();
  }
}

void cohort_info_changed(MPI_Info info, uint64_t site) { info_noted(info, site, NULL, 0); }

void cohort_objects_open(void) {
  struct cohort_object *window =
      make(&cohort_windows, sizeof(struct cohort_window), HANDLE(MPI_WIN_NULL), PMPI_Win_c2f(MPI_WIN_NULL), 0,
           "MPI_WIN_NULL");
  if (window != NULL) cohort_object_publish(window);
  struct cohort_object *file =
      make(&cohort_files, sizeof(struct cohort_file), address(MPI_FILE_NULL), -1, 0, "MPI_FILE_NULL");
  if (file != NULL) cohort_object_publish(file);
#define OP(op, commutes) op_made(op, NULL, commutes, 0, #op);
  OP(MPI_OP_NULL, 0) OP(MPI_MAX, 1) OP(MPI_MIN, 1) OP(MPI_SUM, 1) OP(MPI_PROD, 1) OP(MPI_LAND, 1) OP(MPI_BAND, 1)
  OP(MPI_LOR, 1) OP(MPI_BOR, 1) OP(MPI_LXOR, 1) OP(MPI_BXOR, 1) OP(MPI_MINLOC, 1) OP(MPI_MAXLOC, 1) OP(MPI_REPLACE, 0)
  OP(MPI_NO_OP, 0)
#define HANDLER(handler) errhandler_made(handler, COHORT_FUNCTION_PREDEFINED, NULL, 0, #handler);
  HANDLER(MPI_ERRHANDLER_NULL) HANDLER(MPI_ERRORS_ARE_FATAL) HANDLER(MPI_ERRORS_RETURN)
#if !defined(OPEN_MPI) && MPI_VERSION >= 4
  HANDLER(MPI_ERRORS_ABORT)
#endif
  group_given(MPI_GROUP_NULL, 0, "MPI_GROUP_NULL");
  group_given(MPI_GROUP_EMPTY, 0, "MPI_GROUP_EMPTY");
  info_noted(MPI_INFO_NULL, 0, "MPI_INFO_NULL", 1);
  info_noted(MPI_INFO_ENV, 0, "MPI_INFO_ENV", 1);
}

#include "wrap_objects.h"
