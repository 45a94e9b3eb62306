/* The sequential part of tsp.c: the cities file, tours, and the bound. Nothing in here knows of MPI.
 *
 * A cities file has one city per line, "x y" (integers). A line that starts with '#' is a comment; the comment
 * "# optimum N" gives the length of the shortest tour, where that is known. Distances are Euclidean, rounded to the nearest
 * integer, as in TSPLIB's EUC_2D, so that lengths can be compared exactly.
 */
#ifndef TSP_CITIES_H
#define TSP_CITIES_H

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CITIES = 32 };

struct cities {
    int count;
    int optimum; /* 0: not known */
    int x[MAX_CITIES], y[MAX_CITIES];
    int distance[MAX_CITIES][MAX_CITIES];
    int shortest[MAX_CITIES][2]; /* the two shortest edges at each city */
};

static int rounded_distance(const struct cities *cities, int a, int b) {
    double dx = cities->x[a] - cities->x[b], dy = cities->y[a] - cities->y[b];
    return (int)(sqrt(dx * dx + dy * dy) + 0.5);
}

static void measure(struct cities *cities) {
    for (int a = 0; a < cities->count; a++) {
        int *shortest = cities->shortest[a];
        shortest[0] = shortest[1] = INT_MAX;
        for (int b = 0; b < cities->count; b++) {
            int distance = cities->distance[a][b] = rounded_distance(cities, a, b);
            if (a == b) {
                continue;
            }
            if (distance < shortest[0]) {
                shortest[1] = shortest[0];
                shortest[0] = distance;
            } else if (distance < shortest[1]) {
                shortest[1] = distance;
            }
        }
    }
}

/* NULL, or what is wrong with the file (in storage that the next call overwrites). */
static const char *read_cities(const char *name, int least, struct cities *cities) {
    static char problem[300];
    char line[200];
    FILE *file = fopen(name, "r");
    if (file == NULL) {
        snprintf(problem, sizeof problem, "cannot open the cities file %.200s: %s", name, strerror(errno));
        return problem;
    }
    memset(cities, 0, sizeof *cities);
    for (int number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        int x, y;
        if (line[0] == '#') {
            sscanf(line, "# optimum %d", &cities->optimum);
        } else if (cities->count == MAX_CITIES || sscanf(line, "%d %d", &x, &y) != 2) {
            snprintf(problem, sizeof problem, "%.150s, line %d: wanted a comment or \"x y\", for at most %d cities", name,
                     number, MAX_CITIES);
            fclose(file);
            return problem;
        } else {
            cities->x[cities->count] = x;
            cities->y[cities->count++] = y;
        }
    }
    fclose(file);
    if (cities->count < least) {
        snprintf(problem, sizeof problem, "%.200s has %d cities; at least %d are needed", name, cities->count, least);
        return problem;
    }
    measure(cities);
    return NULL;
}

static int path_length(const struct cities *cities, const int *path, int depth) {
    int length = 0;
    for (int i = 1; i < depth; i++) {
        length += cities->distance[path[i - 1]][path[i]];
    }
    return length;
}

/* The cities that are not among the first `depth` of the path, the one nearest to its end first. Returns their number. */
static int nearest_unvisited(const struct cities *cities, const int *path, int depth, int *candidate) {
    unsigned visited = 0;
    int candidates = 0;
    for (int i = 0; i < depth; i++) {
        visited |= 1u << path[i];
    }
    const int *distance = cities->distance[path[depth - 1]];
    for (int city = 0; city < cities->count; city++) {
        if (visited >> city & 1u) {
            continue;
        }
        int at = candidates++;
        for (; at > 0 && distance[candidate[at - 1]] > distance[city]; at--) {
            candidate[at] = candidate[at - 1];
        }
        candidate[at] = city;
    }
    return candidates;
}

/* A lower bound on the way from the end of the path through all other cities back to its start: every city on it is entered
 * and left by an edge at least as long as its two shortest ones; each edge has two ends. A minimum spanning tree would
 * prune better, and leave too little to do. */
static int least_completion(const struct cities *cities, const int *path, int depth) {
    int left[MAX_CITIES];
    int count = nearest_unvisited(cities, path, depth, left);
    if (count == 0) {
        return cities->distance[path[depth - 1]][path[0]];
    }
    int twice = cities->shortest[path[depth - 1]][0] + cities->shortest[path[0]][0];
    for (int i = 0; i < count; i++) {
        twice += cities->shortest[left[i]][0] + cities->shortest[left[i]][1];
    }
    return (twice + 1) / 2;
}

/* A first tour: always on to the nearest city. Returns its length. */
static int greedy_tour(const struct cities *cities, int *city) {
    int candidate[MAX_CITIES];
    city[0] = 0;
    for (int depth = 1; depth < cities->count; depth++) {
        nearest_unvisited(cities, city, depth, candidate);
        city[depth] = candidate[0];
    }
    return path_length(cities, city, cities->count) + cities->distance[city[cities->count - 1]][0];
}

static int is_tour(const struct cities *cities, const int *city) {
    unsigned long long visited = 0;
    for (int i = 0; i < cities->count; i++) {
        if (city[i] < 0 || city[i] >= cities->count) {
            return 0;
        }
        visited |= 1ull << city[i];
    }
    return visited == (1ull << cities->count) - 1;
}

#endif
