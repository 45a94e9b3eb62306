/*
 * cohort_abi.h: the contracts between the interposer (C, inside a rank) and Cohort (Go, outside it).
 *
 * There are four, each with a magic and a version of its own:
 *   1. struct cohort_control   a mapped file per rank: orders in, progress out        (COHORT_CONTROL)
 *   2. struct cohort_registry  the rank's MPI handles, in anonymous memory            (symbol cohort_registry)
 *   3. the trace file          written by the rank; see docs/trace-format.md          (COHORT_TRACE)
 *   4. the decisions file      what replay must enforce, prepared by Go               (COHORT_DECISIONS)
 *
 * All integers are little endian and naturally aligned; no bit fields, no pointers typed as pointers: an address in
 * the rank is a uint64_t.
 *
 * Package pmpi/abi is generated from this file by pmpi/internal/abigen (`go generate ./pmpi`), comments included; tests
 * fail where it is stale, and where it differs from the DWARF of a library that was built with -g. The generator reads
 * a small part of C, so keep to it: #define of a number or a string; enums whose values are written out; structs of
 * fixed-width integers, char arrays, arrays of these, and structs; a last member without a length stays out. A uint32_t
 * whose comment begins with "enum cohort_..." has that enum's type in Go; a first member that is a struct is embedded.
 * A comment belongs to what it follows on its line, or to what begins on the line below it.
 *
 * Versions. A change of a layout, or of what a field means, is a new version of that contract, and of no other: a
 * change of the registry must not orphan recordings. Versions 1 to 3 were counted together, so some changed nothing.
 *
 *   control block  2 recent calls, the kind of a divergence; 3 COHORT_FLAG_KEEP; 4 counts of 512 operations
 *   registry       3 all kinds of handles, requests, calls in progress, stacks; 4 one head for all records;
 *                  5 messages are counted
 *   trace          2 the call in progress, short forms, CHECK records; 3 nothing: what was added is 0 in older traces
 *   decisions      2 checks, streams and turns; 3 control messages; a rank may be told to stay at the end
 */
#ifndef COHORT_ABI_H
#define COHORT_ABI_H
#include <stdint.h>

#define COHORT_CONTROL_VERSION 4u
#define COHORT_REGISTRY_VERSION 5u
#define COHORT_TRACE_VERSION 3u
#define COHORT_DECISIONS_VERSION 3u

#define COHORT_CONTROL_MAGIC 0x004c5443484f43ull   /* "COHCTL\0" */
#define COHORT_REGISTRY_MAGIC 0x00474552484f43ull  /* "COHREG\0" */
#define COHORT_TRACE_MAGIC 0x00435254484f43ull     /* "COHTRC\0" */
#define COHORT_DECISIONS_MAGIC 0x00434544484f43ull /* "COHDEC\0" */

/* Environment variables that the agent sets for the program (and only for it). Absent COHORT_CONTROL: the library is
 * inert apart from the registry. */
#define COHORT_ENV_CONTROL "COHORT_CONTROL"     /* path of this rank's control block */
#define COHORT_ENV_TRACE "COHORT_TRACE"         /* path of the trace file to create; absent: write none */
#define COHORT_ENV_DECISIONS "COHORT_DECISIONS" /* path of the decisions file; required in replay */

/* Environment variables that a user may set. What they ask for is told by cohort_registry.features. */
/* 1: requests and calls in progress are tracked in the registry although no debugger is there; 0: never */
#define COHORT_ENV_KEEP "COHORT_KEEP"
/* 1: the registry has whole stacks of where handles were made, that of requests too; 0: never */
#define COHORT_ENV_STACKS "COHORT_STACKS"

/* Symbols of the library that a debugger looks for. */
#define COHORT_SYMBOL_STOP "cohort_stop_here"        /* function(reason): the debugger has a breakpoint here */
#define COHORT_SYMBOL_REGISTRY "cohort_registry"     /* struct cohort_registry */
#define COHORT_SYMBOL_CONTROL "cohort_control_block" /* struct cohort_control * */

/* The MPI libraries. */
enum cohort_mpi { COHORT_MPICH = 1, COHORT_OPEN_MPI = 2 };

#define COHORT_NEVER UINT64_MAX /* a position that is never reached */
#define COHORT_NO_RANK INT32_MIN /* where a rank or a tag could be: not known, or not applicable */

/* ------------------------------------------------------------------ operations
 * Every call of enum cohort_op that the program makes, with MPI initialised and not yet finalised, is one EVENT of the
 * rank, except a poll (Iprobe, Test*, Request_get_status) that fails: it has no number of its own, only a count that
 * precedes the next event. Events are numbered from 1. Wildcard or not, traced or not, every one counts, so that an
 * event has the same number in every mode. MPI_Init and MPI_Finalize: Init is no event (position 0 is "after Init");
 * Finalize is the last event. The numbers are those of package mpispec, of which the enum is made (src/ops.h).
 */

/* ------------------------------------------------------------------ control block */

enum cohort_mode {
  COHORT_MODE_OFF = 0,    /* registry and counters only: a plain debugging session */
  COHORT_MODE_ORDER = 1,  /* record: a decision for every nondeterministic outcome */
  /* record: only what could have been otherwise; messages carry a header, so all ranks are in this mode or none */
  COHORT_MODE_RACING = 2,
  COHORT_MODE_FULL = 3,   /* record: every event */
  COHORT_MODE_REPLAY = 4  /* obey the decisions file; with COHORT_TRACE set, write a full trace at the same time */
};

