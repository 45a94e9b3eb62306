/* Tables of handles that a debugger reads. */
#ifndef COHORT_REGISTRY_H
#define COHORT_REGISTRY_H
#include "core.h"

/* ---- registry.c: tables of handles that a debugger reads */
struct registry_table {
  uint64_t *published;
  struct cohort_slots *slots;
  uint64_t used, live, last; /* slot that was put last: what is made is soon used */
};
void *cohort_table_find(const struct registry_table *t, uint64_t handle);
/* what the handle led to before, or NULL; the record itself: there is no memory */
void *cohort_table_put(struct registry_table *t, uint64_t handle, void *record);
void cohort_table_remove(struct registry_table *t, uint64_t handle);
extern int cohort_at_once;       /* threads may call MPI at once: else there is nothing to lock */
extern struct cohort_lock cohort_registry_mutex;
/* Threads may make datatypes at once; held for no MPI call that could wait. */
static inline void cohort_registry_lock(void) {
  if (UNLIKELY(cohort_at_once)) cohort_lock(&cohort_registry_mutex);
}
static inline void cohort_registry_unlock(void) {
  if (UNLIKELY(cohort_at_once)) cohort_unlock(&cohort_registry_mutex);
}
extern struct cohort_registry cohort_registry;
void cohort_registry_open(void);
uint64_t cohort_stack(uint64_t site, int of_request);
struct object_table {
  struct registry_table table;
  uint64_t created;
  /* gives up what a record refers to (cohort_object_drop); the lock is held */
  void (*release)(struct cohort_object *, struct cohort_object **done);
};
void *cohort_object_new(struct object_table *t, size_t bytes, uint64_t handle);
void *cohort_object_make(struct object_table *t, size_t bytes, uint64_t handle, uint64_t site);
void cohort_object_ref(struct cohort_object *o);
void *cohort_object_find(struct object_table *t, uint64_t handle);
void cohort_object_drop(uint64_t record, struct cohort_object **done);
void cohort_object_unref(struct cohort_object *o);
void cohort_object_publish_locked(struct cohort_object *o);
void cohort_object_publish(struct cohort_object *o);
void cohort_object_set_name(struct cohort_object *o, const char *name);
void cohort_object_rename(struct object_table *t, uint64_t handle, const char *name);
void *cohort_object_peek(struct object_table *t, uint64_t handle);
void *cohort_object_get(struct object_table *t, uint64_t handle);
void cohort_object_put(struct cohort_object *o);
int cohort_object_known(struct object_table *t, uint64_t handle);
int cohort_object_again(struct object_table *t, uint64_t handle);
void *cohort_object_publish_new(struct cohort_object *o, int given);
void *cohort_object_freeing(struct object_table *t, uint64_t handle);
void cohort_object_freed(struct cohort_object *o, int rc);

/* ---- datatypes.c */
void cohort_datatypes_open(void);
extern struct object_table cohort_datatypes;
void cohort_datatype_given(MPI_Datatype type);
void cohort_datatype_committed(MPI_Datatype type);
void cohort_contents_given(MPI_Datatype type, int64_t most, const MPI_Datatype *types, const MPI_Fint *f_types);
MPI_Fint cohort_datatype_c2f(MPI_Datatype type);         /* the program's Fortran is given it */
void cohort_datatype_in_fortran(MPI_Datatype type, MPI_Fint f); /* Fortran has it */
struct cohort_datatype *cohort_datatype_known(MPI_Datatype type);
int cohort_is_builtin(uint64_t handle);                  /* the MPI library's own object */
#ifdef OPEN_MPI
/* The names of MPI-1. Its header refuses their use since version 4; its library has them for programs that were built
 * before, and for mpif.h. */
#undef MPI_Type_hvector
#undef MPI_Type_hindexed
#undef MPI_Type_struct
#undef PMPI_Type_hvector
#undef PMPI_Type_hindexed
#undef PMPI_Type_struct
int MPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_Type_hindexed(int count, int lengths[], MPI_Aint places[], MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_Type_struct(int count, int lengths[], MPI_Aint places[], MPI_Datatype types[], MPI_Datatype *newtype);
#define PMPI_Type_hvector PMPI_Type_create_hvector
#define PMPI_Type_hindexed PMPI_Type_create_hindexed
#define PMPI_Type_struct PMPI_Type_create_struct
#endif

/* ---- comms.c */
void cohort_comms_open(void);
struct cohort_comm *cohort_comm_find(MPI_Comm comm); /* registers one that it does not know; NULL only without memory */
uint32_t cohort_comm_index(MPI_Comm comm);
struct cohort_comm *cohort_comm_known(MPI_Comm comm);    /* NULL: it is not */
extern struct object_table cohort_comms;
void cohort_comm_given(MPI_Comm comm, uint64_t site);
struct cohort_comm *cohort_comm_freeing(MPI_Comm comm);
void cohort_comm_freed(struct cohort_comm *c, int rc);
/* A call that makes a communicator of `parent` is carried out. `pending`: it may not be asked about yet, but is a
 * duplicate of its parent. */
void cohort_comm_made(int rc, MPI_Comm parent, const MPI_Comm *comm, int pending);
/* Likewise, if not all members of the parent took part, or if there are two parents. */
void cohort_comm_made_among(int rc, MPI_Comm parent, const MPI_Comm *comm);
/* Likewise, where another thread is inside MPI: in a session that records nothing the debugger is to know what was made
 * all the same. `site`: cohort_passing, from before the call. */
void cohort_comm_passed(int rc, uint64_t site, MPI_Comm parent, const MPI_Comm *comm, int pending);
/* Around a call that frees one. */
struct cohort_comm *cohort_comm_ending(MPI_Comm comm);
void cohort_comm_ended(int rc, struct cohort_comm *c);
int cohort_world_ranks(MPI_Group group, int n, uint32_t *out);

#endif
