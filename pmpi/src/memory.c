/* Memory of our own: mmap'd, so that the program's allocator, its hooks and its checkers never see us. */
#include "cohort.h"

#include <sys/mman.h>
#include <time.h>

void *cohort_map(size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

void cohort_unmap(void *p, size_t bytes) {
  if (p != NULL) munmap(p, bytes);
}

/* Free lists of blocks of 2^k bytes, carved from arenas that are never given back. */
enum { SMALLEST = 7, LARGEST = 18, ARENA = 1 << 20 };
static void *free_blocks[LARGEST + 1];
static uint8_t *arena;
static size_t arena_left;

static int size_class(size_t bytes) {
  int k = SMALLEST;
  while (((size_t)1 << k) < bytes) k++;
  return k;
}

void *cohort_alloc(size_t bytes) {
  int k = size_class(bytes);
  size_t size = (size_t)1 << k;
  if (k > LARGEST) return cohort_map(bytes);
  void *block = free_blocks[k];
  if (block != NULL) {
    memcpy(&free_blocks[k], block, sizeof block);
    memset(block, 0, size);
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
  return block;
}

void cohort_free(void *block, size_t bytes) {
  int k = size_class(bytes);
  if (k > LARGEST) {
    cohort_unmap(block, bytes);
    return;
  }
  memcpy(block, &free_blocks[k], sizeof block);
  free_blocks[k] = block;
}

int cohort_reserve(struct cohort_buffer *b, size_t bytes) {
  if (LIKELY(bytes <= b->capacity)) return 1;
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

uint64_t cohort_now(void) {
  struct timespec t;
  cohort_true_clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