enum cohort_flag {
  /* Waits become test + sched_yield: some host has more ranks than cores. The same on ALL ranks of a job: blocking
   * collectives become nonblocking ones, or have an Ibarrier before them, and these must match. */
  COHORT_FLAG_YIELD = 1u << 0,
  COHORT_FLAG_DEBUGGED = 1u << 1, /* a debugger has a breakpoint on cohort_stop_here: call it at stops */
  COHORT_FLAG_INCOMPLETE_OK = 1u << 2, /* replay continues past calls that are not covered */
  /* the program's calls of clock_gettime, getrandom and their kin are recorded, and in replay given what was */
  COHORT_FLAG_RECORD_TIME = 1u << 3,
  /* requests, calls in progress and creation stacks are tracked in the registry: somebody may look at them */
  COHORT_FLAG_KEEP = 1u << 4
};

/* What the rank is doing, written by the rank, in this order at most once each but RUNNING/PARKED/STOPPED, which
 * alternate. */
enum cohort_state {
  COHORT_STATE_NEW = 0,       /* the library has not seen MPI initialised */
  COHORT_STATE_RUNNING = 1,
  COHORT_STATE_PARKED = 2,    /* at park_at, in a loop that gives MPI progress, waiting for `release` to change */
  COHORT_STATE_STOPPED = 3,   /* inside cohort_stop_here */
  /* replay: the call is not the recorded one; `divergence` says which; it waits to be ended */
  COHORT_STATE_DIVERGED = 4,
  /* replay: the recording ends here although the program continues (it was cut short); waits to be ended */
  COHORT_STATE_END = 5,
  COHORT_STATE_FINALIZED = 6, /* MPI_Finalize returned */
  /* the library cannot do what it was told; `message` says why; the program continues untouched (record) or waits to be
   * ended (replay) */
  COHORT_STATE_REFUSED = 7
};

/* Why the rank called cohort_stop_here(reason). */
enum cohort_stop_reason {
  COHORT_STOP_PARKED = 1,     /* at park_at, and told COHORT_RELEASE_STOP */
  COHORT_STOP_GUARD = 2,      /* about to begin event guard_at + 1 */
  COHORT_STOP_DIVERGENCE = 3,
  COHORT_STOP_END = 4
};

/* How a parked rank continues. Written by Cohort as (generation << 8 | enum); a parked rank acts on a value whose
 * generation differs from the one it last acted upon. */
enum cohort_release {
  COHORT_RELEASE_STOP = 1, /* call cohort_stop_here (if DEBUGGED), then continue the program */
  COHORT_RELEASE_GO = 2    /* continue the program without stopping */
};

enum cohort_divergence_kind {
  COHORT_DIVERGENCE_CALL = 0, /* the call is not the recorded one */
  /* one of the calls since the check at `recorded_event` (0: since the beginning), `event` included, was not the
   * recorded one, though no decision tells */
  COHORT_DIVERGENCE_CHECK = 1
};

struct cohort_divergence {
  uint64_t event;          /* number of the event at which the program departed */
  uint32_t recorded_op;    /* enum cohort_op; 0: the recording has no further decision */
  uint32_t actual_op;
  int32_t recorded_source, recorded_tag; /* COHORT_NO_RANK: not applicable; likewise below */
  int32_t actual_source, actual_tag;
  uint64_t recorded_event; /* event number of the recorded decision */
  uint64_t call_site;      /* return address in the program */
  uint32_t kind;           /* enum cohort_divergence_kind */
  uint32_t pad0;
};

#define COHORT_RECENT_MAX 16u /* calls in cohort_control.recent */

/* One of the last calls that a rank began, for people: what it did before it ended or left its recording. Written in
 * every mode. */
struct cohort_recent {
  uint64_t event;     /* its number; a poll that failed has that of the event that was to follow; 0: no call yet */
  uint64_t site;      /* return address in the program */
  uint32_t op;        /* enum cohort_op */
  /* that it named: destination or source, as a trace has them (-1 any, -2 MPI_PROC_NULL). COHORT_NO_RANK: not known, or
   * none; likewise `got` */
  int32_t peer, tag;
  int32_t got;        /* of a call with a wildcard: the source of the message that it matched, or in replay is given */
};

#define COHORT_OPERATIONS 512u /* numbers of operations are below this */

/* The block belongs to the first process that initialises MPI with it (NEW -> RUNNING by compare and swap): a program
 * that the rank starts inherits the environment, finds another state, and stays inert. A child that the rank forks is
 * inert too. */
struct cohort_control {
  /* written by Cohort before the program starts */
  uint64_t magic;
  uint32_t version;
  uint32_t size;      /* sizeof(struct cohort_control) */
  uint32_t mode;      /* enum cohort_mode */
  uint32_t flags;     /* enum cohort_flag */
  uint32_t rank;      /* as the launcher says; checked against MPI_Comm_rank(MPI_COMM_WORLD) */
  uint32_t world_size; /* 0: unknown; else checked */

  /* written by Cohort at any time, read by the rank at the end (park) or beginning (guard) of each event */
  /* Park when `events` >= park_at, at the end of an event (or of MPI_Init) or after a failed poll; COHORT_NEVER: do
   * not. The rank itself sets it back to COHORT_NEVER when it parks. A rank that is released stays PARKED for an
   * instant: it is at a new park_at when the state is PARKED and park_at is COHORT_NEVER again. A rank that was
   * stopped at a park_at and is resumed parks again at once if the new park_at is not beyond its position. */
  uint64_t park_at;
  /* Stop at the beginning of event guard_at + 1 or a later one; COHORT_NEVER: do not. A poll that is to fail is no
   * event and does not count. It stays set: the rank stops at every later call, until Cohort moves it. Only with
   * DEBUGGED does the rank really stop; without, it shows STOPPED and continues. */
  uint64_t guard_at;
  uint32_t release;   /* see enum cohort_release; futex word for parked ranks that have nothing in flight */
  uint32_t pad0;

