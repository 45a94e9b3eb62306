#include <stddef.h>
static int deref(int *p) { return *p; }
int main(void) { return deref((int *)16); }
