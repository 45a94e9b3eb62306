/* MPI_Ops, error handlers and infos in the registry. */
#include "fortran.h"
#include "objects.h"
#include "registry.h"

#include "fortran.h"

struct object_table cohort_reductions = {.table = {.published = &cohort_registry.ops}};
struct object_table cohort_errhandlers = {.table = {.published = &cohort_registry.errhandlers}};
struct object_table cohort_infos = {.table = {.published = &cohort_registry.infos}};

/* ------------------------------------------------------------------ MPI_Op */

static void add_op(MPI_Op op, uint32_t kind, uint64_t function, int commutes, uint64_t site, const char *name) {
  struct cohort_reduction *r = cohort_object_make(&cohort_reductions, sizeof *r, HANDLE(op), site);
  if (r == NULL) return;
  r->o.kind = kind;
  r->o.f_handle = PMPI_Op_c2f(op);
  if (kind == COHORT_FUNCTION_PREDEFINED) r->o.state = COHORT_OBJECT_PREDEFINED;
  r->function = function;
  r->commutes = commutes != 0;
  if (name != NULL) cohort_object_set_name(&r->o, name);
  cohort_object_publish(&r->o);
}

GIVES(Op_create, (MPI_User_function * user_fn, int commute, MPI_Op *op), (user_fn, commute, op),
      add_op(*op, COHORT_FUNCTION_USER, (uint64_t)(uintptr_t)user_fn, commute, site, NULL))
#if !defined(OPEN_MPI) && MPI_VERSION >= 4
GIVES(Op_create_c, (MPI_User_function_c * user_fn, int commute, MPI_Op *op), (user_fn, commute, op),
      add_op(*op, COHORT_FUNCTION_USER, (uint64_t)(uintptr_t)user_fn, commute, site, NULL))
#endif
FREES(Op_free, MPI_Op, cohort_reductions)

/* Made by Fortran, whose wrapper is the MPI's own. */
void cohort_op_from_fortran(MPI_Fint f, void *function, int commutes, uint64_t site) {
  MPI_Op op = PMPI_Op_f2c(f);
  struct cohort_reduction *r = cohort_object_get(&cohort_reductions, HANDLE(op));
  if (r == NULL) {
    add_op(op, COHORT_FUNCTION_USER, (uint64_t)(uintptr_t)function, commutes, site, NULL);
    r = cohort_object_get(&cohort_reductions, HANDLE(op));
  }
  if (r == NULL) return;
  r->function = (uint64_t)(uintptr_t)function;
  __atomic_fetch_or(&r->o.state, COHORT_OBJECT_FORTRAN, __ATOMIC_RELEASE);
  cohort_object_put(&r->o);
}

/* ------------------------------------------------------------------ error handlers */

static struct cohort_errhandler *make_errhandler(MPI_Errhandler handler, uint32_t kind, uint32_t state,
                                                 uint64_t function, uint64_t site) {
  struct cohort_errhandler *r = cohort_object_make(&cohort_errhandlers, sizeof *r, HANDLE(handler), site);
  if (r == NULL) return NULL;
  r->o.kind = kind;
  r->o.state = state;
  r->o.f_handle = PMPI_Errhandler_c2f(handler);
  r->function = function;
  return r;
}

static void add_errhandler(MPI_Errhandler handler, uint32_t kind, uint32_t state, uint64_t function, uint64_t site,
                           const char *name) {
  struct cohort_errhandler *r = make_errhandler(handler, kind, state, function, site);
  if (r == NULL) return;
  if (name != NULL) cohort_object_set_name(&r->o, name);
  cohort_object_publish(&r->o);
}

static void errhandler_given(MPI_Errhandler handler, uint64_t site) {
  if (cohort_object_again(&cohort_errhandlers, HANDLE(handler))) return;
  struct cohort_errhandler *r =
      make_errhandler(handler, COHORT_FUNCTION_USER, COHORT_OBJECT_UNSEEN | COHORT_OBJECT_ADDRESS_ONLY, 0, site);
  if (r != NULL) cohort_object_publish_new(&r->o, 1);
}

#define MADE(KIND) add_errhandler(*errhandler, COHORT_FUNCTION_##KIND, 0, (uint64_t)(uintptr_t)function, site, NULL)
GIVES(Comm_create_errhandler, (MPI_Comm_errhandler_function * function, MPI_Errhandler *errhandler),
      (function, errhandler), MADE(COMM))
