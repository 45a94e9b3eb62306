/* Datatypes in the registry: one record per type, with its constructor's arguments exactly as MPI_Type_get_contents
 * returns them. A record lives while its handle does and while another record refers to it. */
#include "p2p.h"
#include "registry.h"
#include "trace.h"

static void release(struct cohort_object *o, struct cohort_object **done);
struct object_table cohort_datatypes = {.table = {.published = &cohort_registry.datatypes}, .release = release};

static int64_t *integers_of(struct cohort_datatype *d) { return (int64_t *)(d + 1); }
static int64_t *addresses_of(struct cohort_datatype *d) { return integers_of(d) + d->n_integers; }
static uint64_t *types_of(struct cohort_datatype *d) { return (uint64_t *)(addresses_of(d) + d->n_addresses); }

static uint32_t combiner_of(int combiner); /* wrap_datatypes.h, which is generated, like the wrappers */

struct figures { int64_t size, lb, extent, true_lb, true_extent; };
static const struct figures unknown_figures = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};

static struct figures measured(MPI_Datatype type) {
  struct figures f = unknown_figures;
  MPI_Count size;
  MPI_Aint lb, extent;
  if (PMPI_Type_size_x(type, &size) == MPI_SUCCESS) f.size = size;
  if (PMPI_Type_get_extent(type, &lb, &extent) == MPI_SUCCESS) {
    f.lb = lb;
    f.extent = extent;
  }
  if (PMPI_Type_get_true_extent(type, &lb, &extent) == MPI_SUCCESS) {
    f.true_lb = lb;
    f.true_extent = extent;
  }
  return f;
}

static void set_figures(struct cohort_datatype *d, struct figures f) {
  d->type_size = f.size;
  d->lb = f.lb;
  d->extent = f.extent;
  d->true_lb = f.true_lb;
  d->true_extent = f.true_extent;
}

/* What the library says of a constructor's result is only held against what the debugger computes: that is worth three
 * calls for each of the first types, and for one of many in a program that makes them without end. */
static inline int is_measured(void) {
  enum { FIRST = 4096, ONE_OF = 64 };
  uint64_t made = __atomic_load_n(&cohort_datatypes.created, __ATOMIC_RELAXED);
  return made < FIRST || made % ONE_OF == 0;
}

static void release(struct cohort_object *o, struct cohort_object **done) {
  struct cohort_datatype *d = (void *)o;
  const uint64_t *types = types_of(d);
  for (uint32_t i = 0; i < d->n_types; i++) cohort_object_drop(types[i], done);
}

/* The lock is held. */
static struct cohort_datatype *new_locked(MPI_Datatype type, uint32_t combiner, size_t n_int, size_t n_addr,
                                          size_t n_types) {
  struct cohort_datatype *d =
      cohort_object_new(&cohort_datatypes, sizeof *d + 8 * (n_int + n_addr + n_types), HANDLE(type));
  if (d == NULL) return NULL;
  d->o.kind = combiner;
#ifndef OPEN_MPI
  /* Open MPI makes one when it is first asked: that is done for those that Fortran has (cohort_datatype_c2f), and where
   * it is not known who has it. */
  d->o.f_handle = type; /* an MPI_Fint, as it is */
#endif
  d->n_integers = (uint32_t)n_int;
  d->n_addresses = (uint32_t)n_addr;
  d->n_types = (uint32_t)n_types;
  return d;
}

static struct cohort_datatype *new_record(MPI_Datatype type, uint32_t combiner, size_t n_int, size_t n_addr,
                                          size_t n_types) {
  cohort_registry_lock();
  struct cohort_datatype *d = new_locked(type, combiner, n_int, n_addr, n_types);
  if (d != NULL) d->o.f_handle = PMPI_Type_c2f(type);
  cohort_registry_unlock();
  return d;
}

static struct cohort_datatype *unknown(MPI_Datatype type, const char *why) {
  struct cohort_datatype *d = new_record(type, COHORT_COMBINER_UNKNOWN, 0, 0, 0);
  if (d == NULL) return NULL;
  cohort_object_set_name(&d->o, why);
  set_figures(d, measured(type));
  return d;
}

