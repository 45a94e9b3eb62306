package corefile_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/internal/corefile"
)

// build compiles testdata/known.c.
func build(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "known")
	if out, err := exec.CommandContext(t.Context(), "cc", "-g", "-O0", "-pthread",
		"-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567", "-o", program,
		"testdata/known.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// taken has gdb take a core of the program at its function here, and returns the core's path and the address of the
// known bytes.
func taken(t testing.TB, program string, environment ...string) (core string, addr uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	core = filepath.Join(t.TempDir(), "core of it")
	cmd := exec.CommandContext(ctx, "gdb", "-nx", "-q", "-batch", "-ex", "set debuginfod enabled off", "-ex",
		"set startup-with-shell off", "-ex", "break here",
		"-ex", "run", "-ex", "generate-core-file "+core, "--args", program, "an", "argument")
	cmd.Env = append(os.Environ(), environment...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return core, address(t, string(out))
}

func address(t testing.TB, output string) uint64 {
	t.Helper()
	for line := range strings.Lines(output) {
		if addr, err := strconv.ParseUint(strings.TrimSpace(line), 0, 64); err == nil && strings.HasPrefix(line, "0x") {
			return addr
		}
	}
	t.Fatalf("no address in %s", output)
	return 0
}

// checkKnown compares what the core says with what is known of known.c.
func checkKnown(t *testing.T, core, program string, addr uint64) *corefile.File {
	t.Helper()
	f, err := corefile.Open(core)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	if f.Missing != 0 || len(f.Threads) != 2 || f.Process.Pid <= 0 || f.Process.Name != "known" {
		t.Errorf("%d missing, threads %v, process %+v", f.Missing, f.Threads, f.Process)
	}
	if m, ok := f.Executable(); !ok || m.Path != program {
		t.Errorf("its program is %+v, %v", m, ok)
	} else if id := f.BuildID(m.Start); id != "0123456789abcdef0123456789abcdef01234567" {
		t.Errorf("the build-id is %q", id)
	}
	got := make([]byte, 1<<16)
	n, err := f.ReadMemory(addr, got)
	if n != len(got) || err != nil || !bytes.HasPrefix(got, []byte("known text\x00")) {
		t.Errorf("%d bytes, %v: %.20q", n, err, got)
	}
	for i := 16; i < len(got); i++ {
		if got[i] != byte(i*7) {
			t.Fatalf("byte %d is %d", i, got[i])
		}
	}
	if at, ok := f.Find(addr-4096, addr+8192, []byte("known text")); !ok || at != addr&^7 && at != addr {
		t.Errorf("found at %#x, %v; it is at %#x", at, ok, addr)
	}
	if n, err := f.ReadMemory(16, got[:8]); n != 0 || err == nil {
		t.Errorf("%d bytes at the null pointer, %v", n, err)
	}
	if env := f.Environment(); !slices.Contains(env, "COHORT_TEST=of corefile") || !slices.Contains(env, "EMPTY=") {
		t.Errorf("the environment is %q", env)
	}
	return f
}

func TestTakenByDebugger(t *testing.T) {
	if testing.Short() {
		t.Skip("runs gdb")
	}
	program := build(t)
	core, addr := taken(t, program, "COHORT_TEST=of corefile", "EMPTY=")
	f := checkKnown(t, core, program, addr)
	if f.Process.Crashed() {
		t.Errorf("the process continued, and has %+v", f.Process)
	}
	t.Run("truncated", func(t *testing.T) { truncated(t, core, addr, false) }) // gdb writes the notes last
}

// TestLeftByCrash needs a kernel that writes cores beside the program; where they go elsewhere, it cannot look there.
func TestLeftByCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles and crashes a program")
	}
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || bytes.ContainsAny(pattern, "|/%") {
		t.Skipf("core files do not stay where they are made: %q, %v", pattern, err)
	}
	program, dir := build(t), t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -c unlimited && exec "$0" die`, program)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "COHORT_TEST=of corefile", "EMPTY=")
	out, err := cmd.Output()
	if err == nil {
		t.Fatal("it has not crashed")
	}
	cores, err := filepath.Glob(filepath.Join(dir, "core*"))
	if err != nil || len(cores) != 1 {
		t.Skipf("there are the core files %v, %v: the limit on them may be hard", cores, err)
	}
	f := checkKnown(t, cores[0], program, address(t, string(out)))
	t.Run("truncated", func(t *testing.T) { truncated(t, cores[0], address(t, string(out)), true) })
	if p := f.Process; !p.Crashed() || p.Signal != 11 || !p.HasInfo || p.Code != 1 || p.Address != 16 ||
		p.Args != program+" die" && len(p.Args) < 79 {
		t.Errorf("%+v", p)
	}
}

// truncated cuts a core off at many places: it is refused, or what is left of it is right and the rest is missing.
func truncated(t *testing.T, core string, addr uint64, opens bool) {
	whole, err := os.ReadFile(core)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cut")
	refused, opened := 0, 0
	want := []byte("known text")
	for n := 0; n < len(whole); n += 1 + n/7 {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := corefile.Open(path)
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), path) {
				t.Errorf("%d bytes: %v", n, err)
			}
			continue
		}
		opened++
		if f.Missing == 0 && n < len(whole)/2 {
			t.Errorf("%d bytes of %d, and nothing is missing", n, len(whole))
		}
		got := make([]byte, len(want))
		if k, _ := f.ReadMemory(addr, got); !bytes.Equal(got[:k], want[:k]) {
			t.Errorf("%d bytes: it has %q", n, got)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if refused == 0 || opens != (opened > 0) {
		t.Errorf("%d were refused, %d opened", refused, opened)
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	header := "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x04\x00\x3e\x00"
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "does not exist",
		dir:                        "a directory",
		"/dev/null":                "a device",
		self:                       "a program or a library, not a core file",
		write("empty", ""):         "is empty",
		write("text", "hello\n"):   "is not a core file",
		write("zst", "\x28\xb5\x2f\xfd and so on"):                        "zstd -d",
		write("gz", "\x1f\x8b"):                                           "gunzip",
		write("crash", "ProblemType: Crash\n"+strings.Repeat(" ", 64)):    "apport-unpack",
		write("narrow", "\x7fELF\x01\x01\x01"+strings.Repeat("\x00", 80)): "64-bit",
		write("bare", header+strings.Repeat("\x00", 80)):                  "damaged",
		write("short", header):                                            "not a core file",
	} {
		f, err := corefile.Open(path)
		if err == nil {
			f.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.HasSuffix(err.Error(), ".") {
			t.Errorf("%s: %v; want %q", path, err, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "core")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := corefile.Open(path)
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("%v", err)
			}
			return
		}
		defer c.Close()
		c.Environment()
		if m, ok := c.Executable(); ok {
			c.BuildID(m.Start)
			c.Find(m.Start, m.End, []byte("12345678"))
		}
		buf := make([]byte, 100)
		for _, m := range c.Mapped {
			if n, err := c.ReadMemory(m.Start, buf); n < 0 || n > len(buf) || n < len(buf) && err == nil {
				t.Errorf("%d, %v", n, err)
			}
		}
	})
}

// seeds are small cores: whole, and with things that are wrong.
func seeds() [][]byte {
	small := smallCore()
	out := [][]byte{small}
	for _, at := range []int{16, 40, 54, 56, 64, 72, 96, 100, 120, 130} {
		bad := bytes.Clone(small)
		bad[at] ^= 0xff
		out = append(out, bad)
	}
	return out
}

// smallCore is a core of one thread and one page, made by hand.
func smallCore() []byte {
	le := func(n uint64, bytes int) string {
		var b strings.Builder
		for range bytes {
			b.WriteByte(byte(n))
			n >>= 8
		}
		return b.String()
	}
	note := func(kind uint64, data string) string {
		return le(5, 4) + le(uint64(len(data)), 4) + le(kind, 4) + "CORE\x00\x00\x00\x00" + data +
			strings.Repeat("\x00", -len(data)&3)
	}
	const base = 0x400000
	status := strings.Repeat("\x00", 12) + le(11, 2) + strings.Repeat("\x00", 18) + le(4711, 4) +
		strings.Repeat("\x00", 300)
	files := le(1, 8) + le(4096, 8) + le(base, 8) + le(base+4096, 8) + le(0, 8) + "/bin/x\x00"
	aux := le(3, 8) + le(base+64, 8) + le(31, 8) + le(base+4000, 8) + le(0, 16)
	notes := note(1, status) + note(6, aux) + note(0x46494c45, files)
	page := le(0, 8) + le(base+3000, 8) + le(0, 8) + aux
	page += strings.Repeat("\x00", 3000-len(page)) + "PMI_RANK=3\x00"
	page += strings.Repeat("\x00", 4096-len(page))
	header := "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + le(4, 2) + le(62, 2) + le(1, 4) + le(0, 8) +
		le(64, 8) + le(0, 8) + le(0, 4) + le(64, 2) + le(56, 2) + le(2, 2) + le(0, 6)
	data := uint64(64 + 2*56)
	programs := le(4, 4) + le(0, 4) + le(data, 8) + le(0, 16) + le(uint64(len(notes)), 8) + le(0, 8) + le(4, 8)
	programs += le(1, 4) + le(5, 4) + le(data+uint64(len(notes)), 8) + le(base, 8) + le(0, 8) + le(4096, 8) +
		le(4096, 8) + le(4096, 8)
	return []byte(header + programs + notes + page)
}

// TestSmall reads the core that the fuzzer begins with.
func TestSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small")
	if err := os.WriteFile(path, smallCore(), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := corefile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := fmt.Sprint(f.Environment()); got != "[PMI_RANK=3]" || f.Process.Signal != 11 || f.Process.Pid != 4711 {
		t.Errorf("%s, %+v", got, f.Process)
	}
	if m, ok := f.Executable(); !ok || m.Path != "/bin/x" {
		t.Errorf("%+v, %v", m, ok)
	}
}