  /* written by the rank */
  uint32_t state;     /* enum cohort_state; futex word: woken (FUTEX_WAKE, shared) at every change, and only then */
  uint32_t stop_reason; /* enum cohort_stop_reason, valid in STOPPED */
  uint64_t events;    /* events completed */
  uint64_t current;   /* number of the event in progress, or 0 when outside MPI */
  uint64_t polls;     /* failed polls since the last event (in the trace header: since the last successful poll) */
  uint64_t messages;  /* messages sent */
  uint64_t bytes;     /* payload bytes sent */
  uint64_t decisions; /* recording: decisions written; replay: decisions consumed */
  uint64_t trace_bytes;
  uint32_t current_op; /* enum cohort_op of `current` */
  uint32_t incomplete; /* how many calls were not covered */
  char incomplete_call[48];  /* name of the first of them */
  uint64_t incomplete_event; /* its event number */
  struct cohort_divergence divergence;
  char message[160];  /* REFUSED, or a trace that cannot be written (disk full): one sentence */
  struct cohort_recent recent[COHORT_RECENT_MAX]; /* event n is in recent[n % COHORT_RECENT_MAX] */
  uint64_t calls[COHORT_OPERATIONS]; /* of the events completed, how many are of each enum cohort_op */
};

/* ------------------------------------------------------------------ registry
 * Read by a debugger at any instruction: a record is complete before its slot is published (release store of `record`),
 * and a table that grows is copied first and published by one store of its address (capacity is in the first word of
 * the slot array, so one pointer switches both). Records of freed handles stay for as long as another record refers to
 * them. An address of a record that a record holds is that of one that is there.
 *
 * What a struct cohort_call refers to is not held by it: another thread may free it meanwhile, and its memory may be
 * used again. So a reader compares the handle in the call with that in the record.
 *
 * A handle in a table is what the C program has: of MPICH an int, zero-extended, and of Open MPI a pointer; MPI_File is
 * a pointer in both.
 */
struct cohort_slot {
  uint64_t handle;
  uint64_t record; /* address of the record; 0: empty; 1: was freed (keep probing) */
};

struct cohort_slots {
  uint64_t capacity; /* power of two; slots follow; linear probing from cohort_hash(handle) & (capacity - 1) */
  struct cohort_slot slot[];
};
/* cohort_hash(h) = (h * 0x9E3779B97F4A7C15) >> 20; readers may as well scan all slots. */

/* What is kept in this process. A table whose bit is not set is not empty but unknown. */
enum cohort_feature {
  COHORT_FEATURE_DATATYPES = 1u << 0, COHORT_FEATURE_COMMS = 1u << 1, COHORT_FEATURE_REQUESTS = 1u << 2,
  COHORT_FEATURE_CALLS = 1u << 3, COHORT_FEATURE_GROUPS = 1u << 4, COHORT_FEATURE_WINDOWS = 1u << 5,
  COHORT_FEATURE_FILES = 1u << 6, COHORT_FEATURE_OPS = 1u << 7, COHORT_FEATURE_ERRHANDLERS = 1u << 8,
  COHORT_FEATURE_INFOS = 1u << 9,
  COHORT_FEATURE_STACKS = 1u << 10,         /* of whatever is made */
  COHORT_FEATURE_REQUEST_STACKS = 1u << 11, /* and of requests */
  /* Why: requests and calls in progress cost time in every call, so they are kept with CONTROL only if it has
   * COHORT_FLAG_KEEP, without CONTROL in any case; ASKED: the environment (COHORT_KEEP) decided. */
  /* the process has a control block: Cohort started it; `mode` is what it was told */
  COHORT_FEATURE_CONTROL = 1u << 16,
  COHORT_FEATURE_ASKED = 1u << 17
};

struct cohort_registry {
  uint64_t magic;
  uint32_t version;
  uint32_t size;
  uint32_t mpi;         /* enum cohort_mpi */
  uint32_t handle_size; /* sizeof(MPI_Datatype) */
  /* address of a struct cohort_slots; 0 before initialisation, or if none are kept; likewise those that follow */
  uint64_t datatypes;
  uint64_t comms;
  uint64_t requests;    /* struct cohort_request_record: the oldest of those that have the handle */
  uint64_t groups, windows, files;
  uint64_t ops, errhandlers, infos;
  uint64_t calls;       /* address of the first struct cohort_call, one per thread that has called MPI; 0: none */
  /* address of the first struct cohort_request_record whose handle the program has given up while it was active, the
   * newest first */
  uint64_t detached;
  uint64_t detached_dropped; /* how many more there were: only the newest COHORT_DETACHED_MAX are kept */
  uint64_t lost;        /* records that could not be made for want of memory, and requests beyond COHORT_SHARED_MAX */
  uint32_t features;    /* enum cohort_feature; 0: MPI is not initialised yet */
  uint32_t mode;        /* enum cohort_mode */
  uint64_t in_place;    /* MPI_IN_PLACE as the program passes it */
  /* the handles MPI_COMM_NULL and MPI_REQUEST_NULL: no table has them, as the others have theirs */
  uint64_t comm_null, request_null;
  uint64_t memory;      /* bytes that Cohort has mapped in this process, but for its files */
  uint64_t memory_used; /* of these, in records and tables that are in use; what is not, is used again */
  uint64_t messages;    /* address of a struct cohort_messages; 0: none yet. With COHORT_FEATURE_CALLS only */
  /* messages that are not counted there: there was no room, or a call that failed does not tell what it received */
  uint64_t uncounted;
};
#define COHORT_DETACHED_MAX 64u
#define COHORT_SHARED_MAX 1024u /* requests of one handle */

