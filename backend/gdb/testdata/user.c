int MPI_Init(int *argc, char ***argv);
int MPI_Barrier(int comm);
static int exchange(int round) {
  int before = round;
  MPI_Barrier(7); before += 10;   /* line 5 */
  return before;
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int sum = exchange(1);          /* line 10 */
  sum += exchange(2);
  MPI_Barrier(8);                 /* line 12 */
  sum++;
  return sum;
}
