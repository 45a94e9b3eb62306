// The main job through VS Code's own protocol client: a causal breakpoint in a replay of tsp, and a column of heat by its datatype, on each MPI.
//
// Needs the binary (COHORT_BINARY, else ../bin/cohort) and the MPIs. Where one is missing the test is skipped, unless COHORT_REQUIRE_MPI=1.

import assert from 'node:assert/strict';
import * as cp from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DebugClient } from '@vscode/debugadapter-testsupport';
import { DebugProtocol } from '@vscode/debugprotocol';

const root = path.resolve(__dirname, '..', '..', '..');
const cohort = process.env.COHORT_BINARY ?? path.join(root, 'bin', 'cohort');
const require_ = process.env.COHORT_REQUIRE_MPI === '1';
const limit = 120_000; // a bound, never a wait

// Open MPI refuses to run as root unless told that this is meant; the programs are our own.
if (process.getuid?.() === 0) {
  process.env.OMPI_ALLOW_RUN_AS_ROOT = process.env.OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = '1';
}

function compiler(mpi: string): string | undefined {
  const found = cp.spawnSync('sh', ['-c', `command -v mpicc.${mpi}`], { encoding: 'utf8' });
  return found.status === 0 ? found.stdout.trim() : undefined;
}

function lineOf(source: string, mark: string): number {
  const index = fs.readFileSync(source, 'utf8').split('\n').findIndex((line) => line.includes(mark));
  assert.ok(index >= 0, `no line of ${source} holds ${mark}`);
  return index + 1;
}

/** A client with a log of the events, so that none is missed between two waits. */
class Client extends DebugClient {
  readonly seen: DebugProtocol.Event[] = [];
  private wake: (() => void)[] = [];

  constructor() {
    super(cohort, 'dap', 'cohort', undefined, true);
    for (const name of ['stopped', 'terminated', 'initialized', 'output', 'cohort/cutReached', 'cohort/idle']) {
      this.on(name, (event: DebugProtocol.Event) => {
        this.seen.push(event);
        this.wake.splice(0).forEach((f) => f());
      });
    }
    this.defaultTimeout = limit;
  }

