/* Racing mode: completion. What a call completes is told by its handles, which MPI overwrites; so they are looked up
 * before. */
#include "completion.h"
#include "p2p.h"
#include "racing.h"
#include "carry.h"

static struct cohort_buffer nodes_buffer, statuses_buffer, order_buffer;

static MPI_Status *statuses_of(int count, MPI_Status *statuses) {
  if (statuses != MPI_STATUSES_IGNORE) return statuses;
  if (!cohort_reserve(&statuses_buffer, (size_t)count * sizeof(MPI_Status))) return NULL;
  return (MPI_Status *)statuses_buffer.data;
}

/* The nodes of an array of requests; NULL: none of them is ours. */
static struct node **nodes_of(int count, const MPI_Request *requests) {
  int any = 0;
  if (count <= 0 || cohort_node_count == 0) return NULL;
  if (!cohort_reserve(&nodes_buffer, (size_t)count * sizeof(struct node *))) return NULL;
  struct node **nodes = (struct node **)nodes_buffer.data;
  for (int i = 0; i < count; i++) {
    struct node *n = node_of(requests[i]);
    nodes[i] = n != NULL && n->active ? n : NULL;
    any |= nodes[i] != NULL;
  }
  return any ? nodes : NULL;
}

/* Receives that complete together complete in the order of their posts: which of them passed which is then no question.
 * */
struct done { struct node *node; MPI_Status *status; int rc; };

static void sort(struct done *d, int n) {
  int gap = 1;
  while (gap < n / 3) gap = 3 * gap + 1;
  for (; gap > 0; gap /= 3) {
    for (int i = gap; i < n; i++) {
      struct done one = d[i];
      int k = i;
      for (; k >= gap && d[k - gap].node->post > one.node->post; k -= gap) d[k] = d[k - gap];
      d[k] = one;
    }
  }
}

/* Of `n` places in `indices` (NULL: 0..n-1) those that are ours are complete; the k-th place has the k-th status. */
static void complete(int n, const int *indices, struct node **nodes, MPI_Status *statuses, int rc) {
  if (n <= 0 || !cohort_reserve(&order_buffer, (size_t)n * sizeof(struct done))) return;
  struct done *d = (struct done *)order_buffer.data;
  int m = 0, sorted = 1, class = cohort_error_class(rc);
  uint64_t last = 0;
  for (int k = 0; k < n; k++) {
    struct node *node = nodes[indices == NULL ? k : indices[k]];
    if (node == NULL) continue;
    int error = class == MPI_ERR_IN_STATUS ? statuses[k].MPI_ERROR : MPI_SUCCESS;
    if (error == MPI_ERR_PENDING) continue;
    d[m++] = (struct done){node, &statuses[k], error};
    sorted &= node->post >= last;
    last = node->post;
  }
  if (!sorted) sort(d, m);
  for (int k = 0; k < m; k++) cohort_finish(d[k].node, d[k].status, d[k].rc);
}

/* An error of a call for one request is that request's: it is gone, unless the call was refused. */
static int gone(int rc, const struct node *n, MPI_Request after) {
  return rc == MPI_SUCCESS || after == MPI_REQUEST_NULL || n->persistent;
}

static void orphans(void) {
  if (UNLIKELY(cohort_orphan_count > 0)) cohort_orphans_poll();
}

int cohort_racing_wait(MPI_Request *request, MPI_Status *status) {
  struct node *n = node_of(*request);
  orphans();
  if (n == NULL || !n->active) return cohort_yield_wait(request, status);
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  int rc = cohort_yield_wait(request, st);
  if (gone(rc, n, *request)) cohort_finish(n, st, rc);
  return rc;
}

int cohort_racing_test(MPI_Request *request, int *flag, MPI_Status *status) {
  struct node *n = node_of(*request);
  orphans();
  if (n == NULL || !n->active) return PMPI_Test(request, flag, status);
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  int rc = PMPI_Test(request, flag, st);
  if (rc == MPI_SUCCESS ? *flag : gone(rc, n, *request)) cohort_finish(n, st, rc);
  return rc;
}

