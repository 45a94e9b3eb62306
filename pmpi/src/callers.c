/* Who calls a function that we stand in for: the program and its libraries, or the MPI library, what it is made of, and
 * libc. */
#include "core.h"

#include <dlfcn.h>
#include <features.h>
#include <link.h>

/* Names of objects that are not the program's. A language's run-time library (libgfortran, libstdc++, libgomp) asks for
 * the program. */
static const char *const foreign[] = {
    "libc.so",   "libc-2",   "ld-linux", "ld-2",      "libpthread", "librt.",     "libdl.",     "libcohort",
    "libmpi.so", "libmpi_",  "libmpich", "libmpicxx", "libmpifort", "libompi",    "liboshmem",  "libopen-",
    "libmca_",   "mca_",     "libpmi",   "libprrte",  "libhwloc",   "libevent",   "libucp.",    "libuct.",
    "libucs.",   "libucm.",  "libuct_",  "libfabric", "libpsm",     "librdmacm",  "libibverbs", "libefa",
    "libnl-",    "libmunge", "libslurm", "libxpmem",  "libcr.so",   "linux-vdso",
};

static const char *object_of(uint64_t address) {
#if defined(__GLIBC_PREREQ) && __GLIBC_PREREQ(2, 35)
  struct dl_find_object found; /* takes no lock */
  return _dl_find_object((void *)(uintptr_t)address, &found) == 0 && found.dlfo_link_map != NULL
             ? found.dlfo_link_map->l_name
             : "";
#else
  Dl_info info;
  return dladdr((void *)(uintptr_t)address, &info) != 0 ? info.dli_fname : "";
#endif
}

static int is_foreign(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
    if (strncmp(name, foreign[i], strlen(foreign[i])) == 0) return 1;
  return 0;
}

int cohort_is_libstdcxx(uint64_t site) { return strstr(object_of(site - 1), "/libstdc++") != NULL; }

/* The answer is kept by call site. Two threads that collide write an entry that is whole, one or the other. */
int cohort_is_program(uint64_t site) {
  static _Atomic uint64_t known[1024];
  _Atomic uint64_t *entry = &known[site * 0x9E3779B97F4A7C15u >> 54];
  uint64_t e = atomic_load_explicit(entry, memory_order_relaxed);
  if (LIKELY(e >> 1 == site)) return (int)(e & 1);
  int is = !is_foreign(object_of(site - 1));
  atomic_store_explicit(entry, site << 1 | (uint64_t)is, memory_order_relaxed);
  return is;
}
