package pmpi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cohort-debugger/cohort/internal/privatedir"
	"github.com/cohort-debugger/cohort/pmpi/internal/wrapgen"
)

//go:generate go run ./internal/abigen/cmd include/cohort_abi.h abi/layout.go

//go:embed include/*.h src/*.c src/*.h
var handWritten embed.FS

// Options say how to build the interposer.
type Options struct {
	Mpicc    string // path or name of the MPI's C compiler wrapper
	CacheDir string // where built libraries are kept; empty: $XDG_CACHE_HOME/cohort, or ~/.cache/cohort
}

// Library is a built interposer.
type Library struct {
	Path string // absolute
	MPI  MPI
	Hash string // hex: of the sources, the compiler, its flags and the MPI library
}

// compileTimeout bounds one build. It takes some 16 s of processor time.
const compileTimeout = 5 * time.Minute

// Build compiles the interposer against the MPI of options.Mpicc, or finds it in the cache. It is safe to call from
// many processes at once. The error of a compiler that fails has what it printed.
func Build(ctx context.Context, options Options) (Library, error) {
	library, err := build(ctx, options)
	if err != nil {
		return Library{}, fmt.Errorf("building the interposer: %w", err)
	}
	return library, nil
}

func build(ctx context.Context, options Options) (Library, error) {
	mpicc, err := exec.LookPath(options.Mpicc)
	if err != nil {
		return Library{}, fmt.Errorf("the MPI compiler %q cannot be run: %w", options.Mpicc, err)
	}
	w, err := wrapperShow(ctx, mpicc)
	if err != nil {
		return Library{}, err
	}
	if w.mpi == UnknownMPI {
		return Library{}, fmt.Errorf("%s belongs to neither MPICH nor Open MPI (it runs %q)", mpicc, w.show)
	}
	cache, err := cacheDir(options.CacheDir)
	if err != nil {
		return Library{}, err
	}
	library := Library{MPI: w.mpi, Hash: buildHash(w)}
	dir := filepath.Join(cache, libraryPrefix+library.Hash[:24])
	library.Path = filepath.Join(dir, libraryName)
	if there, err := cached(dir); there || err != nil {
		return library, err
	}
	return library, compileInto(ctx, cache, dir, mpicc, w)
}

func cacheDir(asked string) (string, error) {
	dir := asked
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no place to keep the built library: %w; set XDG_CACHE_HOME", err)
		}
		dir = filepath.Join(user, "cohort")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("making the path of the cache absolute: %w", err)
	}
	// The library is loaded into the user's programs: nobody else may be able to put one there.
	if err := privatedir.Make(dir); err != nil {
		return "", fmt.Errorf("making the cache directory: %w; set XDG_CACHE_HOME to another place", err)
	}
	return dir, nil
}

func buildHash(w wrapper) string {
	h := sha256.New()
	for _, s := range sources() {
		fmt.Fprintf(h, "%s %d\n%s", s.name, len(s.text), s.text)
	}
	fmt.Fprintf(h, "show %s\nflags %v\n", w.show, flags)
	if path, err := exec.LookPath(w.compiler); err == nil {
		io.WriteString(h, "compiler "+fileIdentity(path)+"\n") //nolint:errcheck // a hash takes everything
	}
	if path := w.library(); path != "" {
		io.WriteString(h, "library "+libraryIdentity(path)+"\n") //nolint:errcheck // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil))
}

// source is one file that the library is built of; the name is relative to the folder in which it is compiled.
type source struct{ name, text string }

// sources are the files that the library is built of, sorted by name: written by hand, or generated, once in a process.
var sources = sync.OnceValue(func() []source {
	var all []source
	err := fs.WalkDir(handWritten, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := handWritten.ReadFile(path)
		all = append(all, source{path, string(text)})
		return err
	})
	if err != nil {
		panic(err) // embedded: it is there
	}
	for name, text := range wrapgen.Files() {
		all = append(all, source{"src/" + name, text})
	}
	slices.SortFunc(all, func(a, b source) int { return strings.Compare(a.name, b.name) })
	return all
})

