package pmpi_test

import (
	"debug/dwarf"
	"debug/elf"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/pmpi/internal/abigen"
	"github.com/cohort-debugger/cohort/pmpi/internal/wrapgen"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace"
)

// TestLayoutIsTheCompilers compares every struct and every number of an enum in pmpi/abi with the DWARF that the
// compiler makes of cohort_abi.h and the generated operations. What there is in pmpi/abi is taken from its source, so
// that nothing is left out.
func TestLayoutIsTheCompilers(t *testing.T) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "abi/layout.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Sizes: types.SizesFor("gc", runtime.GOARCH)}
	layout, err := config.Check("abi", files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	inC, values := debugInfo(t)
	structs := map[string]*dwarf.StructType{}
	for name, c := range inC {
		structs[abigen.GoName(name)] = c
	}
	numbers := map[string]int64{}
	for name, value := range values {
		if strings.HasPrefix(name, "COHORT_") && !strings.HasPrefix(name, "COHORT_OP_") {
			numbers[abigen.GoName(name)] = value
		}
	}
	compared := 0
	for _, name := range layout.Scope().Names() {
		switch object := layout.Scope().Lookup(name).(type) {
		case *types.TypeName:
			mirror, is := object.Type().Underlying().(*types.Struct)
			if !is {
				continue
			}
			c := structs[name]
			if c == nil {
				t.Errorf("the compiler's DWARF has no struct %s", name)
				continue
			}
			compareStruct(t, c, mirror, config.Sizes)
			compared++
		case *types.Const:
			if _, isNamed := object.Type().(*types.Named); !isNamed {
				continue
			}
			want, _ := constant.Int64Val(object.Val())
			if got, known := numbers[name]; !known || got != want {
				t.Errorf("%s is %d in Go and %d (%v) in C", name, want, got, known)
			}
		}
	}
	if compared < 30 {
		t.Errorf("only %d structs in pmpi/abi", compared)
	}
	ops := 0
	for name, value := range values {
		call, isOp := strings.CutPrefix(name, "COHORT_OP_")
		if !isOp || call == "NONE" || call == "OTHER" {
			continue
		}
		ops++
		if got, want := trace.CallName(uint32(value)), "MPI_"+call[:1]+strings.ToLower(call[1:]); got != want {
			t.Errorf("op %d is %s in Go and %s in C", value, got, want)
		}
	}
	if ops < 90 {
		t.Errorf("only %d operations in the compiler's DWARF", ops)
	}
}

func debugInfo(t *testing.T) (map[string]*dwarf.StructType, map[string]int64) {
	t.Helper()
	object := filepath.Join(t.TempDir(), "layout.o")
	compiler := exec.Command("gcc", "-std=gnu11", "-g", "-fno-eliminate-unused-debug-types", "-Iinclude", "-x", "c",
		"-c",
		"-o", object, "-")
	compiler.Stdin = strings.NewReader("#include \"cohort_abi.h\"\n" + wrapgen.Files()["ops.h"])
	if out, err := compiler.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", compiler, err, out)
	}
	file, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data, err := file.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	structs, values := map[string]*dwarf.StructType{}, map[string]int64{}
	for r := data.Reader(); ; {
		entry, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if entry == nil {
			return structs, values
		}
		if entry.Tag != dwarf.TagStructType && entry.Tag != dwarf.TagEnumerationType {
			continue
		}
		typ, err := data.Type(entry.Offset)
		if err != nil {
			t.Fatal(err)
		}
		switch typ := typ.(type) {
		case *dwarf.StructType:
			if strings.HasPrefix(typ.StructName, "cohort_") && !typ.Incomplete {
				structs[typ.StructName] = typ
			}
		case *dwarf.EnumType:
			for _, v := range typ.Val {
				values[v.Name] = v.Val
			}
		}
	}
}

func compareStruct(t *testing.T, c *dwarf.StructType, mirror *types.Struct, sizes types.Sizes) {
	t.Helper()
	if size := sizes.Sizeof(mirror); c.ByteSize != size {
		t.Errorf("struct %s has %d bytes in C and %d in Go", c.StructName, c.ByteSize, size)
	}
	fields := make([]*types.Var, mirror.NumFields())
	for i := range fields {
		fields[i] = mirror.Field(i)
	}
	inC := slices.DeleteFunc(slices.Clone(c.Field), func(f *dwarf.StructField) bool {
		array, is := f.Type.(*dwarf.ArrayType)
		return is && array.Count <= 0 // of unknown length, at the end
	})
	if len(inC) != len(fields) {
		t.Fatalf("struct %s has %d fields in C and %d in Go", c.StructName, len(inC), len(fields))
	}
	offsets := sizes.Offsetsof(fields)
	for i, f := range inC {
		size := sizes.Sizeof(fields[i].Type())
		if name := fields[i].Name(); name != abigen.GoName(f.Name) && name != "_" && !fields[i].Embedded() {
			t.Errorf("struct %s: field %s is %s in Go", c.StructName, f.Name, name)
		}
		if offsets[i] != f.ByteOffset || size != f.Type.Size() {
			t.Errorf("struct %s: field %s is at %d with %d bytes in C, at %d with %d in Go",
				c.StructName, f.Name, f.ByteOffset, f.Type.Size(), offsets[i], size)
		}
	}
}

// TestLibraryShowsOnlyWhatItMust checks that the library used has no debug information, and exports MPI's names and
// ours alone.
func TestLibraryShowsOnlyWhatItMust(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		file, err := elf.Open(library(t, mpi))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if file.Section(".debug_info") != nil {
			t.Error("the library has debug information: a user's step would enter it")
		}
		symbols, err := file.DynamicSymbols()
		if err != nil {
			t.Fatal(err)
		}
		ours := map[string]bool{abi.SymbolControl: false, abi.SymbolRegistry: false, abi.SymbolStop: false}
		for _, stoodInFor := range []string{
			"pthread_create", "clock_gettime", "timespec_get", "gettimeofday", "time", "clock", "getrusage", "times",
			"getrandom", "getentropy",
			"arc4random", "arc4random_uniform", "arc4random_buf", "open", "open64", "fopen", "fopen64",
			"_ZNSt13random_device9_M_getvalEv", "dlopen", "dlmopen", "dlsym",
		} {
			ours[stoodInFor] = false
		}
		for _, s := range symbols {
			if s.Section == elf.SHN_UNDEF || strings.HasPrefix(strings.ToUpper(s.Name), "MPI_") ||
				strings.HasPrefix(strings.ToUpper(s.Name), "MPIX_") {
				continue
			}
			if _, ok := ours[s.Name]; !ok {
				t.Errorf("the library exports %s", s.Name)
			}
			ours[s.Name] = true
		}
		for name, found := range ours {
			if !found {
				t.Errorf("the library does not export %s", name)
			}
		}
	})
}