GIVES(Win_create_errhandler, (MPI_Win_errhandler_function * function, MPI_Errhandler *errhandler),
      (function, errhandler), MADE(WINDOW))
GIVES(File_create_errhandler, (MPI_File_errhandler_function * function, MPI_Errhandler *errhandler),
      (function, errhandler), MADE(FILE))
#ifndef OPEN_MPI
GIVES(Errhandler_create, (MPI_Comm_errhandler_function * function, MPI_Errhandler *errhandler), (function, errhandler),
      MADE(COMM))
#endif
GIVES(Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler *errhandler), (comm, errhandler),
      errhandler_given(*errhandler, site))
GIVES(Win_get_errhandler, (MPI_Win win, MPI_Errhandler *errhandler), (win, errhandler),
      errhandler_given(*errhandler, site))
GIVES(File_get_errhandler, (MPI_File file, MPI_Errhandler *errhandler), (file, errhandler),
      errhandler_given(*errhandler, site))
FREES(Errhandler_free, MPI_Errhandler, cohort_errhandlers)

void cohort_errhandler_from_fortran(MPI_Fint f, uint32_t kind, void *function, uint64_t site) {
  MPI_Errhandler handler = PMPI_Errhandler_f2c(f);
  struct cohort_errhandler *r = cohort_object_get(&cohort_errhandlers, HANDLE(handler));
  if (r == NULL) {
    add_errhandler(handler, kind, 0, (uint64_t)(uintptr_t)function, site, NULL);
    r = cohort_object_get(&cohort_errhandlers, HANDLE(handler));
  }
  if (r == NULL) return;
  r->function = (uint64_t)(uintptr_t)function;
  __atomic_fetch_or(&r->o.state, COHORT_OBJECT_FORTRAN, __ATOMIC_RELEASE);
  cohort_object_put(&r->o);
}

void cohort_functions_open(void) {
  static const struct { MPI_Op op; const char *name;
  } ops[] = {
#define OP(name) {name, #name}
      OP(MPI_OP_NULL), OP(MPI_MAX),    OP(MPI_MIN),    OP(MPI_SUM),     OP(MPI_PROD),
      OP(MPI_LAND),    OP(MPI_BAND),   OP(MPI_LOR),    OP(MPI_BOR),     OP(MPI_LXOR),
      OP(MPI_BXOR),    OP(MPI_MINLOC), OP(MPI_MAXLOC), OP(MPI_REPLACE), OP(MPI_NO_OP),
  };
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    int commutes = ops[i].op != MPI_OP_NULL && ops[i].op != MPI_REPLACE && ops[i].op != MPI_NO_OP;
    add_op(ops[i].op, COHORT_FUNCTION_PREDEFINED, 0, commutes, 0, ops[i].name);
  }
  static const struct { MPI_Errhandler handler; const char *name; } handlers[] = {
      OP(MPI_ERRHANDLER_NULL), OP(MPI_ERRORS_ARE_FATAL), OP(MPI_ERRORS_RETURN),
#if !defined(OPEN_MPI) && MPI_VERSION >= 4
      OP(MPI_ERRORS_ABORT),
#endif
  };
  for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
    add_errhandler(handlers[i].handler, COHORT_FUNCTION_PREDEFINED, COHORT_OBJECT_PREDEFINED, 0, 0, handlers[i].name);
}

/* ------------------------------------------------------------------ infos */

/* What MPI says is in it, as `key NUL value NUL` texts. */
static size_t read_info(MPI_Info info, struct cohort_buffer *text, uint32_t *n_keys, uint32_t *n_entries,
                        uint32_t *state) {
  int n = 0;
  *n_keys = *n_entries = 0;
  text->length = 0;
  if (PMPI_Info_get_nkeys(info, &n) != MPI_SUCCESS) return 0;
  *n_keys = (uint32_t)n;
  for (int i = 0; i < n; i++) {
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int length = 0, flag = 0;
    if (*n_entries == COHORT_INFO_KEYS_MAX ||
        !cohort_reserve(text, text->length + sizeof key + COHORT_INFO_VALUE_MAX)) {
      *state |= COHORT_OBJECT_TRUNCATED;
      break;
    }
    if (PMPI_Info_get_nthkey(info, i, key) != MPI_SUCCESS ||
        PMPI_Info_get_valuelen(info, key, &length, &flag) != MPI_SUCCESS || !flag ||
        PMPI_Info_get(info, key, (int)sizeof value - 1, value, &flag) != MPI_SUCCESS || !flag)
      continue;
    size_t k = strnlen(key, sizeof key - 1), v = strnlen(value, sizeof value - 1);
    if (length > (int)v || v > COHORT_INFO_VALUE_MAX - 1) *state |= COHORT_OBJECT_TRUNCATED;
    if (v > COHORT_INFO_VALUE_MAX - 1) v = COHORT_INFO_VALUE_MAX - 1;
    memcpy(text->data + text->length, key, k);
    text->data[text->length + k] = 0;
    memcpy(text->data + text->length + k + 1, value, v);
    text->data[text->length + k + 1 + v] = 0;
    text->length += k + v + 2;
    ++*n_entries;
  }
  if (*n_entries < *n_keys) *state |= COHORT_OBJECT_TRUNCATED;
  return text->length;
}

