/* Datatypes in the registry: one record per type, with its constructor's arguments exactly as MPI_Type_get_contents returns them. A record lives while its handle
 * does and while another record refers to it. */
#include "cohort.h"

static struct registry_table table = {.published = &cohort_registry.datatypes};
static uint64_t n_created;

/* `handles`: how often the program holds the handle: MPI_Type_get_contents gives it the same one again, to be freed again. */
struct type_record { uint64_t bytes, handles; struct cohort_datatype pub; };
#define PRIVATE(d) ((struct type_record *)((uint8_t *)(d) - offsetof(struct type_record, pub)))

static uint32_t combiner_of(int combiner) {
  switch (combiner) {
    case MPI_COMBINER_NAMED: return COHORT_COMBINER_NAMED;
    case MPI_COMBINER_DUP: return COHORT_COMBINER_DUP;
    case MPI_COMBINER_CONTIGUOUS: return COHORT_COMBINER_CONTIGUOUS;
    case MPI_COMBINER_VECTOR: return COHORT_COMBINER_VECTOR;
    case MPI_COMBINER_HVECTOR: return COHORT_COMBINER_HVECTOR;
    case MPI_COMBINER_INDEXED: return COHORT_COMBINER_INDEXED;
    case MPI_COMBINER_HINDEXED: return COHORT_COMBINER_HINDEXED;
    case MPI_COMBINER_INDEXED_BLOCK: return COHORT_COMBINER_INDEXED_BLOCK;
    case MPI_COMBINER_HINDEXED_BLOCK: return COHORT_COMBINER_HINDEXED_BLOCK;
    case MPI_COMBINER_STRUCT: return COHORT_COMBINER_STRUCT;
    case MPI_COMBINER_SUBARRAY: return COHORT_COMBINER_SUBARRAY;
    case MPI_COMBINER_DARRAY: return COHORT_COMBINER_DARRAY;
    case MPI_COMBINER_RESIZED: return COHORT_COMBINER_RESIZED;
    case MPI_COMBINER_F90_REAL: return COHORT_COMBINER_F90_REAL;
    case MPI_COMBINER_F90_COMPLEX: return COHORT_COMBINER_F90_COMPLEX;
    case MPI_COMBINER_F90_INTEGER: return COHORT_COMBINER_F90_INTEGER;
    default: return COHORT_COMBINER_UNKNOWN;
  }
}

static void measure(MPI_Datatype type, struct cohort_datatype *d) {
  MPI_Count size;
  MPI_Aint lb, extent;
  d->type_size = d->lb = d->extent = d->true_lb = d->true_extent = INT64_MIN;
  if (PMPI_Type_size_x(type, &size) == MPI_SUCCESS) d->type_size = size;
  if (PMPI_Type_get_extent(type, &lb, &extent) == MPI_SUCCESS) {
    d->lb = lb;
    d->extent = extent;
  }
  if (PMPI_Type_get_true_extent(type, &lb, &extent) == MPI_SUCCESS) {
    d->true_lb = lb;
    d->true_extent = extent;
  }
}

static struct cohort_datatype *new_record(MPI_Datatype type, size_t n_int, size_t n_addr, size_t n_types) {
  size_t bytes = sizeof(struct type_record) + 8 * (n_int + n_addr + n_types);
  cohort_registry_lock();
  struct type_record *r = cohort_alloc(bytes);
  uint64_t id = ++n_created;
  cohort_registry_unlock();
  if (r == NULL) return NULL;
  r->bytes = bytes;
  r->handles = 1;
  struct cohort_datatype *d = &r->pub;
  d->size = (uint32_t)(bytes - offsetof(struct type_record, pub));
  d->handle = HANDLE(type);
  d->f_handle = PMPI_Type_c2f(type);
  d->refs = 1;
  d->id = id;
  d->event = g.events;
  d->n_integers = (uint32_t)n_int;
  d->n_addresses = (uint32_t)n_addr;
  d->n_types = (uint32_t)n_types;
  return d;
}