int cohort_racing_request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
  struct node *n = node_of(request);
  orphans();
  if (n == NULL || !n->active) return PMPI_Request_get_status(request, flag, status);
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  int rc = PMPI_Request_get_status(request, flag, st);
  if (rc == MPI_SUCCESS && *flag) cohort_deliver(n, st, rc);
  return rc;
}

/* Of those that wait for several the flag is NULL. */
static int all(int count, MPI_Request *requests, int *flag, MPI_Status *statuses) {
  orphans();
  struct node **nodes = nodes_of(count, requests);
  if (nodes != NULL && (statuses = statuses_of(count, statuses)) == NULL) return MPI_ERR_NO_MEM;
  int rc = flag == NULL ? cohort_yield_waitall(count, requests, statuses)
                        : PMPI_Testall(count, requests, flag, statuses);
  if (nodes != NULL && (rc == MPI_SUCCESS ? flag == NULL || *flag : cohort_error_class(rc) == MPI_ERR_IN_STATUS))
    complete(count, NULL, nodes, statuses, rc);
  return rc;
}

int cohort_racing_waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
  return all(count, requests, NULL, statuses);
}

int cohort_racing_testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses) {
  return all(count, requests, flag, statuses);
}

static int any(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status) {
  orphans();
  struct node **nodes = nodes_of(count, requests);
  MPI_Status own, *st = nodes != NULL && status == MPI_STATUS_IGNORE ? &own : status;
  if (nodes != NULL) *index = MPI_UNDEFINED;
  int rc = flag == NULL ? cohort_yield_waitany(count, requests, index, st)
                        : PMPI_Testany(count, requests, index, flag, st);
  if (nodes == NULL || *index < 0 || *index >= count || (flag != NULL && rc == MPI_SUCCESS && !*flag)) return rc;
  struct node *n = nodes[*index];
  if (n != NULL && gone(rc, n, requests[*index])) cohort_finish(n, st, rc);
  return rc;
}

int cohort_racing_waitany(int count, MPI_Request *requests, int *index, MPI_Status *status) {
  return any(count, requests, index, NULL, status);
}

int cohort_racing_testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status) {
  return any(count, requests, index, flag, status);
}

static int some(int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses,
                int (*call)(int, MPI_Request *, int *, int *, MPI_Status *)) {
  orphans();
  struct node **nodes = nodes_of(count, requests);
  if (nodes == NULL) return call(count, requests, outcount, indices, statuses);
  MPI_Status *st = statuses_of(count, statuses);
  if (st == NULL) return MPI_ERR_NO_MEM;
  *outcount = 0;
  int rc = call(count, requests, outcount, indices, st);
  if ((rc == MPI_SUCCESS || cohort_error_class(rc) == MPI_ERR_IN_STATUS) && *outcount != MPI_UNDEFINED)
    complete(*outcount, indices, nodes, st, rc);
  return rc;
}

int cohort_racing_waitsome(int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses) {
  return some(count, requests, outcount, indices, statuses, cohort_yield_waitsome);
}

int cohort_racing_testsome(int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses) {
  return some(count, requests, outcount, indices, statuses, PMPI_Testsome);
}

int cohort_racing_cancel(MPI_Request *request) {
  struct node *n = node_of(*request);
  int rc = PMPI_Cancel(request);
  if (n != NULL && n->active && rc == MPI_SUCCESS) n->cancelled = 1;
  return rc;
}

/* The message of an active one is still to be delivered: the request stays ours. */
int cohort_racing_request_free(MPI_Request *request) {
  struct node *n = node_of(*request);
  if (n == NULL) return PMPI_Request_free(request);
  if (n->active) {
    if (!cohort_orphan_add(n)) return MPI_ERR_NO_MEM;
    n->freed = 1;
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  int rc = n->persistent ? cohort_free_persistent(n, request) : PMPI_Request_free(request);
  if (rc != MPI_SUCCESS) return rc;
  cohort_release(n->wire, n->wire_bytes, n->direct, &n->type);
  if (n->kind == NODE_BSEND) cohort_type_size_forget(); /* the handle of its datatype may come again for another */
  cohort_node_remove(n);
  return rc;
}