/* Messages between this rank and another in one communicator, with one tag. */
struct cohort_traffic {
  uint64_t comm;     /* cohort_comm.global_id; 0: the slot is empty */
  /* rank in the communicator, of an intercommunicator in its remote group; or COHORT_COLLECTIVES: `sent` is how many
   * collectives the rank has begun */
  int32_t peer;
  int32_t tag;
  uint64_t sent;     /* that this rank has begun to send, the one of a call in progress included */
  uint64_t received; /* by calls that have returned, matched probes included, the receives of their messages not */
};

/* Slots follow; linear probing from a hash of the key, of which readers need not know. */
struct cohort_messages {
  uint64_t capacity; /* power of two */
  struct cohort_traffic slot[];
};
#define COHORT_MESSAGES_MAX 65536u /* slots */
#define COHORT_COLLECTIVES -4

/* ---- what the records of all kinds of handles begin with */

#define COHORT_STACK_MAX 16u /* frames */

/* Where something was made: return addresses, the innermost first. Equal ones share a record, which is never freed. */
struct cohort_stack {
  uint32_t n, pad0;
  /* uint64_t frames[n] */
};

enum cohort_object_state {
  COHORT_OBJECT_PREDEFINED = 1u << 0,
  COHORT_OBJECT_FREED = 1u << 1,     /* by the program; something refers to it still */
  COHORT_OBJECT_TRUNCATED = 1u << 2, /* not all is kept: see each kind */
  COHORT_OBJECT_FORTRAN = 1u << 3,   /* made by a Fortran call: `function` is a Fortran procedure */
  /* made by a call that Cohort does not follow: event and call_site are those of the call that it came with first */
  COHORT_OBJECT_UNSEEN = 1u << 4,
  COHORT_OBJECT_ADDRESS_ONLY = 1u << 5, /* op, errhandler: what `function` is is not known, it is 0 */
  /* the program is giving up the handle: until MPI has done so it is there, but whoever is given it meanwhile is given
   * another object */
  COHORT_OBJECT_GOING = 1u << 6,
  COHORT_TYPE_COMMITTED = 1u << 7, /* datatypes */
  /* requests */
  COHORT_REQUEST_ACTIVE = 1u << 8, /* not set: a persistent one that is not started, or that is complete */
  COHORT_REQUEST_PERSISTENT = 1u << 9,
  /* MPI_Cancel was called for it; whether it took effect is told by the call that completes it */
  COHORT_REQUEST_CANCELLED = 1u << 10,
  /* still active for MPI, but known to be complete: MPI_Request_get_status said so, or it has a handle that MPI gives
   * only to operations that are complete at once */
  COHORT_REQUEST_COMPLETE = 1u << 11,
  /* others had or have the same handle at the same time: a wait ends one of them, the oldest is taken to be it */
  COHORT_REQUEST_SHARED = 1u << 12,
  /* a call that waited for it ended with an error that does not tell what became of it */
  COHORT_REQUEST_UNSURE = 1u << 13
};

struct cohort_object {
  uint32_t size;     /* bytes of the record with what follows */
  uint32_t kind;     /* see each */
  uint64_t handle;
  int32_t f_handle;  /* -1: not known */
  uint32_t state;    /* enum cohort_object_state */
  uint32_t refs;     /* records that refer to this one, plus one while the handle is live */
  /* how often the program has the handle: MPI_Comm_group and MPI_Type_get_contents may give it again, to be freed
   * again */
  uint32_t holds;
  uint64_t id;        /* counts what was made, in each table: tells two lives of one handle apart */
  uint64_t event;     /* events completed when it was made */
  uint64_t call_site; /* return address in the program */
  /* address of a NUL-terminated text: predefined name, name set by the program, file name; 0: none */
  uint64_t name;
  uint64_t stack;    /* address of a struct cohort_stack; 0: not kept */
};

/* ---- datatypes and communicators */

/* Combiners as in MPI-3.1 section 4.1.13; the arguments are laid out exactly as MPI_Type_get_contents returns them. */
enum cohort_combiner {
  COHORT_COMBINER_NAMED = 1, COHORT_COMBINER_DUP = 2, COHORT_COMBINER_CONTIGUOUS = 3, COHORT_COMBINER_VECTOR = 4,
  COHORT_COMBINER_HVECTOR = 5, COHORT_COMBINER_INDEXED = 6, COHORT_COMBINER_HINDEXED = 7,
  COHORT_COMBINER_INDEXED_BLOCK = 8, COHORT_COMBINER_HINDEXED_BLOCK = 9, COHORT_COMBINER_STRUCT = 10,
  COHORT_COMBINER_SUBARRAY = 11, COHORT_COMBINER_DARRAY = 12, COHORT_COMBINER_RESIZED = 13,
  COHORT_COMBINER_F90_REAL = 14, COHORT_COMBINER_F90_COMPLEX = 15, COHORT_COMBINER_F90_INTEGER = 16,
  COHORT_COMBINER_UNKNOWN = 99 /* created by a call that is not decoded yet; `name` holds the call's name */
};

