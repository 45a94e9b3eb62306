/* Prints the bytes of one struct of each kind of cohort_abi.h's registry, with a different value in each field, as JSON. */
#include <stdio.h>
#include <string.h>

#include "cohort_abi.h"

static void bytes(const char *name, const void *p, size_t n, const char *end) {
  printf("\"%s\":[", name);
  for (size_t i = 0; i < n; i++) printf("%s%d", i ? "," : "", ((const unsigned char *)p)[i]);
  printf("]%s", end);
}

int main(void) {
  struct cohort_registry r = {.magic = COHORT_REGISTRY_MAGIC, .version = COHORT_ABI_VERSION, .size = sizeof r, .mpi = 2,
                              .handle_size = 8, .datatypes = 101, .comms = 102, .requests = 103};
  struct cohort_datatype d = {.size = 1, .combiner = COHORT_COMBINER_STRUCT, .state = COHORT_TYPE_COMMITTED | COHORT_TYPE_FREED,
                              .refs = 4, .handle = 5, .f_handle = -6, .basic = 7, .pair = 8, .basic_size = 9, .type_size = -10,
                              .lb = -11, .extent = -12, .true_lb = -13, .true_extent = INT64_MIN, .id = 15, .event = 16,
                              .call_site = 17, .name = "eighteen", .n_integers = 19, .n_addresses = 20, .n_types = 21};
  struct cohort_comm c = {.size = 1, .kind = COHORT_COMM_CART, .handle = 3, .f_handle = -4, .index = 5, .global_id = 6,
                          .parent_id = 7, .comm_size = 8, .comm_rank = 9, .state = 10, .n_dims = 11, .id = 12, .event = 13,
                          .call_site = 14, .name = "fifteen", .n_members = 16, .n_remote = 17};
  unsigned char slots[sizeof(struct cohort_slots) + sizeof(struct cohort_slot)];
  uint64_t capacity = 1;
  struct cohort_slot s = {.handle = 2, .record = 3};
  memcpy(slots, &capacity, sizeof capacity);
  memcpy(slots + sizeof(struct cohort_slots), &s, sizeof s);
  printf("{");
  bytes("registry", &r, sizeof r, ",");
  bytes("datatype", &d, sizeof d, ",");
  bytes("comm", &c, sizeof c, ",");
  bytes("slots", slots, sizeof slots, "}\n");
  return 0;
}
