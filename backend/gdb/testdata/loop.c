/* Runs for ever, in work(), which main calls with a growing number. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct point { int x; double y; char name[8]; int tags[3]; struct point *next; };
static int big[200000];
int calls;

static int work(int i) {
  int twice = 2 * i;
  calls++;            /* line 13: breakpoint */
  return twice + 1;
}

int bump(int by) { calls += by; return calls; }
int forever(const char *fifo) { FILE *f = fopen(fifo, "w"); fputc(1, f); fclose(f); for (;;) calls++; return 0; }

int main(int argc, char **argv) {
  struct point p = {1, 2.5, "abc", {7, 8, 9}, NULL};
  p.next = &p;
  for (int k = 0; k < 200000; k++) big[k] = 3 * k;
  int shadow = 1;
  {
    int shadow = 2;
    p.x += shadow - 1; /* line 27 */
  }
  int sum = 0;

  for (int i = 0;; i++) {
    sum += work(i);   /* line 32 */
    usleep(200);
  }
  return p.x + shadow;
}
