/* Call sites and the modules that they lie in, each written to the trace once, when it is first needed. A site is the
 * return address of the call minus one, so that it lies inside the call instruction and a line table finds the call's
 * line. */
#include "trace.h"

#include <link.h>
#include <unistd.h>

struct module { uint64_t bias, start, end; };
struct site { uint64_t address; uint32_t index; };

static struct module *modules;
static uint32_t n_modules, cap_modules;
static struct site *sites; /* open addressing */
static uint64_t n_sites, cap_sites;

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

/* Writes the object that holds *address, if this is it. */
static int add_module(struct dl_phdr_info *info, size_t size, void *address) {
  (void)size;
  uint64_t start = UINT64_MAX, end = 0, at = *(uint64_t *)address;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
    if (ph->p_type != PT_LOAD) continue;
    uint64_t from = info->dlpi_addr + ph->p_vaddr;
    if (from < start) start = from;
    if (from + ph->p_memsz > end) end = from + ph->p_memsz;
  }
  if (at < start || at >= end) return 0;
  if (n_modules == cap_modules) {
    uint32_t cap = cap_modules ? 2 * cap_modules : 128;
    struct module *grown = cohort_map(cap * sizeof *grown);
    if (grown == NULL) return 1;
    if (n_modules > 0) memcpy(grown, modules, n_modules * sizeof *grown);
    cohort_unmap(modules, cap_modules * sizeof *modules);
    modules = grown;
    cap_modules = cap;
  }
  char path[4096] = "";
  const char *name = info->dlpi_name;
  if (name == NULL || *name == 0) { /* the program */
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    name = path;
  }
  size_t id_length;
  const uint8_t *id = build_id(info, &id_length);
  modules[n_modules] = (struct module){info->dlpi_addr, start, end};
  cohort_write_module(n_modules++, info->dlpi_addr, name, id, id_length);
  return 1;
}

static int32_t module_of(uint64_t address) {
  for (uint32_t i = 0; i < n_modules; i++)
    if (address >= modules[i].start && address < modules[i].end) return (int32_t)i;
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
  g_trace.module_start = module < 0 ? address & ~(uint64_t)0xfff : modules[module].start;
  g_trace.module_size = module < 0 ? 0x1000 : modules[module].end - modules[module].start;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *ignored) {
  (void)size;
  (void)ignored;
  uint64_t end = 0;
  g_trace.program_start = UINT64_MAX;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
    if (ph->p_type != PT_LOAD) continue;
    uint64_t from = info->dlpi_addr + ph->p_vaddr;
    if (from < g_trace.program_start) g_trace.program_start = from;
    if (from + ph->p_memsz > end) end = from + ph->p_memsz;
  }
  g_trace.program_size = end - g_trace.program_start;
  return 1;
}

/* Where the program itself is: the first object. */
void cohort_program_find(void) { dl_iterate_phdr(first_object, NULL); }

static int grow_sites(void) {
  uint64_t cap = cap_sites ? 2 * cap_sites : 1024;
  struct site *grown = cohort_map(cap * sizeof *grown);
  if (grown == NULL) return 0;
  for (uint64_t i = 0; i < cap_sites; i++) {
    if (sites[i].address == 0) continue;
    uint64_t j = (sites[i].address * 0x9E3779B97F4A7C15u >> 20) & (cap - 1);
    while (grown[j].address != 0) j = (j + 1) & (cap - 1);
    grown[j] = sites[i];
  }
  cohort_unmap(sites, cap_sites * sizeof *sites);
  sites = grown;
  cap_sites = cap;
  return 1;
}

uint32_t cohort_site_index(uint64_t return_address) {
  static uint64_t last_address;
  static uint32_t last_index;
  uint64_t address = return_address - 1;
  if (LIKELY(address == last_address && last_index != 0)) return last_index;
  if (UNLIKELY(2 * n_sites >= cap_sites) && !grow_sites()) return 0;
  uint64_t i = (address * 0x9E3779B97F4A7C15u >> 20) & (cap_sites - 1);
  while (sites[i].address != 0 && sites[i].address != address) i = (i + 1) & (cap_sites - 1);
  if (sites[i].address == 0) {
    int32_t module = module_written(address);
    if (module < 0) return 0;
    uint32_t index = (uint32_t)n_sites + 1;
    sites[i] = (struct site){address, index};
    n_sites++;
    cohort_write_site(index, (uint32_t)module, address - modules[module].bias);
  }
  last_address = address;
  last_index = sites[i].index;
  return last_index;
}

static int object_with(struct dl_phdr_info *info, size_t size, void *asked) {
  (void)size;
  uint64_t *a = asked, from = UINT64_MAX, to = 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
    if (ph->p_type != PT_LOAD) continue;
    uint64_t start = info->dlpi_addr + ph->p_vaddr;
    if (start < from) from = start;
    if (start + ph->p_memsz > to) to = start + ph->p_memsz;
  }
  if (a[0] < from || a[0] >= to) return 0;
  a[1] = from;
  a[2] = to - from;
  return 1;
}

void cohort_object_range(uint64_t address, uint64_t *start, uint64_t *size) {
  uint64_t asked[3] = {address, 1, 0};
  dl_iterate_phdr(object_with, asked);
  *size = asked[2];
  *start = asked[1];
}
