# Cohort in plain gdb: the command mpipp, printers for MPI handles, and backtraces with one frame for an MPI call. What
# handles mean is found out by `cohort gdb-decoder` at the other end of a pipe; this script only reads memory, evaluates
# expressions and looks up symbols for it. It neither writes to the program nor calls into it.
import base64, json, os, re, select, shutil, subprocess, time
import gdb, gdb.FrameDecorator

COHORT, PROTOCOL, PATIENCE = @COHORT@, 2, 20.0  # seconds without a word from the decoder
MARK = "\1cohort "
HANDLE = re.compile(
    r"^(type )?\(?(mpi_(?:datatype|comm|request|group|win|file|op|errhandler|info|message|status))\)?$", re.I)
OPEN_HANDLE = re.compile(  # where C++ has lost the name
    r"^(?:struct )?ompi_(datatype|communicator|request|group|win|file|op|errhandler|info)_t \*$")
SAFE = ("whatis ", "ptype/rmt ", "show language", "info symbol ", "info line ", "info scope ")


class Decoder:
    process, epoch, warned = None, 0, False

    def start(self):
        path = os.environ.get("COHORT") or shutil.which(COHORT) or shutil.which("cohort")
        if not path:
            raise gdb.GdbError("cohort was not found: neither %s nor cohort in PATH. Set the environment variable "
                               "COHORT to its path, or run `cohort gdb-script` again." % COHORT)
        env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        try:
            self.process = subprocess.Popen([path, "gdb-decoder"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.STDOUT, bufsize=0, env=env, start_new_session=True)
        except OSError as e:
            raise gdb.GdbError("cohort cannot be started: %s: %s." % (path, e.strerror))
        self.rest = b""
        for stream in (self.process.stdin, self.process.stdout):
            os.set_blocking(stream.fileno(), False)
        hello = self.read()
        if hello.get("protocol") != PROTOCOL:
            self.stop()
            raise gdb.GdbError("%s is cohort %s, whose decoder speaks another protocol than this script. Load the "
                               "script that its `gdb-script` prints." % (path, hello.get("version")))

    def stop(self):
        process, self.process = self.process, None
        if process:
            process.stdin.close()
            process.kill()
            process.stdout.close()
            process.wait()

    def read(self):
        end = time.monotonic() + PATIENCE
        while b"\n" not in self.rest:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise gdb.GdbError("Cohort's decoder has said nothing for %d seconds, and was ended." % PATIENCE)
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            if not piece:
                raise gdb.GdbError("Cohort's decoder has ended. %s" % self.rest.decode(errors="replace").strip())
            self.rest += piece
        line, self.rest = self.rest.split(b"\n", 1)
        try:
            return json.loads(line)
        except ValueError:
            raise gdb.GdbError("What was started as Cohort's decoder does not speak as one; it may be too old. "
                               "It says: %s" % line.decode(errors="replace"))

    def write(self, message):
        data, end = json.dumps(message).encode() + b"\n", time.monotonic() + PATIENCE
        while data:
            if not select.select([], [self.process.stdin], [], max(0, end - time.monotonic()))[1]:
                raise gdb.GdbError("Cohort's decoder has not listened for %d seconds, and was ended." % PATIENCE)
            data = data[os.write(self.process.stdin.fileno(), data):]

    def request(self, **message):
        inferior = gdb.selected_inferior()
        message.update(state="%d %d %d" % (self.epoch, inferior.num, inferior.pid), pid=inferior.pid, cwd=os.getcwd())
        try:
            if self.process and self.process.poll() is not None:
                self.stop()
            if not self.process:
                self.start()
            self.write(message)
            while True:
                got = self.read()
                if got.get("done"):
                    break
                self.write(answer(got, inferior))
        except BaseException as e:  # the conversation is broken off in the middle, so it cannot continue
            self.stop()
            raise gdb.GdbError("Cohort's decoder has ended.") if isinstance(e, OSError) else e
        if got.get("error"):
            raise gdb.GdbError(got["error"])
        return got


def answer(ask, inferior):
    try:
        what = ask.get("ask")
        if what == "memory":
            at, data = memory(inferior, *ask["range"])
            return {"address": at, "memory": base64.b64encode(data).decode()}
        if what == "execute" and (ask["command"].startswith(SAFE) or ask["command"] == "thread"):
            return {"text": gdb.execute(ask["command"], to_string=True)}
        if what == "evaluate":
            return {"text": quietly(lambda: gdb.parse_and_eval(ask["expression"]).format_string(raw=True))}
        if what == "address":
            return {"address": int(quietly(lambda: gdb.parse_and_eval("&" + ask["symbol"])))}
        if what == "line":
            at = gdb.find_pc_line(ask["pc"])
            block = gdb.block_for_pc(at.pc) if at.symtab else None
            while block and not block.function:
                block = block.superblock
            if block:
                symbol = block.function.print_name
            else:
                symbol = gdb.execute("info symbol %d" % ask["pc"], to_string=True)
                symbol = symbol.split(" in section ")[0].rsplit(" + ", 1)[0]
            return {"line": at.line, "file": at.symtab.filename if at.symtab else "", "start": at.pc, "symbol": symbol}
        if what == "frame":  # the selected one, or the one that it has called
            frame = gdb.selected_frame()
            frame = frame.newer() if ask.get("inner") else frame
            at, level, inner = frame.find_sal(), 0, frame.newer()
            while inner:
                level, inner = level + 1, inner.newer()
            return {"level": level, "file": at.symtab.fullname() if at.symtab else "", "line": at.line,
                    "pc": frame.pc(), "symbol": frame.name() or ""}
        return {"error": "gdb was asked for %s, which this script does not do" % what}
    except (gdb.error, ValueError, OverflowError) as e:
        return {"error": str(e)}


def memory(inferior, addr, n, low, high):  # as much from addr as is readable, of n bytes, or the whole of low to high
    try:
        return low, bytes(inferior.read_memory(low, high - low))
    except gdb.error:
        good, bad = 0, n + 1
        while good + 1 < bad:
            half = (good + bad) // 2
            try:
                inferior.read_memory(addr, half)
                good = half
            except gdb.error:
                bad = half
        return addr, bytes(inferior.read_memory(addr, good)) if good else b""


def quietly(evaluate):  # no expression may write to the program or call into it
    locks = [name for name in ("may-write-memory", "may-call-functions") if gdb.parameter(name)]
    try:
        for name in locks:
            gdb.execute("set %s off" % name, to_string=True)
        return evaluate()
    finally:
        for name in locks:
            gdb.execute("set %s on" % name, to_string=True)


class Mpipp(gdb.Command):
    """Show MPI handles, and buffers as MPI datatypes see them. mpipp --help tells more."""

    def __init__(self):
        super().__init__("mpipp", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, line, from_tty):
        decoder.warned = False
        gdb.write(decoder.request(do="mpipp", line=line)["text"].rstrip("\n") + "\n")


class Printer:
    def __init__(self, got):
        self.to_string = lambda: got["value"]


class TreePrinter(Printer):  # for graphical front ends, which open it
    def __init__(self, got):
        super().__init__(got)
        self.children = lambda: ((name, gdb.Value(MARK + text)) for name, text in got["children"])


# "Type " of Fortran's or "", and what handle the type is, also by a name that the program gives it.
def handle_of(kind):
    while True:
        kind = kind.unqualified()
        m, lost = HANDLE.match(str(kind)), OPEN_HANDLE.match(str(kind))
        if m:
            return (m[1] or "").title(), m[2]
        if lost:
            return "", "MPI_" + {"communicator": "Comm"}.get(lost[1], lost[1])
        if kind.code != gdb.TYPE_CODE_TYPEDEF:
            return None
        kind = kind.target()


def printer(value):
    # Characters that are not the program's: perhaps a text from below.
    if value.type.code == gdb.TYPE_CODE_ARRAY and value.address is None and value.type.target().sizeof == 1:
        text = value.string(errors="replace")
        return Printer({"value": text[len(MARK):]}) if text.startswith(MARK) else None
    m = handle_of(value.type)
    if not m or decoder.warned:
        return None
    try:
        # Fortran's is a type with an integer in it.
        where = value.address if m[1].lower() == "mpi_status" else value["mpi_val"] if m[0] else value
        handle = int(where) & (1 << 8 * where.type.sizeof) - 1
        got = decoder.request(do="describe", type=m[0] + m[1], handle=handle, tree=FRONT_END)
        return (TreePrinter if got.get("children") else Printer)(got) if got.get("value") else None
    except gdb.GdbError as e:
        decoder.warned = True
        gdb.write("MPI handles are shown as they are: %s\n" % e, gdb.STDERR)
    except Exception:  # not readable, optimised out: shown as without this script
        pass


# In backtraces, one frame for those of Cohort's library that a call goes through: the outermost. `bt -no-filters` shows
# all.
class Calls:
    name, priority, enabled = "cohort", 100, True

    def filter(self, frames):
        held = None
        for frame in frames:
            ours = os.path.basename(gdb.solib_name(frame.inferior_frame().pc()) or "").startswith("libcohort.so")
            if held and not ours:
                yield held
            held = frame if ours else None
            if not ours:
                yield frame
        if held:
            yield held


def changed(*_):
    decoder.epoch += 1


with open("/proc/self/cmdline") as f:
    FRONT_END = bool(re.search(r"(^|\0)--?i(nterpreter)?[=\0](mi|dap)", f.read()))
decoder = Decoder()
for name in ("stop", "cont", "exited", "new_objfile", "inferior_call", "memory_changed", "register_changed",
             "before_prompt"):
    if hasattr(gdb.events, name):
        getattr(gdb.events, name).connect(changed)
if hasattr(gdb.events, "gdb_exiting"):
    gdb.events.gdb_exiting.connect(lambda _: decoder.stop())
Mpipp()
printer.__name__ = "cohort"
gdb.frame_filters["cohort"] = Calls()
gdb.pretty_printers[:] = [printer] + [p for p in gdb.pretty_printers if getattr(p, "__name__", "") != "cohort"]