#define UNSEEN "unseen constructor"

static int is_f90(int combiner) {
  return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

static int is_named(MPI_Datatype type) {
  struct envelope e;
  return !cohort_envelope(type, &e) || e.combiner == MPI_COMBINER_NAMED || is_f90(e.combiner);
}

/* A predefined type that is not in our list (an MPI's own extension). */
static struct cohort_datatype *extension(MPI_Datatype type, const char *call) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  struct cohort_datatype *d = unknown(type, call);
  if (d == NULL) return NULL;
  d->o.kind = COHORT_COMBINER_NAMED;
  d->o.state = COHORT_OBJECT_PREDEFINED;
  if (PMPI_Type_get_name(type, name, &length) == MPI_SUCCESS && length > 0) cohort_object_set_name(&d->o, name);
  return d;
}

/* Asks MPI what a constructor that we did not see was given. The parts are read in turn; their records have no handle
 * that anyone holds. */
static struct cohort_datatype *read_type(MPI_Datatype type, uint64_t site, const char *call) {
  static __thread struct cohort_buffer scratch __attribute__((tls_model("initial-exec")));
  struct envelope e;
  if (!cohort_envelope(type, &e)) return unknown(type, call);
  uint32_t c = combiner_of(e.combiner);
  if (c == COHORT_COMBINER_NAMED) return extension(type, call);
  if (c == COHORT_COMBINER_UNKNOWN || e.counts > 0) return unknown(type, call);
  int ni = (int)e.integers, na = (int)e.addresses, nt = (int)e.types;
  size_t off_aint = (sizeof(int) * (size_t)ni + 15) & ~(size_t)15;
  size_t off_type = off_aint + sizeof(MPI_Aint) * (size_t)na;
  size_t begin = scratch.length, end = (begin + off_type + sizeof(MPI_Datatype) * (size_t)nt + 31) & ~(size_t)15;
  if (!cohort_reserve(&scratch, end)) return unknown(type, call);
  int *ints = (int *)(scratch.data + begin);
  MPI_Aint *aints = (MPI_Aint *)(scratch.data + begin + off_aint);
  MPI_Datatype *types = (MPI_Datatype *)(scratch.data + begin + off_type);
  if (PMPI_Type_get_contents(type, ni, na, nt, ints, aints, types) != MPI_SUCCESS) return unknown(type, call);
  struct cohort_datatype *d = new_record(type, c, (size_t)ni, (size_t)na, (size_t)nt);
  if (d != NULL) {
    d->o.call_site = site;
    if (is_f90(e.combiner)) d->o.state = COHORT_TYPE_COMMITTED;
    set_figures(d, measured(type));
    for (int i = 0; i < ni; i++) integers_of(d)[i] = ints[i];
    for (int i = 0; i < na; i++) addresses_of(d)[i] = aints[i];
  }
  scratch.length = end; /* parts that are read in turn use what follows */
  for (int i = 0; i < nt; i++) {
    MPI_Datatype part_type = ((MPI_Datatype *)(scratch.data + begin + off_type))[i]; /* the buffer may have moved */
    if (d != NULL) {
      struct cohort_datatype *part = cohort_object_get(&cohort_datatypes, HANDLE(part_type));
      if (part == NULL) part = read_type(part_type, 0, UNSEEN);
      types_of(d)[i] = (uint64_t)(uintptr_t)part;
    }
    if (!is_named(part_type)) PMPI_Type_free(&part_type); /* get_contents gave us a reference */
  }
  scratch.length = begin;
  return d;
}

static struct cohort_datatype *record_of(MPI_Datatype type, uint64_t site, const char *call) {
  struct cohort_datatype *d = cohort_object_peek(&cohort_datatypes, HANDLE(type));
  if (d != NULL) return d;
  d = read_type(type, site, call);
  return d == NULL ? NULL : cohort_object_publish_new(&d->o, 0);
}