// flags are without -g: a user's step would enter the library.
var flags = []string{
	"-std=gnu11", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", "-Wall", "-Wextra",
	"-Wno-deprecated-declarations", "-O2", "-g0",
}

// compileInto builds in a directory of its own and renames it into place. If another process was faster, its result
// is the one. The cache grows only here, so here it is cleaned.
func compileInto(ctx context.Context, cache, dir, mpicc string, w wrapper) error {
	work, err := ownFolder(cache)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if info, err := os.Stat(work); err == nil {
		clean(cache, info.ModTime())
	}
	var units []string
	for _, s := range sources() {
		path := filepath.Join(work, filepath.FromSlash(s.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(s.text), 0o600); err != nil {
			return err
		}
		if strings.HasSuffix(s.name, ".c") {
			units = append(units, s.name)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, compileTimeout)
	defer cancel()
	objects, err := compileAll(ctx, mpicc, work, units)
	if err != nil {
		return err
	}
	args := append([]string{"-shared", "-o", libraryName}, objects...)
	args = append(args, "-lpthread", "-ldl")
	if path := w.library(); path != "" && !newLibrarySearch().isSystem(filepath.Dir(path)) {
		args = append(args, "-Wl,-rpath,"+filepath.Dir(path))
	}
	if err := compile(ctx, mpicc, work, args); err != nil {
		return err
	}
	for _, sub := range []string{"src", "include"} {
		if err := os.RemoveAll(filepath.Join(work, sub)); err != nil {
			return err
		}
	}
	if err := os.Rename(work, dir); err != nil {
		if _, statErr := os.Stat(filepath.Join(dir, libraryName)); statErr == nil {
			return nil
		}
		return err
	}
	return nil
}

// compileAll compiles the units, as many at once as there are processors, and returns the names of their objects. The
// first compiler that fails ends the others.
func compileAll(ctx context.Context, mpicc, work string, units []string) ([]string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	objects := make([]string, len(units))
	next := make(chan int)
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for i := range next {
				objects[i] = strings.TrimSuffix(units[i], ".c") + ".o"
				args := append(slices.Clone(flags), "-Iinclude", "-c", "-o", objects[i], units[i])
				if err := compile(ctx, mpicc, work, args); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range units {
		next <- i
	}
	close(next)
	all.Wait()
	return objects, context.Cause(ctx)
}

// compile runs the MPI's compiler in the folder.
func compile(ctx context.Context, mpicc, work string, args []string) error {
	cmd := exec.CommandContext(ctx, mpicc, args...)
	cmd.Dir = work
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("compiling it with %s: %w; the compiler said:\n%s", mpicc, err, bytes.TrimRight(out, "\n"))
	}
	return nil
}

func isMPILibrary(path string) bool {
	file, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // read only
	_, is := family(file)
	return is
}

// libraryIdentity is the build-id, or what stands for it.
func libraryIdentity(path string) string {
	if id, err := BuildID(path); err == nil && id != "" {
		return id
	}
	return fileIdentity(path)
}

func fileIdentity(path string) string {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return resolved
	}
	return fmt.Sprintf("%s %d %d", resolved, info.Size(), info.ModTime().UnixNano())
}

// BuildID is the GNU build-id of an ELF file in hex; empty if it has none.
func BuildID(path string) (string, error) {
	file, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading the build-id of %s: %w", path, err)
	}
	defer file.Close() //nolint:errcheck // read only
	section := file.Section(".note.gnu.build-id")
	if section == nil {
		return "", nil
	}
	data, err := section.Data()
	if err != nil {
		return "", fmt.Errorf("reading the build-id of %s: %w", path, err)
	}
	if len(data) < 16 {
		return "", errors.New("reading the build-id of " + path + ": the note is too short")
	}
	nameSize, descSize := file.ByteOrder.Uint32(data), file.ByteOrder.Uint32(data[4:])
	start := 12 + uint64(nameSize+3)&^3
	if end := start + uint64(descSize); end <= uint64(len(data)) && start <= end {
		return hex.EncodeToString(data[start:end]), nil
	}
	return "", errors.New("reading the build-id of " + path + ": the note says more than it holds")
}
