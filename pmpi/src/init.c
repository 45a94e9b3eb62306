#include <mpi.h>
#include "cohort.h"
#include "../include/cohort_abi.h"
__attribute__((visibility("default"))) struct cohort_registry cohort_registry;
