#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern char **environ;
int depth(int n) { return n == 0 ? 0 : 1 + depth(n - 1); }
int main(int argc, char **argv) {
  FILE *out = argc > 1 ? fopen(argv[1], "w") : stderr;
  for (int i = 2; i < argc; i++) fprintf(out, "arg=%s\n", argv[i]);
  for (char **e = environ; *e; e++) fprintf(out, "env=%s\n", *e);
  fclose(out);
  return depth(30);
}