static int64_t *integers_of(struct cohort_datatype *d) { return (int64_t *)(d + 1); }
static int64_t *addresses_of(struct cohort_datatype *d) { return integers_of(d) + d->n_integers; }
static uint64_t *types_of(struct cohort_datatype *d) { return (uint64_t *)(addresses_of(d) + d->n_addresses); }

/* A handle may be published again without having been freed in our sight; the record that it had is then dropped. */
static void drop(struct cohort_datatype *d);

static void publish(struct cohort_datatype *d) {
  cohort_registry_lock();
  struct cohort_datatype *before = cohort_table_find(&table, d->handle);
  cohort_table_put(&table, d->handle, d);
  if (before != NULL) drop(before);
  cohort_registry_unlock();
}

/* Gives up one reference, and what it was the last one to hold. Records that are done with are linked through `handle`,
 * so that a deep tree needs no stack. The lock is held. */
static void drop(struct cohort_datatype *d) {
  struct cohort_datatype *done = NULL;
  if (--d->refs > 0) return;
  d->handle = 0;
  for (done = d; done != NULL;) {
    struct cohort_datatype *next = (void *)(uintptr_t)done->handle;
    uint64_t *types = types_of(done);
    for (uint32_t i = 0; i < done->n_types; i++) {
      struct cohort_datatype *part = (void *)(uintptr_t)types[i];
      if (part == NULL || --part->refs > 0) continue;
      part->handle = (uint64_t)(uintptr_t)next;
      next = part;
    }
    cohort_free(PRIVATE(done), PRIVATE(done)->bytes);
    done = next;
  }
}

static struct cohort_datatype *unknown(MPI_Datatype type, const char *why) {
  struct cohort_datatype *d = new_record(type, 0, 0, 0);
  if (d == NULL) return NULL;
  d->combiner = COHORT_COMBINER_UNKNOWN;
  cohort_copy_name(d->name, sizeof d->name, why);
  measure(type, d);
  return d;
}

#define UNSEEN "unseen constructor"

static int is_named(MPI_Datatype type) {
  int ni, na, nt, combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(type, &ni, &na, &nt, &combiner);
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

static struct cohort_datatype *record_of(MPI_Datatype type, uint64_t site, const char *call);
static struct cohort_datatype *find(MPI_Datatype type);

/* A predefined type that is not in our list (an MPI's own extension). */
static struct cohort_datatype *extension(MPI_Datatype type, const char *call) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  struct cohort_datatype *d = unknown(type, call);
  if (d == NULL) return NULL;
  d->combiner = COHORT_COMBINER_NAMED;
  if (PMPI_Type_get_name(type, name, &length) == MPI_SUCCESS && length > 0) cohort_copy_name(d->name, sizeof d->name, name);
  return d;
}

/* Asks MPI what the constructor was given. `given` are the types that it was given, where we saw the call: MPI_Type_get_contents of Open MPI
 * returns duplicates of them. Where we did not, the parts are read in turn; their records have no handle that anyone holds. */
