/* Memory of our own: mmap'd, so that the program's allocator, its hooks and its checkers never see us. How much it is,
 * a debugger is told in the registry. */
#include "registry.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void *cohort_map(size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  __atomic_fetch_add(&cohort_registry.memory, bytes, __ATOMIC_RELAXED); /* seldom, and of several threads */
  return p;
}

void cohort_unmap(void *p, size_t bytes) {
  if (p == NULL) return;
  munmap(p, bytes);
  __atomic_fetch_sub(&cohort_registry.memory, bytes, __ATOMIC_RELAXED);
}

/* Free lists of blocks by size, carved from arenas that are never given back: multiples of 8 bytes up to FINE, so that
 * a record costs what it has, then powers of two and the HEAD of a table of handles. What is larger still is mapped by
 * itself. The registry's lock is held. */
enum {
  FINE = 1024,
  LARGEST = 18,
  ARENA = 1 << 20,
  STEP = 8,
  FINE_CLASSES = FINE / STEP,
  HEAD = sizeof(struct cohort_slots)
};
static void *free_blocks[FINE_CLASSES + LARGEST + 1];
static uint8_t *arena;
static size_t arena_left;

/* The index of its free list, and the size of its blocks. */
static inline int size_class(size_t bytes, size_t *size) {
  if (LIKELY(bytes <= FINE)) {
    size_t n = (bytes + STEP - 1) / STEP;
    n += n == 0;
    *size = STEP * n;
    return (int)n - 1;
  }
  int k = 10;
  while (((size_t)1 << k) + HEAD < bytes) k++;
  *size = ((size_t)1 << k) + HEAD;
  return k > LARGEST ? -1 : FINE_CLASSES + k;
}

void *cohort_alloc(size_t bytes) {
  size_t size;
  int k = size_class(bytes, &size);
  if (UNLIKELY(k < 0)) {
    void *mapped = cohort_map(bytes);
    if (mapped != NULL) cohort_registry.memory_used += bytes;
    return mapped;
  }
  void *block = free_blocks[k];
  if (LIKELY(block != NULL)) {
    memcpy(&free_blocks[k], block, sizeof block);
    memset(block, 0, size);
    cohort_registry.memory_used += size;
    return block;
  }
  if (arena_left < size) {
    uint8_t *fresh = cohort_map(ARENA);
    if (fresh == NULL) return NULL;
    arena = fresh;
    arena_left = ARENA;
  }
  block = arena;
  arena += size;
  arena_left -= size;
  cohort_registry.memory_used += size;
  return block;
}

void cohort_free(void *block, size_t bytes) {
  size_t size;
  int k = size_class(bytes, &size);
  if (k < 0) {
    cohort_unmap(block, bytes);
    cohort_registry.memory_used -= bytes;
    return;
  }
  cohort_registry.memory_used -= size;
  memcpy(block, &free_blocks[k], sizeof block);
  free_blocks[k] = block;
}

int cohort_reserve_more(struct cohort_buffer *b, size_t bytes) {
  size_t capacity = b->capacity ? b->capacity : 4096;
  while (capacity < bytes) capacity *= 2;
  uint8_t *data = cohort_map(capacity);
  if (data == NULL) return 0;
  if (b->length > 0) memcpy(data, b->data, b->length);
  cohort_unmap(b->data, b->capacity);
  b->data = data;
  b->capacity = capacity;
  return 1;
}

int cohort_append(struct cohort_buffer *b, const void *item, size_t bytes) {
  if (!cohort_reserve(b, b->length + bytes)) return 0;
  memcpy(b->data + b->length, item, bytes);
  b->length += bytes;
  return 1;
}

void *cohort_pool_more(struct cohort_pool *p, size_t size) {
  size_t batch = size > 64 << 10 ? 1 : (64 << 10) / size;
  uint8_t *blocks = cohort_map(batch * size);
  if (blocks == NULL) return NULL;
  for (size_t i = 1; i < batch; i++) cohort_pool_put(p, blocks + i * size);
  return blocks;
}

/* The kernel copies, and says so where a load or a store would fault. Where a sandbox forbids that call, the file of
 * the process's own memory does. */
static int copy(void *own, const void *other, size_t bytes, int write) {
  struct iovec here = {own, bytes}, there = {(void *)other, bytes};
  int before = errno, flags = write ? O_WRONLY : O_RDONLY;
  if (bytes == 0) return 1;
  ssize_t n = write ? process_vm_writev(getpid(), &here, 1, &there, 1, 0)
                    : process_vm_readv(getpid(), &here, 1, &there, 1, 0);
  if (UNLIKELY(n < 0 && (errno == ENOSYS || errno == EPERM))) {
    int fd = open("/proc/self/mem", flags | O_CLOEXEC);
    n = fd < 0 ? -1
        : write ? pwrite(fd, own, bytes, (off_t)(uintptr_t)other)
                : pread(fd, own, bytes, (off_t)(uintptr_t)other);
    if (fd >= 0) close(fd);
  }
  errno = before;
  return n >= 0 && (size_t)n == bytes;
}

int cohort_peek(void *to, const void *from, size_t bytes) { return copy(to, from, bytes, 0); }
int cohort_poke(void *to, const void *from, size_t bytes) { return copy((void *)from, to, bytes, 1); }

enum { PAGE = 4096 /* or a multiple of it */, STACK_MOST = 1 << 20 };

/* What is sent is often a variable of a caller. From this frame to what the kernel has put above the first one there is
 * nothing but the main thread's stack, if they are near: the kernel maps nothing else within 128 MiB. */
static inline int on_stack(uintptr_t from, uintptr_t end) {
  static uintptr_t top;
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  if (UNLIKELY(top == 0)) top = getauxval(AT_RANDOM);
  return top - here < STACK_MOST && from > here && end <= top;
}

/* Who sets a signal mask in a way that there is not is told so (EINVAL), but not before the kernel has read the mask,
 * which is 8 bytes: of all calls that fail where a load would fault (EFAULT) this is the cheapest, and a sandbox cannot
 * forbid it. What can be read of a page can be read of all of it. */
int cohort_readable(const void *p, size_t bytes) {
  uintptr_t at = (uintptr_t)p & ~(uintptr_t)7, end = (uintptr_t)p + bytes;
  if (end < at) return 0;
  if (on_stack(at, end)) return 1;
  int before = errno, good = 1;
  for (; good && at < end; at = (at | (PAGE - 1)) + 1)
    good = syscall(SYS_rt_sigprocmask, -1, at, NULL, _NSIG / 8) != 0 && errno == EINVAL;
  errno = before;
  return good;
}
