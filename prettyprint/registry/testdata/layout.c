/* Prints the bytes of one struct of each kind of cohort_abi.h's registry, with a different value in each field, as JSON. */
#include <stdio.h>
#include <string.h>

#include "cohort_abi.h"

static const char *separator = "{";

static void bytes(const char *name, const void *p, size_t n) {
  printf("%s\"%s\":[", separator, name);
  separator = ",";
  for (size_t i = 0; i < n; i++) printf("%s%d", i ? "," : "", ((const unsigned char *)p)[i]);
  printf("]");
}

#define OBJECT {.size = 1, .kind = 2, .handle = 3, .f_handle = -4, .state = 5, .refs = 6, .holds = 7, .id = 8, .event = 9, .call_site = 10, .name = 11, .stack = 12}
#define SIDE(n0) {.buffer = n0, .count = -(n0 + 1), .datatype = n0 + 2, .handle = n0 + 3, .counts = n0 + 4, .displs = n0 + 5, .types = n0 + 6, .n = n0 + 7, \
                  .flags = n0 + 8, .peer = -(n0 + 9), .tag = -(n0 + 10)}
#define ACTION {.op = 20, .root = -21, .comm = 22, .comm_handle = 23, .object = 24, .reduction = 25, .offset = -26, .send = SIDE(30), .receive = SIDE(50), \
                .target = SIDE(70), .name = "twenty-seven"}

int main(void) {
  struct cohort_registry r = {.magic = COHORT_REGISTRY_MAGIC, .version = COHORT_REGISTRY_VERSION, .size = sizeof r, .mpi = 2, .handle_size = 8,
                              .datatypes = 101, .comms = 102, .requests = 103, .groups = 104, .windows = 105, .files = 106, .ops = 107,
                              .errhandlers = 108, .infos = 109, .calls = 110, .detached = 111, .detached_dropped = 112, .lost = 113,
                              .features = 114, .mode = 115, .in_place = 116, .comm_null = 117, .request_null = 118};
  struct cohort_datatype d = {.size = 1, .combiner = COHORT_COMBINER_STRUCT, .state = COHORT_TYPE_COMMITTED | COHORT_TYPE_FREED,
                              .refs = 4, .handle = 5, .f_handle = -6, .basic = 7, .pair = 8, .basic_size = 9, .type_size = -10,
                              .lb = -11, .extent = -12, .true_lb = -13, .true_extent = INT64_MIN, .id = 15, .event = 16,
                              .call_site = 17, .name = "eighteen", .stack = 22, .n_integers = 19, .n_addresses = 20, .n_types = 21, .holds = 23};
  struct cohort_datatype l = d;
  uint64_t whole = 24;
  l.state = COHORT_TYPE_LONG_NAME;
  strcpy(l.name, "twenty-three characters");
  memcpy(l.name + sizeof l.name - sizeof whole, &whole, sizeof whole);
  struct cohort_comm c = {.size = 1, .kind = COHORT_COMM_CART, .handle = 3, .f_handle = -4, .index = 5, .global_id = 6,
                          .parent_id = 7, .comm_size = 8, .comm_rank = 9, .state = 10, .n_dims = 11, .id = 12, .event = 13,
                          .call_site = 14, .name = "fifteen", .stack = 18, .refs = 19, .holds = 20, .n_members = 16, .n_remote = 17};
  struct cohort_group g = {.o = OBJECT, .group_rank = 13, .n_members = 14};
  struct cohort_window w = {.o = OBJECT, .comm = 13, .base = 14, .bytes = -15, .disp_unit = -16, .epochs = 17, .access_group = 18,
                            .exposure_group = 19, .n_locks = 20, .locks = {21, 22, 23, 24, 25, 26, 27, 28}};
  struct cohort_file f = {.o = OBJECT, .comm = 13, .amode = -14, .disp = -15, .etype = 16, .filetype = 17, .datarep = "eighteen"};
  struct cohort_reduction o = {.o = OBJECT, .function = 13, .commutes = 14};
  struct cohort_errhandler e = {.o = OBJECT, .function = 13};
  struct cohort_info i = {.o = OBJECT, .n_keys = 13, .n_entries = 14};
  struct cohort_request_record q = {.o = OBJECT, .start_event = 13, .start_site = 14, .since_ns = -15, .next = 16, .tid = -17, .a = ACTION};
  struct cohort_call k = {.next = 1, .tid = -2, .active = 3, .event = 4, .call_site = 5, .since_ns = -6, .requests = 7, .n_requests = -8, .a = ACTION};
  struct cohort_stack t = {.n = 1};
  unsigned char slots[sizeof(struct cohort_slots) + sizeof(struct cohort_slot)];
  uint64_t capacity = 1;
  struct cohort_slot s = {.handle = 2, .record = 3};
  memcpy(slots, &capacity, sizeof capacity);
  memcpy(slots + sizeof(struct cohort_slots), &s, sizeof s);
  bytes("registry", &r, sizeof r);
  bytes("datatype", &d, sizeof d);
  bytes("longname", &l, sizeof l);
  bytes("comm", &c, sizeof c);
  bytes("group", &g, sizeof g);
  bytes("window", &w, sizeof w);
  bytes("file", &f, sizeof f);
  bytes("reduction", &o, sizeof o);
  bytes("errhandler", &e, sizeof e);
  bytes("info", &i, sizeof i);
  bytes("request", &q, sizeof q);
  bytes("call", &k, sizeof k);
  bytes("stack", &t, sizeof t);
  bytes("slots", slots, sizeof slots);
  printf("}\n");
  return 0;
}