static struct cohort_datatype *read_type(MPI_Datatype type, const MPI_Datatype *given, int n_given, uint64_t site, const char *call) {
  static __thread struct cohort_buffer scratch __attribute__((tls_model("initial-exec")));
  int ni = 0, na = 0, nt = 0, combiner = 0;
  if (PMPI_Type_get_envelope(type, &ni, &na, &nt, &combiner) != MPI_SUCCESS) return unknown(type, call);
  uint32_t c = combiner_of(combiner);
  if (c == COHORT_COMBINER_NAMED) return extension(type, call);
  if (c == COHORT_COMBINER_UNKNOWN) return unknown(type, call);
  struct cohort_datatype *d = new_record(type, (size_t)ni, (size_t)na, (size_t)nt);
  if (d == NULL) return NULL;
  d->combiner = c;
  d->call_site = site;
  measure(type, d);
  size_t off_aint = (sizeof(int) * (size_t)ni + 15) & ~(size_t)15;
  size_t off_type = off_aint + sizeof(MPI_Aint) * (size_t)na;
  size_t begin = scratch.length, need = begin + off_type + sizeof(MPI_Datatype) * (size_t)nt + 16;
  need = (need + 15) & ~(size_t)15;
  if (!cohort_reserve(&scratch, need)) {
    d->combiner = COHORT_COMBINER_UNKNOWN;
    d->n_integers = d->n_addresses = d->n_types = 0;
    return d;
  }
  scratch.length = need; /* parts that are read in turn use what follows */
  int *ints = (int *)(scratch.data + begin);
  MPI_Aint *aints = (MPI_Aint *)(scratch.data + begin + off_aint);
  MPI_Datatype *types = (MPI_Datatype *)(scratch.data + begin + off_type);
  if (PMPI_Type_get_contents(type, ni, na, nt, ints, aints, types) != MPI_SUCCESS) {
    d->combiner = COHORT_COMBINER_UNKNOWN;
    d->n_integers = d->n_addresses = d->n_types = 0;
    cohort_copy_name(d->name, sizeof d->name, call);
    scratch.length = begin;
    return d;
  }
  for (int i = 0; i < ni; i++) integers_of(d)[i] = ints[i];
  for (int i = 0; i < na; i++) addresses_of(d)[i] = aints[i];
  for (int i = 0; i < nt; i++) {
    MPI_Datatype part_type = ((MPI_Datatype *)(scratch.data + begin + off_type))[i]; /* the buffer may have moved */
    struct cohort_datatype *part = i < n_given ? record_of(given[i], 0, UNSEEN) : find(part_type);
    if (part != NULL) {
      __atomic_fetch_add(&part->refs, 1, __ATOMIC_RELAXED);
    } else if (i >= n_given) {
      part = read_type(part_type, NULL, 0, 0, UNSEEN);
    }
    types_of(d)[i] = (uint64_t)(uintptr_t)part;
    if (!is_named(part_type)) PMPI_Type_free(&part_type); /* get_contents gave us a reference */
  }
  scratch.length = begin;
  return d;
}

static struct cohort_datatype *find(MPI_Datatype type) {
  cohort_registry_lock();
  struct cohort_datatype *d = cohort_table_find(&table, HANDLE(type));
  cohort_registry_unlock();
  return d;
}

static struct cohort_datatype *record_of(MPI_Datatype type, uint64_t site, const char *call) {
  struct cohort_datatype *d = find(type);
  if (d != NULL) return d;
  d = read_type(type, NULL, 0, site, call);
  if (d != NULL) publish(d);
  return d;
}

/* ---- predefined types */

