/* What the parts of the interposer share. */
#ifndef COHORT_H
#define COHORT_H
#endif
