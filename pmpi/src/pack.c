/* Packing what a program names by MPI_BOTTOM and absolute addresses: MPI_Pack and MPI_Unpack of MPICH 4.0 refuse that,
 * and the program's error handler would end it. A message to oneself carries it. */
#include "p2p.h"

static int fits(uint64_t bytes, int position, int room) {
  return position >= 0 && position <= room && bytes <= (uint64_t)(room - position);
}

int cohort_pack(const void *buf, int count, MPI_Datatype type, void *to, int room, int *position, MPI_Comm comm) {
  if (LIKELY(buf != MPI_BOTTOM) || g.progress == MPI_COMM_NULL)
    return PMPI_Pack(buf, count, type, to, room, position, comm);
  uint64_t bytes = cohort_bytes(count, type);
  if (!fits(bytes, *position, room)) return MPI_ERR_TRUNCATE;
  int rc = PMPI_Sendrecv(buf, count, type, 0, 0, (char *)to + *position, (int)bytes, MPI_BYTE, 0, 0, g.progress,
                         MPI_STATUS_IGNORE);
  if (rc == MPI_SUCCESS) *position += (int)bytes;
  return rc;
}

int cohort_unpack(const void *from, int size, int *position, void *buf, int count, MPI_Datatype type, MPI_Comm comm) {
  if (LIKELY(buf != MPI_BOTTOM) || g.progress == MPI_COMM_NULL)
    return PMPI_Unpack(from, size, position, buf, count, type, comm);
  uint64_t bytes = cohort_bytes(count, type);
  if (!fits(bytes, *position, size)) return MPI_ERR_TRUNCATE;
  int rc = PMPI_Sendrecv((const char *)from + *position, (int)bytes, MPI_BYTE, 0, 0, buf, count, type, 0, 0, g.progress,
                         MPI_STATUS_IGNORE);
  if (rc == MPI_SUCCESS) *position += (int)bytes;
  return rc;
}

uint8_t *cohort_packed(struct cohort_buffer *b, const void *buf, int count, MPI_Datatype type, MPI_Comm comm,
                       int *length) {
  int room = 0;
  *length = 0;
  b->length = 0;
  if (PMPI_Pack_size(count, type, comm, &room) != MPI_SUCCESS || !cohort_reserve(b, (size_t)room + 1)) return NULL;
  return cohort_pack(buf, count, type, b->data, room, length, comm) == MPI_SUCCESS ? b->data : NULL;
}
