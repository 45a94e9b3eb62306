/* Call sites and the modules that they lie in, each written to the trace once, when it is first needed. A site is the
 * return address of the call minus one, so that it lies inside the call instruction and a line table finds the call's
 * line. */
#include "trace.h"

#include <link.h>
#include <unistd.h>

struct module { uint64_t bias, start, end; };

static struct cohort_buffer modules;
static uint32_t n_modules;
static struct keymap sites; /* index by address */

static struct module *module_at(uint32_t i) { return (struct module *)(void *)modules.data + i; }

/* The GNU build-id note of a loaded object, or nothing. */
static const uint8_t *build_id(const struct dl_phdr_info *info, size_t *length) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
    if (ph->p_type != PT_NOTE) continue;
    const uint8_t *p = (const uint8_t *)(info->dlpi_addr + ph->p_vaddr), *end = p + ph->p_memsz;
    while (p + sizeof(ElfW(Nhdr)) <= end) {
      const ElfW(Nhdr) *note = (const void *)p;
      const uint8_t *name = p + sizeof *note, *desc = name + ((note->n_namesz + 3u) & ~3u);
      if (desc > end || (size_t)(end - desc) < note->n_descsz) break;
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
        *length = note->n_descsz;
        return desc;
      }
      p = desc + ((note->n_descsz + 3u) & ~3u);
    }
  }
  *length = 0;
  return (const uint8_t *)"";
}

/* The addresses that a loaded object is in. */
static struct module extent_of(const struct dl_phdr_info *info) {
  struct module m = {info->dlpi_addr, UINT64_MAX, 0};
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
    uint64_t from = info->dlpi_addr + ph->p_vaddr;
    if (ph->p_type != PT_LOAD) continue;
    if (from < m.start) m.start = from;
    if (from + ph->p_memsz > m.end) m.end = from + ph->p_memsz;
  }
  return m;
}

/* Writes the object that holds *address, if this is it. */
static int add_module(struct dl_phdr_info *info, size_t size, void *address) {
  (void)size;
  struct module m = extent_of(info);
  uint64_t at = *(uint64_t *)address;
  if (at < m.start || at >= m.end) return 0;
  if (!cohort_append(&modules, &m, sizeof m)) return 1;
  char path[4096] = "";
  const char *name = info->dlpi_name;
  if (name == NULL || *name == 0) { /* the program */
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    name = path;
  }
  size_t id_length;
  const uint8_t *id = build_id(info, &id_length);
  cohort_write_module(n_modules++, info->dlpi_addr, name, id, id_length);
  return 1;
}

static int32_t module_of(uint64_t address) {
  for (uint32_t i = 0; i < n_modules; i++)
    if (address >= module_at(i)->start && address < module_at(i)->end) return (int32_t)i;
  return -1;
}

/* Its index; -1: none, it is code made at run time. */
static int32_t module_written(uint64_t address) {
  int32_t module = module_of(address);
  if (UNLIKELY(module < 0)) {
    dl_iterate_phdr(add_module, &address);
    module = module_of(address);
  }
  return module;
}

void cohort_module_needed(uint64_t address) {
  int32_t module = module_written(address);
  g_trace.module_start = module < 0 ? address & ~(uint64_t)0xfff : module_at((uint32_t)module)->start;
  g_trace.module_size = module < 0 ? 0x1000 : module_at((uint32_t)module)->end - g_trace.module_start;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *ignored) {
  (void)size, (void)ignored;
  struct module m = extent_of(info);
  g_trace.program_start = m.start;
  g_trace.program_size = m.end - m.start;
  return 1;
}

/* Where the program itself is: the first object. */
void cohort_program_find(void) { dl_iterate_phdr(first_object, NULL); }

uint32_t cohort_site_index(uint64_t return_address) {
  static struct { uint64_t address; uint32_t index; } recent[64]; /* by address; index 0: none */
  uint64_t address = return_address - 1;
  typeof(*recent) *r = &recent[address % 64];
  if (LIKELY(r->address == address && r->index != 0)) return r->index;
  uint64_t *index = cohort_keymap_find(&sites, address);
  if (index == NULL) {
    int32_t module = module_written(address);
    if (module < 0 || !cohort_keymap_put(&sites, address, sites.used + 1)) return 0;
    index = cohort_keymap_find(&sites, address);
    cohort_write_site((uint32_t)*index, (uint32_t)module, address - module_at((uint32_t)module)->bias);
  }
  r->address = address;
  return r->index = (uint32_t)*index;
}

struct asked { uint64_t address, start, size; };

static int object_with(struct dl_phdr_info *info, size_t size, void *asked) {
  (void)size;
  struct asked *a = asked;
  struct module m = extent_of(info);
  if (a->address < m.start || a->address >= m.end) return 0;
  *a = (struct asked){a->address, m.start, m.end - m.start};
  return 1;
}

void cohort_object_range(uint64_t address, uint64_t *start, uint64_t *size) {
  struct asked asked = {address, 1, 0};
  dl_iterate_phdr(object_with, &asked);
  *size = asked.size;
  *start = asked.start;
}
