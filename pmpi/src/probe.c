/* Probe and Iprobe. */
#include "completion.h"
#include "p2p.h"
#include "replay.h"
#include "trace.h"
#include "tracking.h"
#include "carry.h"

static int stage_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
  int wildcard = cohort_wildcard(source, tag);
  int from = source, with = tag;
  if (g.replay && wildcard) cohort_replay_match(COHORT_OP_PROBE, &from, &with);
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  int rc = carry_probe(from, with, comm, st);
  int given = cohort_given(rc, wildcard);
  if (g.order && wildcard && given) cohort_order_match(COHORT_OP_PROBE, st->MPI_SOURCE, st->MPI_TAG, 0);
  if (source != MPI_PROC_NULL && given) cohort_awaited_took(g.events + 1, comm, st->MPI_SOURCE, st->MPI_TAG);
  if (g.full) {
    cohort_event_begin();
    cohort_put_asked(comm, source, tag);
    cohort_put_given(given, st);
    cohort_event_end();
  }
  return rc;
}

static int stage_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
  int wildcard = cohort_wildcard(source, tag);
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  int rc = MPI_SUCCESS;
  if (g.replay) {
    *flag = cohort_replay_poll(COHORT_OP_IPROBE);
    int from = source, with = tag;
    if (*flag && wildcard) cohort_replay_match(COHORT_OP_IPROBE, &from, &with);
    if (*flag) rc = carry_probe(from, with, comm, st);
  } else {
    rc = carry_iprobe(source, tag, comm, flag, st);
  }
  if (rc == MPI_SUCCESS && !*flag) return rc;
  int given = cohort_given(rc, wildcard);
  if (g.order) {
    cohort_order_poll(COHORT_OP_IPROBE);
    if (wildcard && given) cohort_order_match(COHORT_OP_IPROBE, st->MPI_SOURCE, st->MPI_TAG, 0);
  }
  if (source != MPI_PROC_NULL && given) cohort_awaited_took(g.events + 1, comm, st->MPI_SOURCE, st->MPI_TAG);
  if (g.full) {
    cohort_event_begin();
    cohort_put_asked(comm, source, tag);
    cohort_put_given(given, st);
    cohort_event_end();
  }
  return rc;
}

#include "wrap_probe.h"
