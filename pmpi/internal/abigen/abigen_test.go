package abigen_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi/internal/abigen"
)

func TestLayoutIsUpToDate(t *testing.T) {
	header, err := os.ReadFile("../../include/cohort_abi.h")
	if err != nil {
		t.Fatal(err)
	}
	want, err := abigen.Generate(header)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("../../abi/layout.go"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("pmpi/abi/layout.go is not what the header says (%v): run go generate ./pmpi", err)
	}
}

const narrow = `/* About the file. */
#ifndef H
#define H
#include <stdint.h>
#define COHORT_LIMIT 4u /* entries */
#define COHORT_NEVER UINT64_MAX

/* ---------------------------- a heading */

/* What it does. */
enum cohort_mode {
  COHORT_MODE_OFF = 0, /* nothing */
  /* everything, and that takes more than a few words to say, so that it does not stand behind the number */
  COHORT_MODE_ALL = 1u << 3
};

/* One of them. */
struct cohort_entry {
  uint64_t event; /* its number */
};

struct cohort_table { /* of them */
  struct cohort_entry o;
  /* written first */
  uint32_t mode;  /* enum cohort_mode */
  uint32_t pad0;
  int32_t source, tag;
  char name[16];
  struct cohort_entry entries[COHORT_LIMIT];
  /* uint64_t more[n] */
};
#endif
`

func TestGenerate(t *testing.T) {
	got, err := abigen.Generate([]byte(narrow))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\tLimit        = 4 // entries\n", "\tNever uint64 = 1<<64 - 1\n",
		"// Mode is enum cohort_mode. What it does.\ntype Mode uint32\n",
		"\tModeOff Mode = 0 // nothing\n\t// everything, and", "\tModeAll Mode = 1 << 3\n",
		"// Entry is struct cohort_entry. One of them.\ntype Entry struct {\n\tEvent uint64 // its number\n}\n",
		"// Table is struct cohort_table. of them\ntype Table struct {\n\tEntry\n",
		"\n\n\t// written first\n\n\tMode        Mode // enum cohort_mode\n\t_           uint32\n\tSource, Tag int32\n",
		"[16]byte\n", "\tEntries     [Limit]Entry\n}\n", "type Struct interface {\n\tEntry |\n\t\tTable\n",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the output has no %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", got)
	}
}

func TestRefusesWhatItDoesNotKnow(t *testing.T) {
	for text, want := range map[string]string{
		"int f(void);":                              `line 1: expected #define, enum or struct, found "int"`,
		"\nenum cohort_x { COHORT_A };":             `line 2: expected "=", found "}"`,
		"struct cohort_x { uint32_t a:1; };":        `line 1: expected ";", found ":"`,
		"struct cohort_x { uint32_t *a; };":         `"*" is no name of a member`,
		"struct cohort_x {\n uint32_t a[2], b; };":  `line 2: expected ";", found ","`,
		"struct cohort_x { uint32_t a;":             "ends within a declaration",
		"/* and so on":                              "line 1: comment not terminated",
		"struct cohort_x { void *p; };":             "void is neither",
		"struct cohort_x { uint32_t a; } __packed;": `expected ";", found "__packed"`,
	} {
		if _, err := abigen.Generate([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", text, err, want)
		}
	}
}
