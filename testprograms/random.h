/* Random numbers by position: every rank can make any part of random data for itself, nothing has to be sent, and what is
 * received can be checked. The function is that of splitmix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
 * Generators", OOPSLA 2014). */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

static inline uint64_t random_at(uint64_t seed, uint64_t position) {
    uint64_t z = (seed + 1) * 0xd1342543de82ef95u + (position + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* In [0, 1). */
static inline double random_unit(uint64_t seed, uint64_t position) {
    return (double)(random_at(seed, position) >> 11) / 9007199254740992.0;
}

/* In [-1, 1). */
static inline double random_sign(uint64_t seed, uint64_t position) {
    return 2 * random_unit(seed, position) - 1;
}

#endif