/* What a named (predefined) type holds. */
enum cohort_basic {
  COHORT_BASIC_NONE = 0,
  COHORT_BASIC_CHAR = 1,      /* printable character */
  COHORT_BASIC_INT = 2,       /* signed integer of `basic_size` bytes */
  COHORT_BASIC_UINT = 3, COHORT_BASIC_FLOAT = 4, COHORT_BASIC_COMPLEX = 5, COHORT_BASIC_BOOL = 6,
  COHORT_BASIC_LOGICAL = 7,   /* Fortran LOGICAL */
  COHORT_BASIC_BYTE = 8, COHORT_BASIC_PACKED = 9,
  COHORT_BASIC_PAIR = 10,     /* MPI_FLOAT_INT and friends: value type in `pair`, then an int */
  COHORT_BASIC_LB = 11, COHORT_BASIC_UB = 12,
  COHORT_BASIC_WCHAR = 13, COHORT_BASIC_ADDRESS = 14, /* MPI_AINT, MPI_OFFSET, MPI_COUNT */
  COHORT_BASIC_NULL = 15      /* MPI_DATATYPE_NULL */
};

struct cohort_datatype { /* kind: enum cohort_combiner */
  struct cohort_object o; /* call_site 0: not seen being made. PREDEFINED: NAMED */
  uint32_t basic;     /* enum cohort_basic, for NAMED */
  uint32_t pair;      /* enum cohort_basic of the value in a PAIR */
  uint32_t basic_size; /* bytes of the value (of a PAIR: of its first member) */
  uint32_t n_integers, n_addresses, n_types;
  /* MPI_Type_size, lb, extent, true lb, true extent as the library says; INT64_MIN: unknown, or not asked for
   * (datatypes.c) */
  int64_t type_size;
  int64_t lb, extent, true_lb, true_extent;
  /* int64_t integers[n_integers]; int64_t addresses[n_addresses]; uint64_t types[n_types] (addresses of records, not
   * handles) */
};

enum cohort_comm_kind {
  COHORT_COMM_INTRA = 1, COHORT_COMM_INTER = 2, COHORT_COMM_CART = 3, COHORT_COMM_GRAPH = 4, COHORT_COMM_NULL = 5,
  COHORT_COMM_DIST_GRAPH = 6
};

struct cohort_comm { /* kind: enum cohort_comm_kind */
  struct cohort_object o;
  uint64_t global_id; /* the same in all its members; 1 = MPI_COMM_WORLD. See docs/trace-format.md */
  uint64_t parent_id;
  uint64_t children;  /* how many communicators were made of it */
  uint32_t index;     /* this rank's number for it in the trace (COMM records) */
  uint32_t comm_size, comm_rank;
  uint32_t n_dims;    /* CART */
  uint32_t n_members, n_remote;
  /* uint32_t members[n_members] world ranks; uint32_t remote[n_remote]; then for CART: int32_t dims[n_dims],
   * periods[n_dims], coords[n_dims] */
};

/* ---- other handles */

struct cohort_group { /* kind: 0 */
  struct cohort_object o;
  uint32_t group_rank; /* of this process; UINT32_MAX: not in it */
  uint32_t n_members;
  /* uint32_t members[n_members]: world ranks; UINT32_MAX: a process that is not in MPI_COMM_WORLD */
};

enum cohort_window_kind {
  COHORT_WINDOW_CREATE = 1, COHORT_WINDOW_ALLOCATE = 2, COHORT_WINDOW_DYNAMIC = 3, COHORT_WINDOW_SHARED = 4
};
enum cohort_epoch { /* open ones, by the calls that open and close them */
  COHORT_EPOCH_FENCE = 1u << 0,    /* after a fence without MPI_MODE_NOSUCCEED */
  COHORT_EPOCH_START = 1u << 1,    /* access: `access_group` */
  COHORT_EPOCH_POST = 1u << 2,     /* exposure: `exposure_group` */
  COHORT_EPOCH_LOCK_ALL = 1u << 3
};

#define COHORT_LOCKS_MAX 8u
#define COHORT_LOCK_EXCLUSIVE (1u << 31)

struct cohort_window { /* kind: enum cohort_window_kind */
  struct cohort_object o;
  uint64_t comm;      /* record of the communicator that it was made over */
  uint64_t base;      /* address of this rank's part */
  int64_t bytes;      /* of it */
  int32_t disp_unit;
  uint32_t epochs;    /* enum cohort_epoch; it and the rest are tracked only with COHORT_FEATURE_CALLS */
  uint64_t access_group, exposure_group; /* records; 0: none */
  uint32_t n_locks;   /* MPI_Win_lock that are open; the first COHORT_LOCKS_MAX are in `locks` */
  uint32_t pad0;
  uint32_t locks[COHORT_LOCKS_MAX]; /* rank in the window's group; COHORT_LOCK_EXCLUSIVE */
};

struct cohort_file { /* kind: 0 */
  struct cohort_object o;
  uint64_t comm;      /* record of the communicator that it was opened over; 0: not known */
  int32_t amode;      /* as the program passed it */
  uint32_t pad0;
  int64_t disp;       /* the view */
  uint64_t etype, filetype; /* records of datatypes */
  char datarep[32];
};