static void add_named(MPI_Datatype type, const char *name, uint32_t basic, uint32_t pair, uint32_t value_size) {
  if ((type == MPI_DATATYPE_NULL) != (basic == COHORT_BASIC_NULL)) return; /* this MPI was built without it */
  if (cohort_table_find(&table, HANDLE(type)) != NULL) return;              /* another name of one that is there */
  MPI_Count size = 0;
  if (basic != COHORT_BASIC_NULL && PMPI_Type_size_x(type, &size) != MPI_SUCCESS) return;
  if (size == 0 && basic != COHORT_BASIC_NULL && basic != COHORT_BASIC_LB && basic != COHORT_BASIC_UB) return;
  struct cohort_datatype *d = new_record(type, 0, 0, 0);
  if (d == NULL) return;
  d->combiner = COHORT_COMBINER_NAMED;
  d->state = basic == COHORT_BASIC_NULL ? 0 : COHORT_TYPE_COMMITTED;
  d->basic = basic;
  d->pair = pair;
  d->basic_size = value_size != 0 ? value_size : (uint32_t)size;
  if (basic != COHORT_BASIC_NULL) measure(type, d);
  cohort_copy_name(d->name, sizeof d->name, name);
  publish(d);
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

/* ---- constructors */

static int constructed(int rc, const MPI_Datatype *type, const MPI_Datatype *given, int n_given, uint64_t site, const char *call) {
  if (rc == MPI_SUCCESS) {
    struct cohort_datatype *d = NULL;
    int is_f90 = 0, ni, na, nt, combiner = 0;
    if (PMPI_Type_get_envelope(*type, &ni, &na, &nt, &combiner) == MPI_SUCCESS)
      is_f90 = combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
    if (is_f90) { /* the same handle for the same arguments, never freed */
      record_of(*type, site, call);
    } else {
      d = read_type(*type, given, n_given, site, call);
      if (d != NULL) publish(d);
    }
    cohort_type_size_forget();
  }
  cohort_registry_leave();
  return rc;
}

#define CONSTRUCTOR_OF(given, n_given, name, parameters, arguments)                        \
  EXPORT int MPI_##name parameters {                                                       \
    uint64_t site = cohort_registry_enter(SITE);                                           \
    if (site == 0) return PMPI_##name arguments;                                           \
    return constructed(PMPI_##name arguments, newtype, given, n_given, site, "MPI_" #name); \
  }
#define CONSTRUCTOR(name, parameters, arguments) CONSTRUCTOR_OF(&oldtype, 1, name, parameters, arguments)

CONSTRUCTOR(Type_contiguous, (int count, MPI_Datatype oldtype, MPI_Datatype *newtype), (count, oldtype, newtype))
CONSTRUCTOR(Type_vector, (int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype *newtype),
            (count, blocklength, stride, oldtype, newtype))
CONSTRUCTOR(Type_create_hvector, (int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype),
            (count, blocklength, stride, oldtype, newtype))
CONSTRUCTOR(Type_indexed, (int count, const int lengths[], const int places[], MPI_Datatype oldtype, MPI_Datatype *newtype),
            (count, lengths, places, oldtype, newtype))
CONSTRUCTOR(Type_create_hindexed,
            (int count, const int lengths[], const MPI_Aint places[], MPI_Datatype oldtype, MPI_Datatype *newtype),
            (count, lengths, places, oldtype, newtype))
CONSTRUCTOR(Type_create_indexed_block,
            (int count, int blocklength, const int places[], MPI_Datatype oldtype, MPI_Datatype *newtype),
            (count, blocklength, places, oldtype, newtype))
CONSTRUCTOR(Type_create_hindexed_block,
            (int count, int blocklength, const MPI_Aint places[], MPI_Datatype oldtype, MPI_Datatype *newtype),
            (count, blocklength, places, oldtype, newtype))
CONSTRUCTOR_OF(types, count, Type_create_struct,
            (int count, const int lengths[], const MPI_Aint places[], const MPI_Datatype types[], MPI_Datatype *newtype),
            (count, lengths, places, types, newtype))
CONSTRUCTOR(Type_create_subarray,
            (int ndims, const int sizes[], const int subsizes[], const int starts[], int order, MPI_Datatype oldtype,
             MPI_Datatype *newtype),
            (ndims, sizes, subsizes, starts, order, oldtype, newtype))
CONSTRUCTOR(Type_create_darray,
            (int size, int rank, int ndims, const int gsizes[], const int distribs[], const int dargs[], const int psizes[],
             int order, MPI_Datatype oldtype, MPI_Datatype *newtype),
            (size, rank, ndims, gsizes, distribs, dargs, psizes, order, oldtype, newtype))
CONSTRUCTOR(Type_create_resized, (MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *newtype),
            (oldtype, lb, extent, newtype))
CONSTRUCTOR(Type_dup, (MPI_Datatype oldtype, MPI_Datatype *newtype), (oldtype, newtype))
CONSTRUCTOR_OF(NULL, 0, Type_create_f90_real, (int p, int r, MPI_Datatype *newtype), (p, r, newtype))
CONSTRUCTOR_OF(NULL, 0, Type_create_f90_complex, (int p, int r, MPI_Datatype *newtype), (p, r, newtype))
CONSTRUCTOR_OF(NULL, 0, Type_create_f90_integer, (int r, MPI_Datatype *newtype), (r, newtype))
/* The names of MPI-1. Open MPI's header refuses their use since version 4; its library has them for programs that were built before, and for mpif.h. */
#ifdef OPEN_MPI
#undef MPI_Type_hvector
#undef MPI_Type_hindexed
#undef MPI_Type_struct
int PMPI_Type_hvector(int, int, MPI_Aint, MPI_Datatype, MPI_Datatype *) __attribute__((weak));
int PMPI_Type_hindexed(int, int[], MPI_Aint[], MPI_Datatype, MPI_Datatype *) __attribute__((weak));
int PMPI_Type_struct(int, int[], MPI_Aint[], MPI_Datatype[], MPI_Datatype *) __attribute__((weak));
#endif
CONSTRUCTOR(Type_hvector, (int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype),
            (count, blocklength, stride, oldtype, newtype))
CONSTRUCTOR(Type_hindexed, (int count, int lengths[], MPI_Aint places[], MPI_Datatype oldtype, MPI_Datatype *newtype),
            (count, lengths, places, oldtype, newtype))
CONSTRUCTOR_OF(types, count, Type_struct, (int count, int lengths[], MPI_Aint places[], MPI_Datatype types[], MPI_Datatype *newtype),
            (count, lengths, places, types, newtype))

#if !defined(OPEN_MPI) && MPI_VERSION >= 4 /* large counts: known by name, not decoded yet */
static int constructed_large(int rc, const MPI_Datatype *type, uint64_t site, const char *call) {
  struct cohort_datatype *d = rc == MPI_SUCCESS ? unknown(*type, call) : NULL;
  if (d != NULL) {
    d->call_site = site;
    publish(d);
  }
  cohort_type_size_forget();
  cohort_registry_leave();
  return rc;
}

#define CONSTRUCTOR_LARGE(name, parameters, arguments)                             \
  EXPORT int MPI_##name parameters {                                               \
    uint64_t site = cohort_registry_enter(SITE);                                   \
    if (site == 0) return PMPI_##name arguments;                                   \
    return constructed_large(PMPI_##name arguments, newtype, site, "MPI_" #name);  \
  }
CONSTRUCTOR_LARGE(Type_contiguous_c, (MPI_Count count, MPI_Datatype oldtype, MPI_Datatype *newtype), (count, oldtype, newtype))
CONSTRUCTOR_LARGE(Type_vector_c, (MPI_Count count, MPI_Count length, MPI_Count stride, MPI_Datatype oldtype, MPI_Datatype *newtype),
                  (count, length, stride, oldtype, newtype))
CONSTRUCTOR_LARGE(Type_create_hvector_c,
                  (MPI_Count count, MPI_Count length, MPI_Count stride, MPI_Datatype oldtype, MPI_Datatype *newtype),
                  (count, length, stride, oldtype, newtype))
CONSTRUCTOR_LARGE(Type_indexed_c,
                  (MPI_Count count, const MPI_Count lengths[], const MPI_Count places[], MPI_Datatype oldtype, MPI_Datatype *newtype),
                  (count, lengths, places, oldtype, newtype))
CONSTRUCTOR_LARGE(Type_create_hindexed_c,
                  (MPI_Count count, const MPI_Count lengths[], const MPI_Count places[], MPI_Datatype oldtype, MPI_Datatype *newtype),
                  (count, lengths, places, oldtype, newtype))
CONSTRUCTOR_LARGE(Type_create_indexed_block_c,
                  (MPI_Count count, MPI_Count length, const MPI_Count places[], MPI_Datatype oldtype, MPI_Datatype *newtype),
                  (count, length, places, oldtype, newtype))
CONSTRUCTOR_LARGE(Type_create_hindexed_block_c,
                  (MPI_Count count, MPI_Count length, const MPI_Count places[], MPI_Datatype oldtype, MPI_Datatype *newtype),
                  (count, length, places, oldtype, newtype))
CONSTRUCTOR_LARGE(Type_create_struct_c,
                  (MPI_Count count, const MPI_Count lengths[], const MPI_Count places[], const MPI_Datatype types[],
                   MPI_Datatype *newtype),
                  (count, lengths, places, types, newtype))
CONSTRUCTOR_LARGE(Type_create_subarray_c,
                  (int ndims, const MPI_Count sizes[], const MPI_Count subsizes[], const MPI_Count starts[], int order,
                   MPI_Datatype oldtype, MPI_Datatype *newtype),
                  (ndims, sizes, subsizes, starts, order, oldtype, newtype))
CONSTRUCTOR_LARGE(Type_create_darray_c,
                  (int size, int rank, int ndims, const MPI_Count gsizes[], const int distribs[], const int dargs[],
                   const int psizes[], int order, MPI_Datatype oldtype, MPI_Datatype *newtype),
                  (size, rank, ndims, gsizes, distribs, dargs, psizes, order, oldtype, newtype))
CONSTRUCTOR_LARGE(Type_create_resized_c, (MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent, MPI_Datatype *newtype),
                  (oldtype, lb, extent, newtype))
#endif

EXPORT int MPI_Type_commit(MPI_Datatype *datatype) {
  int rc = PMPI_Type_commit(datatype);
  if (rc != MPI_SUCCESS || !cohort_registry_enter(SITE)) return rc;
  struct cohort_datatype *d = record_of(*datatype, 0, UNSEEN);
  if (d != NULL) __atomic_fetch_or(&d->state, COHORT_TYPE_COMMITTED, __ATOMIC_RELEASE);
  cohort_registry_leave();
  return rc;
}

EXPORT int MPI_Type_free(MPI_Datatype *datatype) {
  uint64_t handle = HANDLE(*datatype);
  if (!cohort_registry_enter(SITE)) return PMPI_Type_free(datatype);
  /* Taken out before MPI can give the handle to another thread. */
  cohort_registry_lock();
  struct cohort_datatype *d = cohort_table_find(&table, handle);
  int last = d != NULL && d->combiner != COHORT_COMBINER_NAMED && --PRIVATE(d)->handles == 0;
  if (last) cohort_table_remove(&table, handle);
  cohort_registry_unlock();
  int rc = PMPI_Type_free(datatype);
  cohort_registry_lock();
  if (last) {
    if (rc == MPI_SUCCESS) {
      __atomic_fetch_or(&d->state, COHORT_TYPE_FREED, __ATOMIC_RELEASE);
      drop(d);
    } else {
      PRIVATE(d)->handles = 1;
      cohort_table_put(&table, handle, d);
    }
  }
  cohort_registry_unlock();
  cohort_type_size_forget();
  cohort_registry_leave();
  return rc;
}

EXPORT int MPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes, int integers[],
                                 MPI_Aint addresses[], MPI_Datatype datatypes[]) {
  int rc = PMPI_Type_get_contents(datatype, max_integers, max_addresses, max_datatypes, integers, addresses, datatypes);
  if (rc != MPI_SUCCESS || !cohort_registry_enter(SITE)) return rc;
  int ni, na, nt, combiner;
  PMPI_Type_get_envelope(datatype, &ni, &na, &nt, &combiner);
  for (int i = 0; i < nt && i < max_datatypes; i++) {
    struct cohort_datatype *d = find(datatypes[i]);
    if (d == NULL) {
      record_of(datatypes[i], 0, UNSEEN);
    } else if (d->combiner != COHORT_COMBINER_NAMED) {
      cohort_registry_lock();
      PRIVATE(d)->handles++;
      cohort_registry_unlock();
    }
  }
  cohort_registry_leave();
  return rc;
}

EXPORT int MPI_Type_set_name(MPI_Datatype datatype, const char *type_name) {
  int rc = PMPI_Type_set_name(datatype, type_name);
  if (rc != MPI_SUCCESS || !cohort_registry_enter(SITE)) return rc;
  struct cohort_datatype *d = record_of(datatype, 0, UNSEEN);
  if (d != NULL) cohort_copy_name(d->name, sizeof d->name, type_name);
  cohort_registry_leave();
  return rc;
}
