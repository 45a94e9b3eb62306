/* Programs that load MPI by themselves (dlopen, dlsym; Python, Julia): a lookup in the MPI library's own handle goes
 * past the symbols of a preloaded library, so the dynamic linker's lookups come through here. Python's extension
 * modules that are linked to MPI need nothing of this: their symbols are looked for in preloaded libraries first.
 *
 * What would still go past is named: a library with RTLD_DEEPBIND whose MPI symbols are bound to the MPI library, and
 * another namespace (dlmopen). Allocating is allowed here: the program calls the dynamic linker, which does. */
#include "core.h"

#include <dlfcn.h>
#include <link.h>

typedef void *lookup_function(void *, const char *);
typedef void *open_function(const char *, int);
typedef void *open_in_function(Lmid_t, const char *, int);

/* dlsym itself is ours now, so the C library's is asked for by its version: of glibc 2.34, and the first on x86-64, on
 * AArch64 and PowerPC, and on RISC-V. */
static void *next(const char *name) {
  static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.3.4", "GLIBC_2.17", "GLIBC_2.27"};
  void *found = NULL;
  for (size_t i = 0; i < sizeof versions / sizeof *versions && found == NULL; i++)
    found = dlvsym(RTLD_NEXT, name, versions[i]);
  return found;
}

#define NEXT(name, type)                          \
  static type *next_##name(void) {                \
    static type *_Atomic known;                   \
    if (known == NULL) known = (type *)next(#name); \
    return known;                                 \
  }
NEXT(dlsym, lookup_function)
NEXT(dlopen, open_function)
NEXT(dlmopen, open_in_function)

static int is_mpi_name(const char *name) {
  return strncmp(name, "MPI_", 4) == 0 || strncmp(name, "mpi_", 4) == 0;
}

/* Our wrapper of a function; NULL: there is none. */
static void *wrapper_of(const char *name) {
  static void *_Atomic self;
  Dl_info us, it;
  if (dladdr((void *)cohort_stop_here, &us) == 0) return NULL;
  if (self == NULL) self = next_dlopen()(us.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void *found = self == NULL ? NULL : next_dlsym()(self, name);
  return found != NULL && dladdr(found, &it) != 0 && it.dli_fbase == us.dli_fbase ? found : NULL;
}

/* What the C library does for a caller depends on who that is (RTLD_NEXT, the search path of dlopen): there these
 * functions must end in a jump. */
EXPORT void *dlsym(void *restrict handle, const char *restrict name) {
  lookup_function *real = next_dlsym();
  if (handle == RTLD_DEFAULT || handle == RTLD_NEXT || !is_mpi_name(name)) return real(handle, name);
  void *ours = wrapper_of(name); /* first: what dlerror says afterwards is about the program's lookup */
  void *found = real(handle, name);
  return found != NULL && ours != NULL ? ours : found;
}

/* ---- what goes past us */

static const char *_Atomic past_us;

static void goes_past_us(const char *what, uint64_t site) {
  past_us = what;
  if (g.phase == PHASE_ACTIVE) cohort_uncovered_outside(what, site);
}

/* This library is made for one MPI. Of the other one, the name of a library that every program of it loads. */
#ifdef OPEN_MPI
#define OTHER "libmpich.so"
#define OTHER_MPI "The program uses MPICH, and it was started as one of Open MPI: start it with --mpi mpich."
#else
#define OTHER "libopen-pal.so"
#define OTHER_MPI "The program uses Open MPI, and it was started as one of MPICH: start it with --mpi openmpi."
#endif

static int is_other(struct dl_phdr_info *object, size_t size, void *unused) {
  (void)size, (void)unused;
  const char *slash = strrchr(object->dlpi_name, '/');
  return slash != NULL && strncmp(slash + 1, OTHER, strlen(OTHER)) == 0;
}

void cohort_loading_check(void) {
  const char *what = past_us;
  if (what != NULL) cohort_uncovered(what);
  if (dl_iterate_phdr(is_other, NULL)) cohort_refuse(OTHER_MPI, "another MPI");
}

static int is_mpi_library(const char *path) {
  const char *slash = strrchr(path, '/');
  return strncmp(slash == NULL ? path : slash + 1, "libmpi", 6) == 0;
}

#define DEEPBIND "dlopen with RTLD_DEEPBIND"

EXPORT void *dlopen(const char *file, int mode) {
  open_function *real = next_dlopen();
  if (LIKELY((mode & RTLD_DEEPBIND) == 0) || file == NULL || (mode & RTLD_NOLOAD) != 0 || is_mpi_library(file))
    return real(file, mode);
  if (strchr(file, '/') == NULL) { /* it is searched for on behalf of the caller, and then nobody can look at it */
    goes_past_us(DEEPBIND, SITE);
    return real(file, mode);
  }
  void *handle = real(file, mode);
  if (handle != NULL && next_dlsym()(handle, "MPI_Init") != NULL) goes_past_us(DEEPBIND, SITE);
  return handle;
}

EXPORT void *dlmopen(Lmid_t namespace, const char *file, int mode) {
  if (namespace != LM_ID_BASE) goes_past_us("dlmopen", SITE);
  return next_dlmopen()(namespace, file, mode);
}