  /** Resolves with the first event from `since` on that fits; rejects at once when the session has ended, for then it is no longer possible. */
  async expect(what: string, since: number, fits: (e: DebugProtocol.Event) => boolean): Promise<DebugProtocol.Event> {
    const deadline = Date.now() + limit;
    for (;;) {
      const found = this.seen.slice(since).find(fits);
      if (found) {
        return found;
      }
      if (this.seen.slice(since).some((e) => e.event === 'terminated')) {
        throw new Error(`${what} is no longer possible: the session has ended; output: ${this.outputs()}`);
      }
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`${what} did not come in ${limit} ms; output: ${this.outputs()}`)), Math.max(0, deadline - Date.now()));
        this.wake.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  private get adapter(): cp.ChildProcess {
    return (this as unknown as { _adapterProcess: cp.ChildProcess })._adapterProcess;
  }

  /** Disconnects and waits for the end of the adapter, which comes by itself: DebugClient's stop kills it. */
  async ends(): Promise<void> {
    const adapter = this.adapter;
    const ended = new Promise<number | string | null>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the adapter has not ended ${limit} ms after the disconnect`)), limit);
      adapter.once('exit', (code, signal) => {
        clearTimeout(timer);
        resolve(signal ?? code);
      });
    });
    await this.disconnectRequest();
    adapter.stdin?.end();
    assert.equal(await ended, 0, 'the end of the adapter');
  }

  /** For a test that has failed: without words from what is killed. */
  kill(): void {
    this.adapter.kill('SIGKILL');
  }

  outputs(): string {
    return this.seen.filter((e) => e.event === 'output').map((e) => e.body.output).join('');
  }
}

const rankOf = (threadId: number): number => Math.floor((threadId - 1) / 4096);

/** The frame that a user looks at: the innermost with source. */
async function userFrame(client: Client, threadId: number): Promise<DebugProtocol.StackFrame> {
  const stack = await client.stackTraceRequest({ threadId });
  const frame = stack.body.stackFrames.find((f) => f.source?.path && fs.existsSync(f.source.path));
  assert.ok(frame, `no frame with source in ${JSON.stringify(stack.body.stackFrames)}`);
  return frame;
}

for (const mpi of ['mpich', 'openmpi']) {
  const mpicc = compiler(mpi);
  const missing = !fs.existsSync(cohort) ? `${cohort} is not built (make build)` : mpicc === undefined ? `mpicc.${mpi} is not installed (make setup)` : undefined;
  if (missing && require_) {
    throw new Error(missing);
  }
  describe(`adapter with ${mpi}`, { skip: missing ?? false, concurrency: false }, () => {
    let dir = '';
    before(() => {
      dir = fs.mkdtempSync(path.join(os.tmpdir(), 'cohort-vscode-'));
      for (const name of ['tsp', 'heat']) {
        cp.execFileSync(mpicc!, ['-g', '-O0', '-o', path.join(dir, name), path.join(root, 'testprograms', `${name}.c`), '-lm'], { stdio: 'inherit' });
      }
      fs.copyFileSync(path.join(root, 'testprograms', 'cities15.txt'), path.join(dir, 'cities15.txt'));
    });
    after(() => fs.rmSync(dir, { recursive: true, force: true }));

    test('a causal breakpoint in the replay of tsp', { timeout: 2 * limit }, async () => {
      const source = path.join(root, 'testprograms', 'tsp.c');
      cp.execFileSync(cohort, ['record', '-n', '4', '-o', 'tsp.cohort', '--', './tsp', 'cities15.txt'], { cwd: dir, stdio: 'pipe' });
      const client = new Client();
      await client.start();
      try {
        const init = await client.initializeRequest();
        const modes = (init.body as unknown as { breakpointModes: { mode: string }[] }).breakpointModes.map((m) => m.mode);
        assert.deepEqual(modes.sort(), ['all', 'causal', 'focus', 'rank']);
        const launched = client.launchRequest({ recording: path.join(dir, 'tsp.cohort'), supportsCohortEvents: true } as DebugProtocol.LaunchRequestArguments);
        await client.expect('initialized', 0, (e) => e.event === 'initialized');
        const breakpoint = { line: lineOf(source, 'breakpoint: task received'), condition: '[2] tasks_received == 3', mode: 'causal' };
        const set = await client.setBreakpointsRequest({ source: { path: source }, breakpoints: [breakpoint] });
        assert.equal(set.body.breakpoints.length, 1);
        await client.configurationDoneRequest();
        await launched;
        const cut = await client.expect('the cut', 0, (e) => e.event === 'cohort/cutReached');
        const positions = cut.body.positions as number[];
        assert.equal(positions.length, 4);

        // The recording, asked by another command, says the same.
        const report = JSON.parse(cp.execFileSync(cohort, ['cut', 'tsp.cohort', '--at', cut.body.at, '--json'], { cwd: dir, encoding: 'utf8' }));
        assert.deepEqual(positions, report.cut);
        assert.equal(report.consistent, true);

        const ranks = await client.customRequest('cohort/waitIdle', {});
        for (const rank of ranks.body.ranks) {
          assert.equal(rank.state, 'stopped', JSON.stringify(rank));
          assert.equal(rank.event, positions[rank.rank], JSON.stringify(rank));
        }
        const threads = await client.threadsRequest();
        assert.deepEqual(threads.body.threads.map((t) => t.name).sort(), ['rank 0', 'rank 1', 'rank 2', 'rank 3']);
        const leader = threads.body.threads.find((t) => rankOf(t.id) === 2)!;
        const frame = await userFrame(client, leader.id);
        assert.equal(frame.name, 'receive_task');
        const value = await client.evaluateRequest({ expression: 'tasks_received', frameId: frame.id, context: 'hover' });
        assert.equal(value.body.result, '3');
        await client.ends();
      } finally {
        client.kill();
      }
    });

    test('a column of heat by its datatype', { timeout: 2 * limit }, async () => {
      const source = path.join(root, 'testprograms', 'heat.c');
      const client = new Client();
      await client.start();
      try {
        await client.initializeRequest();
        const launched = client.launchRequest({ program: path.join(dir, 'heat'), args: ['8'], ranks: 4 } as DebugProtocol.LaunchRequestArguments);
        await client.expect('initialized', 0, (e) => e.event === 'initialized');
        await client.setBreakpointsRequest({ source: { path: source }, breakpoints: [{ line: lineOf(source, 'breakpoint: halo exchange') }] });
        await client.configurationDoneRequest();
        await launched;
        const stop = await client.expect('a stop', 0, (e) => e.event === 'stopped' && e.body.reason === 'breakpoint');
        const frame = await userFrame(client, stop.body.threadId);
        assert.equal(frame.name, 'exchange_halo');

        const printed = await client.evaluateRequest({ expression: 'mpipp column_type first_column', frameId: frame.id, context: 'repl' });
        const decoded = [...printed.body.result.matchAll(/\(VECTOR\)\S*\s+0x[0-9a-f]+\s+(\S+)/g)].map((m) => Number(m[1]));
        assert.equal(decoded.length, 4, printed.body.result);
        for (let row = 0; row < 4; row++) {
          const direct = await client.evaluateRequest({ expression: `first_column[${row} * stride]`, frameId: frame.id, context: 'watch' });
          assert.equal(decoded[row], Number(direct.body.result), `row ${row}`);
        }

        const scopes = await client.scopesRequest({ frameId: frame.id });
        const locals = scopes.body.scopes.find((s) => s.name === 'Locals')!;
        const variables = await client.variablesRequest({ variablesReference: locals.variablesReference });
        const type = variables.body.variables.find((v) => v.name === 'column_type')!;
        assert.match(type.value, /VECTOR/);
        const tree = await client.variablesRequest({ variablesReference: type.variablesReference });
        assert.ok(tree.body.variables.length > 0, 'column_type has no constructor tree');
        await client.ends();
      } finally {
        client.kill();
      }
    });

    test('what cannot be launched is refused with a reason', { timeout: limit }, async () => {
      const client = new Client();
      await client.start();
      try {
        await client.initializeRequest();
        await assert.rejects(client.launchRequest({ program: path.join(dir, 'absent') } as DebugProtocol.LaunchRequestArguments), /absent/);
        await assert.rejects(client.customRequest('cohort/nonsense'), /nonsense/);
        await client.ends();
      } finally {
        client.kill();
      }
    });
  });
}
