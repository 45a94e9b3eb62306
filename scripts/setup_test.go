// Package scripts holds the tests of the shell scripts beside it.
package scripts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tools are the commands that setup.sh itself needs; every Debian has them.
var tools = []string{
	"awk", "bash", "cat", "chmod", "dirname", "env", "head", "mktemp", "rm", "sort", "tail", "tee",
	"tr",
}

// installed are the commands that setup.sh looks for, with the packages that its apt-get would install them from.
var installed = map[string]string{
	"cc": "gcc", "gdb": "gdb", "gfortran": "gfortran", "node": "nodejs", "npm": "npm",
	"mpiexec.mpich": "mpich", "mpicc.mpich": "libmpich-dev", "mpifort.mpich": "libmpich-dev",
	"mpiexec.openmpi": "openmpi-bin", "mpicc.openmpi": "libopenmpi-dev", "mpifort.openmpi": "libopenmpi-dev",
	"python3": "python3-mpi4py",
}

// machine is a directory that serves as the whole PATH: what a machine has. Its fake apt-get writes its arguments to
// apt.log.
type machine struct {
	t   *testing.T
	dir string
}

func newMachine(t *testing.T, uid string) machine {
	t.Helper()
	for _, dir := range []string{
		"/usr/lib64/mpich", "/usr/lib/mpich", "/opt/mpich", "/usr/lib64/openmpi",
		"/opt/openmpi",
	} {
		if _, err := os.Stat(filepath.Join(dir, "bin", "mpicc")); err == nil {
			t.Skipf("an MPI in %s cannot be hidden from setup.sh", dir)
		}
	}
	m := machine{t, t.TempDir()}
	for _, tool := range tools {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(m.dir, tool)); err != nil {
			t.Fatal(err)
		}
	}
	m.command("id", "echo "+uid)
	m.command("go", "echo go version go1.99 linux/amd64")
	return m
}

