/* One-sided communication. */
#ifndef COHORT_RMA_H
#define COHORT_RMA_H
#include "core.h"

/* ---- rma.c */
extern int cohort_windows_small;               /* windows that are looked at when an event ends */
void cohort_windows_look(void);

#endif