/* The same without what only a call of its own tells. Begins and ends with the lock held. */
static struct cohort_object *known_locked(MPI_Datatype type) {
  struct cohort_object *o = cohort_table_find(&cohort_datatypes.table, HANDLE(type));
  if (LIKELY(o != NULL)) return o;
  cohort_registry_unlock();
  record_of(type, 0, UNSEEN);
  cohort_registry_lock();
  return cohort_table_find(&cohort_datatypes.table, HANDLE(type));
}

/* ---- predefined types */

static void add_named(MPI_Datatype type, const char *name, uint32_t basic, uint32_t pair, uint32_t value_size) {
  if ((type == MPI_DATATYPE_NULL) != (basic == COHORT_BASIC_NULL)) return; /* this MPI was built without it */
  if (cohort_object_known(&cohort_datatypes, HANDLE(type))) return;         /* another name of one that is there */
  MPI_Count size = 0;
  if (basic != COHORT_BASIC_NULL && PMPI_Type_size_x(type, &size) != MPI_SUCCESS) return;
  if (size == 0 && basic != COHORT_BASIC_NULL && basic != COHORT_BASIC_LB && basic != COHORT_BASIC_UB) return;
  struct cohort_datatype *d = new_record(type, COHORT_COMBINER_NAMED, 0, 0, 0);
  if (d == NULL) return;
  d->o.state = COHORT_OBJECT_PREDEFINED | (basic == COHORT_BASIC_NULL ? 0 : COHORT_TYPE_COMMITTED);
  d->basic = basic;
  d->pair = pair;
  d->basic_size = value_size != 0 ? value_size : (uint32_t)size;
  set_figures(d, basic == COHORT_BASIC_NULL ? unknown_figures : measured(type));
  cohort_object_set_name(&d->o, name);
  cohort_object_publish(&d->o);
}

#ifdef OPEN_MPI
/* The library has the markers of MPI-1, although its header for C refuses their use; mpif.h does not. */
extern struct ompi_predefined_datatype_t ompi_mpi_lb __attribute__((weak)), ompi_mpi_ub __attribute__((weak));
#endif

void cohort_datatypes_open(void) {
#ifdef OPEN_MPI
  if (&ompi_mpi_lb != NULL) add_named((MPI_Datatype)(void *)&ompi_mpi_lb, "MPI_LB", COHORT_BASIC_LB, 0, 0);
  if (&ompi_mpi_ub != NULL) add_named((MPI_Datatype)(void *)&ompi_mpi_ub, "MPI_UB", COHORT_BASIC_UB, 0, 0);
#endif
#define NAMED(type, basic) add_named(type, #type, COHORT_BASIC_##basic, 0, 0);
#define PAIR(type, value, size) add_named(type, #type, COHORT_BASIC_PAIR, COHORT_BASIC_##value, size);
#include "named_types.h"
#undef NAMED
#undef PAIR
}

/* ---- constructors. What they were given is kept as MPI_Type_get_contents would return it (MPI-3.1, 4.1.13), without
 * asking: Open MPI returns duplicates of the types. */

enum { ARGUMENTS_MAX = 1 << 28 };

/* Ends with the lock held, unless it returns NULL; then there is nothing to fill in. */
static struct cohort_datatype *begin_type(MPI_Datatype type, uint32_t combiner, size_t n_int, size_t n_addr,
                                          size_t n_types, const MPI_Datatype *given, uint64_t site, const char *call) {
  struct figures f = is_measured() ? measured(type) : unknown_figures;
  uint64_t stack = cohort_stack(site, 0);
  if (UNLIKELY(n_int + n_addr + n_types > ARGUMENTS_MAX)) {
    struct cohort_datatype *u = unknown(type, call);
    if (u != NULL) {
      u->o.call_site = site;
      cohort_object_publish(&u->o);
    }
    return NULL;
  }
  cohort_registry_lock();
  struct cohort_datatype *d = new_locked(type, combiner, n_int, n_addr, n_types);
  if (UNLIKELY(d == NULL)) {
    cohort_registry_unlock();
    return NULL;
  }
  d->o.call_site = site;
  d->o.stack = stack;
  set_figures(d, f);
  uint64_t *types = types_of(d);
  for (size_t i = 0; i < n_types; i++) {
    struct cohort_object *part = known_locked(given[i]);
    cohort_object_ref(part);
    types[i] = (uint64_t)(uintptr_t)part;
    if (combiner == COHORT_COMBINER_DUP && part != NULL &&
        part->state & (COHORT_TYPE_COMMITTED | COHORT_OBJECT_PREDEFINED))
      d->o.state |= COHORT_TYPE_COMMITTED;
  }
  return d;
}