// command puts a shell script on the machine.
func (m machine) command(name, script string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte("#!"+m.dir+"/bash\n"+script+"\n"), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// has puts everything that setup.sh looks for on the machine, except what is named.
func (m machine) hasAllBut(names ...string) {
	m.t.Helper()
	for name := range installed {
		m.command(name, "echo 9.9.9")
	}
	for _, name := range names {
		if err := os.Remove(filepath.Join(m.dir, name)); err != nil {
			m.t.Fatal(err)
		}
	}
}

// apt gives the machine an apt-get that installs the named commands, or whatever else `script` does.
func (m machine) apt(script string) {
	m.t.Helper()
	m.command("apt-get", `echo "$@" >>`+m.dir+"/apt.log\ncase \" $* \" in *' install '*)\n"+script+"\n;; esac")
}

// aptCalls are the arguments of each call of apt-get.
func (m machine) aptCalls() []string {
	m.t.Helper()
	content, err := os.ReadFile(filepath.Join(m.dir, "apt.log"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		m.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

func (m machine) setup(parts ...string) (output string, status int) {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), filepath.Join(m.dir, "bash"), append([]string{"setup.sh"}, parts...)...)
	cmd.Env = []string{"PATH=" + m.dir, "TMPDIR=" + m.dir}
	content, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatalf("setup.sh: %v\n%s", err, content)
	}
	return string(content), cmd.ProcessState.ExitCode()
}

// expect fails unless setup.sh ended with the status and its output has all the parts.
func (m machine) expect(status int, parts ...string) func(output string, got int) {
	return func(output string, got int) {
		m.t.Helper()
		if got != status {
			m.t.Errorf("setup.sh ended with %d, not %d:\n%s", got, status, output)
		}
		for _, part := range parts {
			if !strings.Contains(output, part) {
				m.t.Errorf("no %q in\n%s", part, output)
			}
		}
	}
}

func TestSetupWithNothingMissing(t *testing.T) {
	m := newMachine(t, "0")
	m.hasAllBut()
	m.apt("exit 1")
	m.expect(0)(m.setup("go", "mpi", "node"))
	if calls := m.aptCalls(); len(calls) != 0 {
		t.Errorf("nothing was missing, and apt-get was called: %q", calls)
	}
}

func TestSetupInstallsInOneTransaction(t *testing.T) {
	m := newMachine(t, "0")
	m.hasAllBut("mpiexec.mpich", "mpicc.openmpi", "npm")
	m.apt(`echo "0 upgraded, 3 newly installed, 0 to remove and 5 not upgraded."
	for name in mpiexec.mpich mpicc.openmpi npm; do
		printf '#!` + m.dir + `/bash\necho 9.9.9\n' >` + m.dir + `/$name
		chmod +x ` + m.dir + `/$name
	done`)
	m.expect(0, "setup: missing: mpich openmpi-bin libopenmpi-dev npm", "apt installs 3 packages",
		"setup: done")(m.setup("go", "mpi", "node"))
	installs := 0
	for _, call := range m.aptCalls() {
		if strings.Contains(call, " install ") {
			installs++
			if !strings.Contains(call, "-y") || !strings.HasSuffix(call, " mpich openmpi-bin libopenmpi-dev npm") {
				t.Errorf("apt-get %s", call)
			}
		}
	}
	if installs != 1 {
		t.Errorf("%d calls of apt-get install, not one: %q", installs, m.aptCalls())
	}
}

func TestSetupWithoutRootNamesWhatToInstall(t *testing.T) {
	m := newMachine(t, "1000")
	m.hasAllBut("gdb", "mpifort.mpich")
	m.apt("exit 1")
	m.expect(1, "needs root", "- gdb (on Debian and Ubuntu: gdb)", "- MPICH's mpifort",
		"sudo apt-get install --no-install-recommends gdb mpich libmpich-dev")(m.setup("mpi"))
	m.command("sudo", "exit 1") // it asks for a password
	m.expect(1, "needs root")(m.setup("mpi"))
	if calls := m.aptCalls(); len(calls) != 0 {
		t.Errorf("apt-get was called without root: %q", calls)
	}
}

func TestSetupThroughSudo(t *testing.T) {
	m := newMachine(t, "1000")
	m.hasAllBut("gdb")
	m.command("sudo", `[ "$1" = -n ] && shift && { [ "$1" = true ] || exec "$@"; }`)
	m.apt(`printf '#!` + m.dir + `/bash\n' >` + m.dir + `/gdb; chmod +x ` + m.dir + `/gdb`)
	m.expect(0, "setup: done")(m.setup("mpi"))
}

func TestSetupElsewhere(t *testing.T) {
	m := newMachine(t, "0")
	m.hasAllBut("mpicc.mpich")
	m.expect(1, "neither Debian nor", "- MPICH's mpicc with its headers")(m.setup("mpi"))
}

func TestSetupWhenAptFails(t *testing.T) {
	m := newMachine(t, "0")
	m.hasAllBut("gdb")
	m.apt("echo 'E: Unable to locate package gdb' >&2; exit 100")
	m.expect(1, "apt-get install failed", "E: Unable to locate package gdb")(m.setup("mpi"))
	m.apt("exit 0") // it says that it did
	m.expect(1, "still not there", "- gdb")(m.setup("mpi"))
}

func TestSetupChecksGo(t *testing.T) {
	m := newMachine(t, "0")
	m.command("go", "echo 'go: go.mod requires go >= 1.26.0 (running go 1.20)' >&2; exit 1")
	m.expect(1, "this Go cannot build Cohort", "running go 1.20", "Install Go 1.26")(m.setup("go"))
	if err := os.Remove(filepath.Join(m.dir, "go")); err != nil {
		t.Fatal(err)
	}
	m.expect(1, "Go is not installed")(m.setup("go"))
}

func TestSetupChecksNpm(t *testing.T) {
	m := newMachine(t, "0")
	m.hasAllBut()
	m.command("npm", "echo 6.14.4")
	m.expect(1, "npm 6.14.4 is too old")(m.setup("node"))
}

func TestSetupRefusesUnknownParts(t *testing.T) {
	m := newMachine(t, "0")
	m.expect(2, "no part called nonsense")(m.setup("nonsense"))
}
