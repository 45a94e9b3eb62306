package importrules

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

const module = "github.com/cohort-debugger/cohort"

// goPackage holds the imports of one package, whatever their build tags.
type goPackage struct {
	dir         string // relative to the root; also its path in the module
	imports     map[string]bool
	testImports map[string]bool
}

// readPackages parses the imports of all Go files. It reads the files itself, instead of asking `go list`, so that the
// cache of test results knows what the result depends on.
func readPackages(t *testing.T) []goPackage {
	t.Helper()
	root := mpitest.Root(t)
	packages := map[string]*goPackage{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" ||
				name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		p := packages[dir]
		if p == nil {
			p = &goPackage{filepath.ToSlash(dir), map[string]bool{}, map[string]bool{}}
			packages[dir] = p
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("%s: import %s: %w", path, spec.Path.Value, err)
			}
			if strings.HasSuffix(name, "_test.go") {
				p.testImports[imported] = true
			} else {
				p.imports[imported] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read the imports of %s: %v", root, err)
	}
	all := make([]goPackage, 0, len(packages))
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		all = append(all, *packages[dir])
	}
	return all
}

// within says whether a package is in a folder or below it.
func within(pkg, folder string) bool {
	return pkg == folder || strings.HasPrefix(pkg, folder+"/")
}

func withinAny(pkg string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return within(pkg, folder) })
}

// ruleOf is the row of the longest folder that holds the package.
func ruleOf(pkg string) (found rule, ok bool) {
	for _, r := range rules {
		if within(pkg, r.folder) && (!ok || len(r.folder) > len(found.folder)) {
			found, ok = r, true
		}
	}
	return found, ok
}

// relative is a package's path within the module, or "" if it is not of the module.
func relative(path string) string {
	if path == module {
		return "."
	}
	relative, found := strings.CutPrefix(path, module+"/")
	if !found {
		return ""
	}
	return relative
}

// check returns what is wrong with one import, or "".
func check(importer, imported string, inTest bool) string {
	r, ok := ruleOf(importer)
	if !ok {
		return fmt.Sprintf("no rule covers %s: add a row to internal/importrules/rules_test.go, with its reason",
			importer)
	}
	fromTest := inTest || withinAny(importer, testHelpers)
	target := relative(imported)
	if target == "" {
		for _, l := range libraries {
			if !fromTest && strings.HasPrefix(imported, l.prefix) && !within(importer, l.folder) {
				return fmt.Sprintf("%s imports %s, but only %s may: %s", importer, imported, l.folder, l.reason)
			}
		}
		return ""
	}
	switch {
	case withinAny(target, testHelpers):
		if !fromTest {
			return fmt.Sprintf("%s imports the test helper %s outside its tests", importer, target)
		}
		return ""
	case slices.Contains(leaves, target), within(target, "internal"), within(target, r.folder),
		slices.Contains(r.may, everything), withinAny(target, r.may),
		inTest && (withinAny(target, r.tests) || target == importer):
		return ""
	}
	may := "nothing of ours but " + strings.Join(leaves, ", ") + " and internal"
	if len(r.may) > 0 {
		may = "only " + strings.Join(r.may, ", ") + ", backend and internal"
	}
	return fmt.Sprintf("%s imports %s. Rule: %s may import %s, because: %s", importer, target, r.folder, may, r.reason)
}

func TestImportsRunOneWay(t *testing.T) {
	packages := readPackages(t)
	if len(packages) < 3 {
		t.Fatalf("found only %d packages", len(packages))
	}
	for _, p := range packages {
		if _, ok := ruleOf(p.dir); !ok {
			t.Error(check(p.dir, "fmt", false))
			continue
		}
		for _, imported := range slices.Sorted(maps.Keys(p.imports)) {
			if problem := check(p.dir, imported, false); problem != "" {
				t.Error(problem)
			}
		}
		for _, imported := range slices.Sorted(maps.Keys(p.testImports)) {
			if problem := check(p.dir, imported, true); problem != "" {
				t.Errorf("tests: %s", problem)
			}
		}
	}
}

