/* C++: random numbers and times of its library. */
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <random>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  std::random_device processor, device("/dev/urandom");
  for (int i = 0; i < 10; i++) std::printf("%u %u ", processor(), device());
  std::printf("%lld %lld\n", (long long)std::chrono::steady_clock::now().time_since_epoch().count(),
              (long long)std::chrono::system_clock::now().time_since_epoch().count());
  MPI_Finalize();
  return 0;
}