enum cohort_function_kind {
  COHORT_FUNCTION_PREDEFINED = 1, COHORT_FUNCTION_USER = 2, COHORT_FUNCTION_COMM = 3, COHORT_FUNCTION_WINDOW = 4,
  COHORT_FUNCTION_FILE = 5, COHORT_FUNCTION_SESSION = 6
};
struct cohort_reduction { /* MPI_Op; kind: PREDEFINED or USER */
  struct cohort_object o;
  uint64_t function;  /* address of the program's function */
  uint32_t commutes;
  uint32_t pad0;
};

struct cohort_errhandler { /* kind: PREDEFINED, or for which objects it is; USER: not known */
  struct cohort_object o;
  uint64_t function;
};

#define COHORT_INFO_KEYS_MAX 64u
#define COHORT_INFO_VALUE_MAX 256u /* bytes with the NUL */

/* A change makes a new record with the same id. TRUNCATED: entries are left out (n_entries < n_keys), or a value is
 * cut. */
struct cohort_info { /* kind: 0 */
  struct cohort_object o;
  uint32_t n_keys;    /* that MPI has */
  uint32_t n_entries; /* kept */
  /* n_entries times: key, NUL, value, NUL */
};

/* ---- what a call asks of MPI: in a request and in a call in progress */

enum cohort_side_flag {
  COHORT_SIDE_PRESENT = 1u << 0,    /* the call has this side */
  COHORT_SIDE_IN_PLACE = 1u << 1,   /* MPI_IN_PLACE: no buffer of its own; count and datatype mean nothing */
  COHORT_SIDE_VECTOR = 1u << 2,     /* one count per peer, at `counts` */
  COHORT_SIDE_COUNTS_64 = 1u << 3,  /* counts are MPI_Count, else int */
  COHORT_SIDE_DISPLS_64 = 1u << 4,  /* displacements are MPI_Aint, else int */
  COHORT_SIDE_DISPLS_BYTES = 1u << 5, /* in bytes, else in extents of the datatype */
  /* this rank's call has the argument but MPI does not look at it (the receive side of a Gather on a rank that is not
   * the root) */
  COHORT_SIDE_NOT_HERE = 1u << 6,
  COHORT_SIDE_ARRAYS_GONE = 1u << 7, /* the arrays were copies that are no more: counts, displs or types is 0 */
  /* `count` elements for each of n peers, side by side (the receive side of an Allgather) */
  COHORT_SIDE_PER_PEER = 1u << 8
};
struct cohort_side {
  uint64_t buffer;      /* as the program passed it: MPI_BOTTOM is 0 */
  int64_t count;        /* elements; VECTOR: -1 */
  uint64_t datatype;    /* record; 0: not known, or one per peer, at `types` */
  uint64_t handle;      /* of the datatype */
  /* addresses of the program's arrays, of n entries; types: handles of handle_size bytes. 0: none */
  uint64_t counts, displs, types;
  uint32_t n;           /* peers: entries of the arrays, or of PER_PEER */
  uint32_t flags;       /* enum cohort_side_flag; 0: the call has no such side */
  /* destination or source as passed, in the trace's numbers (-1 any, -2 MPI_PROC_NULL); INT32_MIN: none */
  int32_t peer, tag;
};

struct cohort_action {
  uint32_t op;         /* enum cohort_op; OTHER and COLLECTIVE_INIT: `name` says which */
  int32_t root;        /* as passed; INT32_MIN: none */
  uint64_t comm;       /* record; 0: none, or not known */
  uint64_t comm_handle;
  uint64_t object;     /* record of the window or file that it is about; 0: none */
  uint64_t reduction;  /* record of the MPI_Op; 0: none */
  int64_t offset;      /* in a file, or the displacement in a window's target; INT64_MIN: none */
  /* of a send: the how manieth message to its destination, in its communicator and with its tag; of a collective: the
   * how manieth over its communicator; from 1, as cohort_traffic.sent counts. 0: not known, or none */
  uint64_t nth;
  struct cohort_side send;    /* of a one-sided call: the origin buffer; of a write: what is written */
  struct cohort_side receive; /* of a one-sided call: where the result goes; of a read: where to */
  struct cohort_side target;  /* of a one-sided call: peer, and count and datatype there; buffer is 0 */
  char name[40];       /* MPI_Rput: of a call whose op does not tell; else empty */
};

struct cohort_request_record {
  struct cohort_object o;  /* kind: 0; event, call_site: of the call that made it. f_handle: known if Fortran has it */
  uint64_t start_event;    /* of a persistent one: of its last Start; 0: none */
  uint64_t start_site;
  int64_t since_ns;        /* CLOCK_MONOTONIC when it became active */
  uint64_t next;           /* record of the next one with the same handle, or of the next detached one; 0: none */
  int32_t tid;             /* kernel's id of the thread that posted or started it */
  uint32_t pad0;
  struct cohort_action a;
};

/* What one thread is doing in MPI. `active` is set after the rest is written and cleared before anything is changed: a
 * reader that finds 0 knows that the thread is not in a call, or only on its way in or out. Records are used again by
 * later threads. */
struct cohort_call {
  uint64_t next;           /* address of the next one; 0: none */
  int32_t tid;             /* kernel's id of the thread */
  uint32_t active;
  uint64_t event;          /* events completed when the call began */
  uint64_t call_site;
  int64_t since_ns;        /* CLOCK_MONOTONIC when it began */
  /* Wait*, Test*, Start*: address of an array of handles, which MPI may be changing. Of Fortran callers it may be a
   * copy of our own, of C handles */
  uint64_t requests;
  int64_t n_requests;
  struct cohort_action a;
};