static void end_type(struct cohort_datatype *d) {
  cohort_object_publish_locked(&d->o);
  cohort_registry_unlock();
}

#define PUT(to, from, n) for (size_t i_ = 0; i_ < (size_t)(n); i_++) *(to)++ = (from)[i_]
#define N(count) ((size_t)((count) > 0 ? (count) : 0))

/* The program was given a handle that it may have had already: of a type of its own once more, to be freed again. */
void cohort_datatype_given(MPI_Datatype type) {
  if (cohort_object_again(&cohort_datatypes, HANDLE(type))) return;
  struct cohort_datatype *d = read_type(type, 0, UNSEEN);
  if (d != NULL) cohort_object_publish_new(&d->o, 1);
}

int cohort_is_builtin(uint64_t handle) {
#ifdef OPEN_MPI
  static uint64_t start, size;
  /* its variables may be copies in the program */
  if (UNLIKELY(start == 0)) cohort_object_range((uint64_t)(uintptr_t)&PMPI_Request_free, &start, &size);
  return handle - start < size;
#else
  return handle >> 30 == 1; /* HANDLE_KIND_BUILTIN */
#endif
}

/* Never asks MPI of what may be no handle, but of a predefined type that is not in our list. */
struct cohort_datatype *cohort_datatype_known(MPI_Datatype type) {
  struct cohort_datatype *d = cohort_object_peek(&cohort_datatypes, HANDLE(type));
  int predefined = cohort_is_builtin(HANDLE(type));
#ifndef OPEN_MPI
  predefined &= (uint32_t)type >> 24 == 0x4c;
#endif
  return d != NULL || !predefined ? d : record_of(type, 0, UNSEEN);
}

void cohort_datatype_committed(MPI_Datatype type) {
  cohort_registry_lock();
  struct cohort_object *o = known_locked(type);
  if (o != NULL) __atomic_store_n(&o->state, o->state | COHORT_TYPE_COMMITTED, __ATOMIC_RELEASE);
  cohort_registry_unlock();
}

void cohort_datatype_in_fortran(MPI_Datatype type, MPI_Fint f) {
  struct cohort_object *o = cohort_object_get(&cohort_datatypes, HANDLE(type));
  if (o != NULL) __atomic_store_n(&o->f_handle, f, __ATOMIC_RELEASE);
  cohort_object_put(o);
}

MPI_Fint cohort_datatype_c2f(MPI_Datatype type) {
  MPI_Fint f = PMPI_Type_c2f(type);
#ifdef OPEN_MPI
  if (!cohort_registry_enter(SITE)) return f;
  cohort_datatype_in_fortran(type, f);
  cohort_registry_leave();
#endif
  return f;
}

#ifdef OPEN_MPI
EXPORT MPI_Fint MPI_Type_c2f(MPI_Datatype type) { return cohort_datatype_c2f(type); }
#endif

/* What MPI_Type_get_contents gave, in C or in Fortran, in arrays with room for `most`. */
void cohort_contents_given(MPI_Datatype type, int64_t most, const MPI_Datatype *types, const MPI_Fint *f_types) {
  struct envelope e;
  if (!cohort_envelope(type, &e)) return;
  for (int64_t i = 0; i < (int64_t)e.types && i < most; i++) {
    MPI_Datatype part = f_types == NULL ? types[i] : PMPI_Type_f2c(f_types[i]);
    cohort_datatype_given(part);
    if (f_types != NULL) cohort_datatype_in_fortran(part, f_types[i]);
  }
}

#include "wrap_datatypes.h"
