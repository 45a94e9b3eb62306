/* MPI_Wtime and MPI_Wtick: what they return is recorded always, and returned in replay. They are no events, and have no
 * numbers. */
#include "values.h"

static double time_of(uint32_t kind, double (*ask)(void), uint64_t site) {
  double v;
  uint64_t bits;
  if (cohort_inside() && !cohort_is_program(site)) return ask(); /* the MPI's own question */
  if (!cohort_values_wanted()) return ask();
  if (cohort_value_recorded(kind, &bits, site)) {
    memcpy(&v, &bits, sizeof v);
    return v;
  }
  v = ask();
  memcpy(&bits, &v, sizeof bits);
  cohort_value_record(kind, bits);
  return v;
}

#define FUNCTION(symbol, kind, ask) \
  EXPORT double symbol(void) { return LIKELY(!cohort_values_given) ? ask() : time_of(kind, ask, SITE); }
FUNCTION(MPI_Wtime, COHORT_VALUE_WTIME, PMPI_Wtime)
FUNCTION(MPI_Wtick, COHORT_VALUE_WTICK, PMPI_Wtick)

/* Fortran's functions are these, whatever its names for them. */
FUNCTION(mpi_wtime_, COHORT_VALUE_WTIME, PMPI_Wtime)
FUNCTION(mpi_wtime__, COHORT_VALUE_WTIME, PMPI_Wtime)
FUNCTION(mpi_wtime, COHORT_VALUE_WTIME, PMPI_Wtime)
FUNCTION(MPI_WTIME, COHORT_VALUE_WTIME, PMPI_Wtime)
FUNCTION(mpi_wtime_f08_, COHORT_VALUE_WTIME, PMPI_Wtime)
FUNCTION(mpi_wtick_, COHORT_VALUE_WTICK, PMPI_Wtick)
FUNCTION(mpi_wtick__, COHORT_VALUE_WTICK, PMPI_Wtick)
FUNCTION(mpi_wtick, COHORT_VALUE_WTICK, PMPI_Wtick)
FUNCTION(MPI_WTICK, COHORT_VALUE_WTICK, PMPI_Wtick)
FUNCTION(mpi_wtick_f08_, COHORT_VALUE_WTICK, PMPI_Wtick)
#ifdef OPEN_MPI
FUNCTION(MPI_Wtime_f, COHORT_VALUE_WTIME, PMPI_Wtime)
FUNCTION(MPI_Wtime_f08, COHORT_VALUE_WTIME, PMPI_Wtime)
FUNCTION(MPI_Wtick_f, COHORT_VALUE_WTICK, PMPI_Wtick)
FUNCTION(MPI_Wtick_f08, COHORT_VALUE_WTICK, PMPI_Wtick)
#endif