/* ------------------------------------------------------------------ decisions file
 * Go writes it, the rank maps it read-only. Three arrays, each in the order in which the rank will need it, so that
 * the rank does no thinking and no search.
 */
struct cohort_decisions {
  uint64_t magic;
  uint32_t version;
  uint32_t size;       /* sizeof(struct cohort_decisions) */
  uint32_t rank, world_size;
  uint64_t n_matches, n_polls, n_sets; /* n_sets counts entries, not words */
  uint64_t off_matches, off_polls, off_sets; /* byte offsets in the file */
  uint64_t len_sets;   /* bytes of the sets array */
  uint64_t last_event; /* the recording holds events 1..last_event of this rank */
  /* 1: the recorded rank reached MPI_Finalize; 0: it was cut short, replay ends after last_event */
  uint32_t finalized;
  /* enum cohort_op: cut short within this call, which was not complete; 0: outside MPI, or not known */
  uint16_t current_op;
  uint16_t sparse;     /* 1: recorded in racing mode: a wildcard call that has no match takes what comes */
  uint64_t n_checks, off_checks; /* struct cohort_check */
  uint64_t n_streams, off_streams; /* struct cohort_stream: one per thread that was given values */
  uint64_t n_turns, off_turns;     /* struct cohort_turn */
  uint64_t n_waits, off_waits;     /* struct cohort_order: control messages that this rank receives before an event */
  uint64_t n_grants, off_grants;   /* struct cohort_order: control messages that it sends after one */
  uint32_t control;                /* 1: some rank has control messages; the same in all ranks */
  /* 1: park after last_event, as if park_at said so: what the program does next ends it, and others still need this
   * rank's progress */
  uint32_t hold;
};

/* A control message, which bounds buffering (causal.BoundBuffering): of no bytes, on a communicator of its own. The
 * k-th that a rank sends to another is the k-th that that one receives from it. */
struct cohort_order {
  uint64_t event; /* a wait: before it begins; a grant: when it has ended */
  uint32_t peer;  /* the other rank, in MPI_COMM_WORLD */
  uint32_t pad0;
};

#define COHORT_DECISION_WHICH 8 /* match of a Startall in sparse decisions: flags >> 8 is the place in its array */
enum cohort_decision_flag {
  /* match: the recorded receive took no message; poll: failures at the end, no success follows */
  COHORT_DECISION_NEVER = 1u << 0
};

/* The calls of events 1..event have this hash (docs/trace-format.md, CHECK): a replay that has another one has diverged
 * since the check before. */
struct cohort_check {
  uint64_t event;
  uint64_t hash; /* 32 bits of it */
};

/* Where a value came from that the program was given and that another run would not be given. The numbers are part of
 * the trace format. */
enum cohort_value_kind {
  /* numbers of 64 bits */
  COHORT_VALUE_WTIME = 1,         /* MPI_Wtime: the bits of the double */
  COHORT_VALUE_WTICK = 2,         /* likewise */
  COHORT_VALUE_CLOCK_GETTIME = 3, /* ns */
  COHORT_VALUE_GETTIMEOFDAY = 4,  /* us */
  COHORT_VALUE_TIME = 5,          /* s */
  COHORT_VALUE_CLOCK = 6,
  COHORT_VALUE_ARC4RANDOM = 7,
  COHORT_VALUE_RANDOM_DEVICE = 8, /* std::random_device */
  /* bytes */
  COHORT_VALUE_RANDOM = 16,
  COHORT_VALUE_RUSAGE = 17,
  COHORT_VALUE_TIMES = 18,
  COHORT_VALUE_FETCHED = 19,      /* by a one-sided call, packed */
  /* what changed in a window since the value before: pieces of uint64_t offset, uint64_t length, bytes padded to 8 */
  COHORT_VALUE_WINDOW = 20
};

/* In struct cohort_divergence: numbers that are no enum cohort_op. */
#define COHORT_DIVERGED_VALUE 0x100u /* plus an enum cohort_value_kind */
#define COHORT_DIVERGED_TURN 0x200u  /* a call of another thread */

#define COHORT_MAIN_THREAD 1u /* id of the process's first thread */

/* What one thread is given: entries of struct cohort_value, in the order in which it asks. */
struct cohort_stream {
  uint64_t thread; /* id */
  uint64_t count;  /* values */
  uint64_t offset, bytes;
};

/* `length` bytes follow, padded to 8. Numbers of one kind that follow each other share an entry, with 8 bytes each. */
struct cohort_value {
  uint32_t kind; /* enum cohort_value_kind */
  uint32_t length;
};

/* After `steps` calls (events and failed polls) this thread makes the calls; before the first turn it is the main
 * thread. */
struct cohort_turn {
  uint64_t steps;
  uint64_t thread; /* id */
};

/* One per call with a wildcard that names a message: Recv, Sendrecv*, Probe, Mprobe, successful Iprobe/Improbe at the
 * call; Irecv at its post; a persistent receive at its Start. And one, with NEVER, per receive with exact arguments
 * that was cancelled before it took a message. Several of one Startall are in the order of its array. */
struct cohort_match {
  uint64_t event;
  /* rank in the communicator of the call (remote group if inter); with NEVER: the place in the array of a Startall,
   * else 0 */
  int32_t source;
  int32_t tag;
  uint32_t op;
  uint32_t flags; /* enum cohort_decision_flag; see COHORT_DECISION_WHICH */
};

/* One per successful poll: `failures` polls fail first (of whatever kind, in program order), then the poll that is
 * event `event` succeeds. */