static uint64_t n_notes; /* how often an info was published */

/* `fresh`: the program has just been given it; else it is a change of one that it has. */
static void note(MPI_Info info, uint64_t site, const char *name, int fresh) {
  static __thread struct cohort_buffer text __attribute__((tls_model("initial-exec")));
  if (info == MPI_INFO_NULL && name == NULL) return;
  for (;;) {
    uint32_t n_keys = 0, n_entries = 0, state = 0;
    uint64_t before = __atomic_load_n(&n_notes, __ATOMIC_ACQUIRE);
    size_t bytes = info == MPI_INFO_NULL ? 0 : read_info(info, &text, &n_keys, &n_entries, &state);
    struct cohort_object *old = fresh ? NULL : cohort_object_get(&cohort_infos, HANDLE(info));
    struct cohort_info *r =
        cohort_object_make(&cohort_infos, sizeof *r + bytes, HANDLE(info), old == NULL ? site : old->call_site);
    if (r == NULL) {
      cohort_object_put(old);
      return;
    }
    r->o.f_handle = PMPI_Info_c2f(info);
    r->o.state = state | (name != NULL  ? COHORT_OBJECT_PREDEFINED
                          : fresh       ? 0
                          : old == NULL ? COHORT_OBJECT_UNSEEN
                                        : old->state & COHORT_OBJECT_PREDEFINED);
    if (old != NULL) {
      r->o.id = old->id;
      r->o.event = old->event;
      r->o.stack = old->stack;
      if (old->name != 0) cohort_object_set_name(&r->o, (const char *)(uintptr_t)old->name);
    }
    r->n_keys = n_keys;
    r->n_entries = n_entries;
    if (bytes > 0) memcpy(r + 1, text.data, bytes);
    if (name != NULL) cohort_object_set_name(&r->o, name);
    cohort_object_put(old);
    /* Another thread may have changed it since it was read: what it has published may be newer. */
    cohort_registry_lock();
    int newest = n_notes == before;
    if (newest) __atomic_store_n(&n_notes, before + 1, __ATOMIC_RELEASE);
    cohort_object_unref(newest ? cohort_table_put(&cohort_infos.table, r->o.handle, r) : &r->o);
    cohort_registry_unlock();
    if (newest) return;
  }
}

void cohort_info_noted(MPI_Info info, uint64_t site, const char *name) { note(info, site, name, name != NULL); }

GIVES(Info_create, (MPI_Info * info), (info), note(*info, site, NULL, 1))
GIVES(Info_dup, (MPI_Info info, MPI_Info *newinfo), (info, newinfo), note(*newinfo, site, NULL, 1))
GIVES(Info_set, (MPI_Info info, const char *key, const char *value), (info, key, value), note(info, site, NULL, 0))
GIVES(Info_delete, (MPI_Info info, const char *key), (info, key), note(info, site, NULL, 0))
GIVES(Comm_get_info, (MPI_Comm comm, MPI_Info *info_used), (comm, info_used), note(*info_used, site, NULL, 1))
GIVES(Win_get_info, (MPI_Win win, MPI_Info *info_used), (win, info_used), note(*info_used, site, NULL, 1))
GIVES(File_get_info, (MPI_File fh, MPI_Info *info_used), (fh, info_used), note(*info_used, site, NULL, 1))
FREES(Info_free, MPI_Info, cohort_infos)

void cohort_infos_open(void) {
  cohort_info_noted(MPI_INFO_NULL, 0, "MPI_INFO_NULL");
  cohort_info_noted(MPI_INFO_ENV, 0, "MPI_INFO_ENV");
}
