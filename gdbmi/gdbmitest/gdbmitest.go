package gdbmitest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const scriptEnv = "COHORT_GDBMITEST_SCRIPT"

// StatusOffScript is the exit status of a scripted gdb that was given another command than its script has.
const StatusOffScript = 97

// Serve plays the script if this process was started as a scripted gdb, and then reports served and the
// status to exit with; otherwise it does nothing.
//
//	func TestMain(m *testing.M) {
//		if status, served := gdbmitest.Serve(); served {
//			os.Exit(status)
//		}
//		os.Exit(m.Run())
//	}
func Serve() (status int, served bool) {
	path, ok := os.LookupEnv(scriptEnv)
	if !ok {
		return 0, false
	}
	script, err := os.ReadFile(path)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "gdbmitest: the script cannot be read:", err)
		return 98, true
	}
	p := &player{in: bufio.NewReader(os.Stdin), out: os.Stdout, err: os.Stderr, tokens: map[string]string{}}
	return p.play(string(script)), true
}

// Command writes script to a file of the test and returns the executable and the environment that make a
// scripted gdb, for gdbmi.Options.Path and Env.
func Command(t testing.TB, script string) (path string, env []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatalf("the test binary cannot be found: %v", err)
	}
	f, err := os.CreateTemp(t.TempDir(), "script-*.mi")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(script); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return exe, append(os.Environ(), scriptEnv+"="+f.Name())
}

type player struct {
	in       *bufio.Reader
	out, err *os.File
	tokens   map[string]string // the script's to the real ones
}

func (p *player) play(script string) int {
	for n, line := range strings.Split(script, "\n") {
		op, arg, _ := strings.Cut(line, " ")
		switch op {
		case "", "#":
		case "<":
			_, _ = fmt.Fprintln(p.out, p.translate(arg))
		case "<|":
			_, _ = fmt.Fprint(p.out, p.translate(arg))
		case "2>":
			_, _ = fmt.Fprintln(p.err, arg)
		case ">":
			if status, ok := p.expect(arg); !ok {
				return status
			}
		case "!":
			return p.act(arg)
		default:
			_, _ = fmt.Fprintf(p.err, "gdbmitest: line %d of the script is no step: %s\n", n+1, line)
			return 98
		}
	}
	for {
		line, err := p.in.ReadString('\n')
		if err != nil {
			return 0
		}
		if token, rest := splitToken(line); strings.HasPrefix(rest, "-gdb-exit") {
			_, _ = fmt.Fprintf(p.out, "%s^exit\n", token)
			return 0
		}
	}
}

var tokenRE = regexp.MustCompile(`^\d+`)

func splitToken(s string) (token, rest string) {
	token = tokenRE.FindString(s)
	return token, s[len(token):]
}

func (p *player) translate(line string) string {
	token, rest := splitToken(line)
	if actual, ok := p.tokens[token]; ok && rest != "" && strings.ContainsRune("^*+=", rune(rest[0])) {
		return actual + rest
	}
	return line
}

func (p *player) expect(want string) (status int, ok bool) {
	line, err := p.in.ReadString('\n')
	if errors.Is(err, io.EOF) {
		return 0, false
	}
	if err != nil {
		_, _ = fmt.Fprintln(p.err, "gdbmitest: stdin:", err)
		return 98, false
	}
	token, rest := splitToken(line)
	mark, head := splitToken(want)
	if !strings.HasPrefix(rest, head) {
		_, _ = fmt.Fprintf(p.err, "gdbmitest: the script has %q here, the command is %q\n", head, rest)
		return StatusOffScript, false
	}
	p.tokens[mark] = token
	return 0, true
}

func (p *player) act(what string) int {
	verb, arg, _ := strings.Cut(what, " ")
	n, _ := strconv.Atoi(arg)
	switch verb {
	case "exit":
		return n
	case "signal":
		signal.Reset()
		_ = syscall.Kill(os.Getpid(), syscall.Signal(n))
		select {} // the signal ends the process
	case "hang", "close":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		if verb == "close" {
			_ = p.out.Close()
			_ = p.err.Close()
		}
		_, _ = io.Copy(io.Discard, p.in)
		<-time.After(time.Hour) // a bound, for a test that forgets to kill
		return 98
	}
	_, _ = fmt.Fprintf(p.err, "gdbmitest: the script asks for an unknown act: %s\n", what)
	return 98
}