struct cohort_poll {
  uint64_t event;
  uint64_t failures;
  uint32_t op;
  uint32_t flags; /* enum cohort_decision_flag */
};

/* One per Waitany, Testany, Waitsome, Testsome that succeeded with an index. `count` uint32_t indices follow, padded to
 * 8 bytes; MPI_UNDEFINED is count 0. */
struct cohort_set {
  uint64_t event;
  uint32_t op;
  uint32_t count;
};

/* ------------------------------------------------------------------ trace file
 * The header page; the rest is in docs/trace-format.md. */
#define COHORT_TRACE_HEADER_SIZE 4096u
#define COHORT_CHUNK_MAGIC 0x4b4e4843u /* "CHNK" */
#define COHORT_CHUNK_MAX 65536u        /* payload bytes at most */

/* What a record begins with; the fields that follow are in docs/trace-format.md. */
enum cohort_record {
  COHORT_RECORD_COMM = 0x01, COHORT_RECORD_MODULE = 0x02, COHORT_RECORD_SITE = 0x03, COHORT_RECORD_NOTE = 0x04,
  COHORT_RECORD_EVENT = 0x05, COHORT_RECORD_END = 0x06, COHORT_RECORD_VALUE = 0x07, COHORT_RECORD_THREAD = 0x08,
  COHORT_RECORD_TURN = 0x09, COHORT_RECORD_CONTENT = 0x0b, COHORT_RECORD_MATCH = 0x10, COHORT_RECORD_POLL = 0x11,
  COHORT_RECORD_SET = 0x12, COHORT_RECORD_CHECK = 0x13, COHORT_RECORD_RACE = 0x14,
  COHORT_RECORD_PENDING = 0x1f, /* only in shapes: a MATCH without a source */
  /* short forms: the bits below are the first field */
  COHORT_RECORD_TIME = 0x20,
  COHORT_RECORD_KNOWN = 0x40,
  COHORT_RECORD_EXPECTED = 0x80,
};

/* Why a trace ends although its rank continued. From DISK on the header is as it was at that moment: the trace counts
 * as that of a rank that was killed then. */
enum cohort_ended {
  COHORT_ENDED_NOT = 0,
  COHORT_ENDED_DISK_COUNTING = 1, /* DISK, as it was written once: the header's counters continued */
  COHORT_ENDED_DISK = 2,          /* the disk was full, or the limit on the size of files was reached */
  COHORT_ENDED_UNABLE = 3,        /* there was no memory, or a record would have been too large */
  COHORT_ENDED_REPAIRED = 4       /* the rest was damaged and is left out; written by Go only */
};

struct cohort_trace_header {
  uint64_t magic;
  uint32_t version;
  uint32_t size;       /* sizeof(struct cohort_trace_header) */
  uint32_t mode;       /* enum cohort_mode: ORDER, RACING or FULL */
  uint32_t flags;      /* enum cohort_flag as run */
  uint32_t rank, world_size;
  uint32_t mpi;        /* enum cohort_mpi */
  uint32_t closed;     /* 1: closed after MPI_Finalize; 0: cut short */
  uint64_t start_ns;   /* CLOCK_REALTIME at initialisation */
  uint64_t committed;  /* bytes of the file that are valid, header included; release store after each record */
  uint64_t events;     /* events completed; may be ahead of the last record in ORDER mode */
  uint64_t polls;      /* failed polls since the last event that is in the file */
  uint32_t incomplete; /* as in the control block */
  uint32_t ended;      /* enum cohort_ended */
  char incomplete_call[48];
  uint64_t incomplete_event;
  uint32_t current_op; /* enum cohort_op of the call in progress, event `events` + 1; 0: outside MPI */
  uint32_t unrecorded; /* bits 1 << enum cohort_value_kind: clocks and random numbers that the program asked, and that
                          are not recorded */
};

/* ------------------------------------------------------------------ racing mode
 * What is undecided, in the trace file's header page. A receive from MPI_ANY_SOURCE that is complete stands here
 * until it is known whether it raced, and counts as traced as long as it does; so a rank that dies at any instant
 * leaves a recording that replays. At a clean close the table is empty. */
#define COHORT_UNDECIDED_OFFSET 512u /* in the file */
#define COHORT_PENDING_MAX 111u

/* `count` receives of messages with one source and tag, whose calls are the events event, event + stride, ... */
struct cohort_pending {
  uint64_t event;     /* of the call that asked: of an Irecv its post, of a persistent receive its Start */
  uint32_t count;     /* 0: none; the last word to be written */
  uint32_t stride;
  int32_t source, tag;
  uint32_t op;        /* enum cohort_op */
  uint32_t which;     /* of a Startall: the place in its array */
};

struct cohort_undecided {
  /* events whose decisions are all here or in the file, plus 1: writing ended after them (enum cohort_ended); 0: it did
   * not */
  uint64_t whole;
  /* receives under way that have taken a message which is not known yet, although it matters: such a recording cannot
   * be replayed */
  uint32_t overtaken;
  uint32_t pad0;
  uint64_t reserved[2];
  struct cohort_pending pending[COHORT_PENDING_MAX];
};

struct cohort_chunk {
  uint32_t magic;
  uint32_t length;      /* payload bytes; 0 while the chunk is the open one: then it runs to `committed` */
  uint32_t crc32c;      /* of the payload; 0 while open */
  uint32_t flags;
  uint64_t first_event; /* number of the last event before this chunk, plus 1 */
};

#endif
