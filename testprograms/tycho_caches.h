/* Caches and an address trace, for tycho.c: nothing here knows of MPI. */
#ifndef TYCHO_CACHES_H
#define TYCHO_CACHES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { LINE_BITS = 5 };       /* a line holds 32 bytes */
enum { MOST_WAYS = 16 };
enum { FEWEST_SET_BITS = 4 }; /* 16 sets */

/* A cache with 2^set_bits sets of `ways` lines each, which replaces the least recently used one. */
struct cache {
    int set_bits, ways;
    uint32_t *lines; /* set by set, the most recently used one first; 0: empty */
    long misses;
};

/* The caches that are simulated, by number: ways 1, 2, 4, 8, 16; then the same with twice the sets; ... */
static inline void cache_of(int number, int *set_bits, int *ways) {
    *ways = 1 << number % 5;
    *set_bits = FEWEST_SET_BITS + number / 5;
}

static inline int cache_open(struct cache *cache, int number) {
    memset(cache, 0, sizeof *cache);
    cache_of(number, &cache->set_bits, &cache->ways);
    cache->lines = calloc((size_t)cache->ways << cache->set_bits, sizeof *cache->lines);
    return cache->lines != NULL;
}

static inline void cache_close(struct cache *cache) {
    free(cache->lines);
}

static inline void cache_touch(struct cache *cache, uint32_t address) {
    const uint32_t line = (address >> LINE_BITS) + 1; /* never 0 */
    uint32_t *set = cache->lines + (size_t)(line & ((1u << cache->set_bits) - 1)) * (size_t)cache->ways;
    int way = 0;
    while (way < cache->ways - 1 && set[way] != line) {
        way++;
    }
    cache->misses += set[way] != line;
    for (; way > 0; way--) {
        set[way] = set[way - 1];
    }
    set[0] = line;
}

/* The trace: a program that runs through loops, whose data lie near the top of a stack and in a heap of which some parts are
 * used far more often than others. */
enum reference { FETCH, READ, WRITE };

static inline void make_trace(int n, uint32_t *address, uint8_t *kind) {
    uint32_t counter = 0x10000, loop_start = counter, loop_end = counter + 64, stack = 0x7fff0000;
    int rounds = 10;
    for (int i = 0; i < n; i++) {
        const uint64_t random = random_at(7, (uint64_t)i);
        if (random % 4 != 0) {
            kind[i] = FETCH;
            address[i] = counter;
            counter += 4;
            if (counter >= loop_end && rounds-- > 0) {
                counter = loop_start;
            } else if (counter >= loop_end) {
                loop_start = counter = 0x10000 + 4 * (uint32_t)(random >> 20 & 0x3fff);
                loop_end = loop_start + 16 + 4 * (uint32_t)(random >> 40 & 0x3f);
                rounds = (int)(random >> 50 & 15);
                stack = 0x7fff0000 - 64 * (uint32_t)(random >> 54 & 63);
            }
            continue;
        }
        kind[i] = random >> 2 & 3 ? READ : WRITE;
        const uint32_t spread = (1u << (6 + (random >> 4) % 14)) - 1;
        address[i] = random >> 10 & 1 ? stack + (uint32_t)(random >> 11 & 31) * 4 : 0x400000 + (uint32_t)(random >> 16 & spread) * 4;
    }
}

/* The oracle: the misses of caches of one number of sets and all numbers of ways, by one pass over a stack of lines per set.
 * Of the lines that a cache of w ways holds, the w first of the stack are those (R. L. Mattson et al., "Evaluation Techniques
 * for Storage Hierarchies", IBM Systems Journal 9 (1970)): a reference misses where its line lies deeper. */
static inline int misses_by_stack(int set_bits, int n, const uint32_t *address, long misses[MOST_WAYS + 1]) {
    const size_t sets = (size_t)1 << set_bits;
    struct stack { uint32_t *line; int depth, room; } *stacks = calloc(sets, sizeof *stacks);
    int whole = stacks != NULL;
    memset(misses, 0, (MOST_WAYS + 1) * sizeof *misses);
    for (int i = 0; i < n && whole; i++) {
        const uint32_t line = (address[i] >> LINE_BITS) + 1;
        struct stack *s = &stacks[line & (sets - 1)];
        int at = 0;
        while (at < s->depth && s->line[at] != line) {
            at++;
        }
        for (int ways = 1; ways <= MOST_WAYS; ways++) {
            misses[ways] += at >= ways || at == s->depth;
        }
        if (at == s->depth && s->depth == s->room) {
            uint32_t *grown = realloc(s->line, (size_t)(2 * s->room + 16) * sizeof *grown);
            whole = grown != NULL;
            s->line = whole ? grown : s->line;
            s->room = whole ? 2 * s->room + 16 : s->room;
        }
        if (whole) {
            s->depth += at == s->depth;
            memmove(s->line + 1, s->line, (size_t)at * sizeof *s->line);
            s->line[0] = line;
        }
    }
    for (size_t i = 0; stacks != NULL && i < sets; i++) {
        free(stacks[i].line);
    }
    free(stacks);
    return whole;
}

#endif
