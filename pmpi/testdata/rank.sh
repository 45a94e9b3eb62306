#!/bin/sh
# Runs one rank with the interposer: what the agent does in a real job. COHORT_TEST_DIR holds the ranks' files.
rank=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}
export COHORT_CONTROL="$COHORT_TEST_DIR/control-$rank"
[ -n "$COHORT_TEST_TRACE" ] && export COHORT_TRACE="$COHORT_TEST_TRACE/rank-$rank.trace"
[ -n "$COHORT_TEST_DECISIONS" ] && export COHORT_DECISIONS="$COHORT_TEST_DECISIONS/decisions-$rank"
LD_PRELOAD="$COHORT_TEST_LIBRARY" exec "$@"
