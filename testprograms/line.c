/* The intersections of line segments: the program of that name in Table 1 of Netzer and Miller, "Optimal Tracing and Replay for
 * Debugging Message-Passing Parallel Programs" (there 1000 segments; 31 messages, none of them racing).
 *
 *     mpiexec -n 4 ./line [SEGMENTS]
 *
 * (by default 1000). Each rank looks at its share of the pairs; what they found is added up along a tree. What it shows: much
 * computation, one message per rank but the first, each from a source that the receive names; nothing races.
 *
 * Up to LARGEST_CHECKED segments rank 0 finds the intersections again, by another formula. All coordinates are whole numbers, so
 * nothing is rounded.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderhash.h"
#include "random.h"
#include "times.h"

enum { TAG_FOUND = 1 };
enum { SIDE = 1 << 20, LONGEST = 1 << 16 };
enum { LARGEST_CHECKED = 2000, MOST_SEGMENTS = 200000 };

struct point {
    int64_t x, y;
};

struct segment {
    struct point a, b;
};

/* How many pairs intersect, and which: a sum over the numbers of the pairs. */
struct found {
    uint64_t count, pairs;
};

static struct segment *segments;
static int n;

static void make_segments(void) {
    for (int i = 0; i < n; i++) {
        const uint64_t position = 4 * (uint64_t)i;
        struct segment *s = &segments[i];
        s->a.x = (int64_t)(random_at(0, position) % SIDE);
        s->a.y = (int64_t)(random_at(0, position + 1) % SIDE);
        s->b.x = s->a.x + (int64_t)(random_at(0, position + 2) % (2 * LONGEST)) - LONGEST;
        s->b.y = s->a.y + (int64_t)(random_at(0, position + 3) % (2 * LONGEST)) - LONGEST;
    }
}

static void note(struct found *found, int i, int j) {
    found->count++;
    found->pairs += random_at(1, (uint64_t)i * (uint64_t)n + (uint64_t)j);
}

/* On which side of the line from a to b the point c lies: 1 left, -1 right, 0 on it. */
static int side(struct point a, struct point b, struct point c) {
    const int64_t area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
    return (area > 0) - (area < 0);
}

static int between(int64_t a, int64_t x, int64_t b) {
    return (a <= x && x <= b) || (b <= x && x <= a);
}

static int in_box(struct segment s, struct point p) {
    return between(s.a.x, p.x, s.b.x) && between(s.a.y, p.y, s.b.y);
}

static int intersect(struct segment s, struct segment t) {
    const int a = side(s.a, s.b, t.a), b = side(s.a, s.b, t.b), c = side(t.a, t.b, s.a), d = side(t.a, t.b, s.b);
    if (a * b < 0 && c * d < 0) {
        return 1;
    }
    return (a == 0 && in_box(s, t.a)) || (b == 0 && in_box(s, t.b)) || (c == 0 && in_box(t, s.a)) || (d == 0 && in_box(t, s.b));
}

/* The other formula: where the lines cross, in parts of both segments (Cramer's rule). */
static int intersect_again(struct segment s, struct segment t) {
    const struct point u = {s.b.x - s.a.x, s.b.y - s.a.y}, v = {t.b.x - t.a.x, t.b.y - t.a.y};
    const struct point w = {t.a.x - s.a.x, t.a.y - s.a.y};
    int64_t whole = u.x * v.y - u.y * v.x, on_s = w.x * v.y - w.y * v.x, on_t = w.x * u.y - w.y * u.x;
    if (whole < 0) {
        whole = -whole;
        on_s = -on_s;
        on_t = -on_t;
    }
    if (whole > 0) {
        return on_s >= 0 && on_s <= whole && on_t >= 0 && on_t <= whole;
    }
    return intersect(s, t); /* parallel, or one is a point */
}

/* Of the pairs of all segments this rank looks at those whose first one is its. */
static struct found own_share(int rank, int ranks) {
    struct found found = {0, 0};
    for (int i = rank; i < n; i += ranks) {
        for (int j = i + 1; j < n; j++) {
            if (intersect(segments[i], segments[j])) {
                note(&found, i, j);
            }
        }
    }
    return found;
}

/* Rank 0 gets the sum of all. */
static struct found add_up(struct found found, int rank, int ranks, struct order *order) {
    for (int distance = 1; distance < ranks; distance *= 2) {
        if (rank & distance) {
            MPI_Send(&found, 2, MPI_UINT64_T, rank - distance, TAG_FOUND, MPI_COMM_WORLD);
            return found;
        }
        if (rank + distance < ranks) {
            struct found more;
            MPI_Status status;
            MPI_Recv(&more, 2, MPI_UINT64_T, rank + distance, TAG_FOUND, MPI_COMM_WORLD, &status);
            order_taken(order, status.MPI_SOURCE, status.MPI_TAG);
            order_data(order, &more, sizeof more);
            order->tasks++;
            found.count += more.count;
            found.pairs += more.pairs;
        }
    }
    return found;
}

static int wrong(struct found found) {
    struct found again = {0, 0};
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            if (intersect_again(segments[i], segments[j])) {
                note(&again, j, i);
            }
        }
    }
    return found.count != again.count || found.pairs != again.pairs;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct order order = ORDER_INIT;
    int rank, ranks, status = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    n = argc > 1 ? atoi(argv[1]) : 1000;
    segments = n >= 1 && n <= MOST_SEGMENTS ? malloc((size_t)n * sizeof *segments) : NULL;
    if (segments == NULL) {
        if (rank == 0) {
            fprintf(stderr, "usage: line [SEGMENTS], from 1 to %d\n", MOST_SEGMENTS);
        }
        status = 2;
    } else {
        make_segments();
        measure_begin();
        const struct found found = add_up(own_share(rank, ranks), rank, ranks, &order);
        measure_end("line", rank);
        if (rank == 0) {
            printf("line: %d segments, %llu intersections\n", n, (unsigned long long)found.count);
            if (n <= LARGEST_CHECKED && wrong(found)) {
                fprintf(stderr, "line: wrong: those are not the intersections\n");
                status = 1;
            }
        }
        report_order("line", rank, &order);
        free(segments);
    }
    MPI_Finalize();
    return status;
}