// TestCheck shows that the check above finds what it is for.
func TestCheck(t *testing.T) {
	ours := func(pkg string) string { return module + "/" + pkg }
	for _, c := range []struct {
		importer, imported string
		inTest             bool
		problem            string // a part of it; "" for none
	}{
		{"cmd/cohort", ours("launch"), false, ""},
		{"cmd/cohort", "github.com/spf13/cobra", false, ""},
		{"tui", ours("dap/protocol"), false, ""},
		{"tui", ours("dap"), false, "a DAP client only"},
		{"tui", ours("job"), false, "tui may import only dap/protocol, dap/client, backend and internal"},
		{"tui/sub", ours("job"), false, "a DAP client only"},
		{"dap", ours("job"), false, ""},
		{"dap", ours("dap/protocol"), false, ""},
		{"dap", ours("launch"), false, "neither launchers nor"},
		{"dap", ours("gdbmi"), false, "neither launchers nor"},
		{"dap/protocol", ours("dap"), false, "depends on neither"},
		{"job", ours("backend"), false, ""},
		{"job", ours("launch"), false, "by their interface only"},
		{"launch", ours("job"), false, "not it to the job"},
		{"launch/agent", ours("gdbmi"), false, ""},
		{"launch/agent", ours("internal/sourceline"), false, ""},
		{"launch/agent", ours("backend/gdb"), false, ""},
		{"job", ours("backend/gdb"), false, "by their interface only"},
		{"backend/gdb", ours("gdbmi"), false, ""},
		{"launch/agent", ours("pmpi/abi"), false, ""},
		{"backend", ours("job"), false, "imports nothing of ours"},
		{"gdbmi", ours("trace"), false, "gdbmi may import nothing of ours but backend"},
		{"causal", ours("trace"), false, ""},
		{"trace", ours("causal"), false, "without anything else"},
		{"causal", "github.com/spf13/cobra", false, "only cmd may"},
		{"dap", "charm.land/bubbletea/v2", false, "only tui may"},
		{"dap", "charm.land/bubbletea/v2", true, ""},
		{"internal/sourceline", ours("launch"), false, "helpers of all packages depend on none"},
		{"launch", ours("testkit/mpitest"), true, ""},
		{"launch", ours("testkit/mpitest"), false, "test helper"},
		{"gdbmi/gdbmitest", ours("gdbmi"), false, ""},
		{"jobs", ours("job"), false, "no rule covers jobs"}, // not below job/, though it begins so
		{"newfolder", "fmt", false, "no rule covers newfolder"},
	} {
		problem := check(c.importer, c.imported, c.inTest)
		if (problem == "") != (c.problem == "") || !strings.Contains(problem, c.problem) {
			t.Errorf("%s imports %s (test: %v): %q, wanted %q in it", c.importer, c.imported, c.inTest, problem,
				c.problem)
		}
	}
}

// TestRulesHaveReasons keeps the table honest.
func TestRulesHaveReasons(t *testing.T) {
	packages := readPackages(t)
	exists := func(folder string) bool {
		return folder == everything || slices.ContainsFunc(packages,
			func(p goPackage) bool { return within(p.dir, folder) })
	}
	seen := map[string]bool{}
	for _, r := range rules {
		for _, folder := range slices.Concat([]string{r.folder}, r.may, r.tests) {
			if !exists(folder) {
				t.Errorf("the rule of %s names %s, which has no package", r.folder, folder)
			}
		}
		if r.reason == "" {
			t.Errorf("the rule of %s has no reason", r.folder)
		}
		if seen[r.folder] {
			t.Errorf("%s has two rules", r.folder)
		}
		seen[r.folder] = true
		for _, folder := range slices.Concat(r.may, r.tests) {
			if _, ok := ruleOf(folder); !ok && folder != everything {
				t.Errorf("%s may import %s, which no rule covers", r.folder, folder)
			}
		}
	}
}

// TestMapHasEveryFolder looks for the folders of the table in the code map: by their path, or, below a folder that is
// there, by their name.
func TestMapHasEveryFolder(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(mpitest.Root(t), "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, codeMap, _ := strings.Cut(string(text), "\n## Code map\n")
	codeMap, _, _ = strings.Cut(codeMap, "\n## ")
	for _, r := range rules {
		if !strings.Contains(codeMap, "`"+r.folder+"`") && !strings.Contains(codeMap, "`"+path.Base(r.folder)+"`") &&
			!withinAny(r.folder, testHelpers) {
			t.Errorf("the code map of ARCHITECTURE.md has no row with `%s`", r.folder)
		}
	}
}
