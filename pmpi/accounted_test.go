package pmpi_test

import (
	"debug/elf"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// untouched are the functions of MPI that need no wrapper: those that decide nothing which another run would decide
// differently, and those that cannot be called without another that is named as not covered.
var untouched = regexp.MustCompile(`^MPIX?_(` + strings.Join([]string{
	// conversions, constants, and what is known without asking other ranks
	`\w+_[cf]2[cf](08)?|F_?\w*STATUS\w*|F08_\w+|\w*WEIGHT\w*|Initialized|Finalized|Is_thread_main|Query_thread|Get_version|Get_library_version|Get_processor_name`,
	`Aint_\w+|Get_address|Address|Alloc_mem|Free_mem|Pcontrol|Query_\w+_support|GPU_query_support|Dims_create`,
	`(Cart|Graph|Dist_graph)_\w+|Cartdim_get|Graphdims_get|Topo_test`,
	`Get_count\w*|Get_elements\w*|Status_\w+`,
	`Comm_(rank|size|remote_size|remote_group|group|compare|test_inter|get_\w+|set_info|set_errhandler|set_attr|delete_attr|create_keyval|free_keyval|create_errhandler|call_errhandler)`,
	`Group_\w+|Info_\w+|Op_\w+|Attr_\w+|Keyval_\w+|Errhandler_\w+|Error_\w+|Add_error_\w+|Delete_error_\w+`,
	`Type_(get|set|delete|create_keyval|free_keyval|match|size|extent|lb|ub|true)\w*|Type_(struct|hvector|hindexed)`,
	`Pack\w*|Unpack\w*|Reduce_local\w*|Buffer_(at|de)tach\w*|Register_datarep\w*`,
	// for tools
	`T_(category|cvar|enum|event|finalize|init_thread|source|PVAR)\w*|T_pvar_(get|handle|reset|session|start|stop|write)\w*`,
	// the program's own act
	`Grequest_complete|Grequest_class_create`,
	// after MPI_File_open, MPI_Session_init, MPI_Psend_init, MPI_Win_create and its kin; MPI_Open_port before
	// MPI_Comm_accept
	`File_\w+|Session_\w+|Pready\w*|Parrived|Win_\w+|(Raccumulate|Rget|Rput|Rget_accumulate|Accumulate|Get|Put|Get_accumulate)(_c)?`,
	`Open_port|Close_port|Publish_name|Unpublish_name`,
}, "|") + `)$`)

// TestEveryFunctionIsAccountedFor: what an MPI exports is wrapped, or needs no wrapper. A function that is neither
// would go unseen.
func TestEveryFunctionIsAccountedFor(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		wrapped := exported(t, library(t, mpi))
		out, err := exec.Command("ldd", mpi.Build(t, "hello.c")).Output()
		if err != nil {
			t.Fatal(err)
		}
		path := regexp.MustCompile(`libmpi(?:ch)?\.so\S* => (\S+)`).FindStringSubmatch(string(out))
		if path == nil {
			t.Fatalf("no MPI library in the output of ldd:\n%s", out)
		}
		n := 0
		for name := range exported(t, path[1]) {
			n++
			if !wrapped[name] && !untouched.MatchString(name) {
				t.Errorf("%s is neither wrapped nor known to need no wrapper", name)
			}
		}
		if n < 300 {
			t.Errorf("only %d functions of MPI in %s", n, path[1])
		}
	})
}

// exported are the functions of MPI that a library has.
func exported(t *testing.T, path string) map[string]bool {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, s := range symbols {
		name, _, _ := strings.Cut(s.Name, "@")
		upper := strings.ToUpper(name) == name // Fortran's
		if s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC &&
			regexp.MustCompile(`^MPIX?_[A-Z]`).MatchString(name) && !upper {
			all[name] = true
		}
	}
	return all
}
