import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CohortConfiguration, ConfigurationError, check, complete, guessProgram, initialConfigurations, inWorkspace, parseServer } from '../src/config';

test('a live launch gets 4 ranks and the workspace as its directory', () => {
  const config = complete({ program: '/x/tsp' }, { workspaceFolder: '/w' });
  assert.deepEqual(config, { program: '/x/tsp', supportsCohortEvents: true, type: 'cohort', request: 'launch', name: 'MPI: tsp', ranks: 4, cwd: '/w' });
  check(config);
});

test('a replay takes ranks and directory from its recording', () => {
  const config = complete({ recording: '/x/tsp.cohort/' }, { workspaceFolder: '/w' });
  assert.deepEqual(config, { recording: '/x/tsp.cohort/', supportsCohortEvents: true, type: 'cohort', request: 'launch', name: 'Replay tsp.cohort' });
  check(config);
});

test('core files get no ranks', () => {
  const config = complete({ program: '/x/tsp', cores: ['core.*'] }, { workspaceFolder: '/w' });
  assert.deepEqual(config, { program: '/x/tsp', cores: ['core.*'], supportsCohortEvents: true, type: 'cohort', request: 'launch', name: 'Core files: tsp', cwd: '/w' });
  check(config);
  check({ request: 'launch', cores: ['a', 'b'] });
});

const mistakes: [string, CohortConfiguration, RegExp][] = [
  ['nothing to start', {}, /Neither "program" nor "recording"/],
  ['ranks is text', { program: 'a', ranks: '4' }, /"ranks" is "4"; it must be a whole number/],
  ['ranks is zero', { program: 'a', ranks: 0 }, /"ranks" is 0/],
  ['ranks in a replay', { recording: 'a.cohort', ranks: 4 }, /Remove "ranks"/],
  ['cores is text', { program: 'a', cores: 'core' }, /"cores" is "core"; it must be a list of core files/],
  ['no cores', { program: 'a', cores: [] }, /"cores" is \[\]/],
  ['ranks with cores', { program: 'a', cores: ['core'], ranks: 4 }, /Remove "ranks"/],
  ['cores and a recording', { recording: 'a.cohort', cores: ['core'] }, /Remove "recording"/],
  ['args is text', { program: 'a', args: '-x' }, /"args" is "-x"; it must be a list/],
  ['env is a list', { program: 'a', env: ['A=1'] }, /"env" is/],
  ['env holds a number', { program: 'a', env: { A: 1 } }, /"env" is/],
  ['yield', { program: 'a', yield: 'maybe' }, /"auto", "on" or "off"/],
  ['request', { request: 'run', program: 'a' }, /knows "launch" and "attach"/],
  ['attach to nothing', { request: 'attach' }, /Nothing to attach to is set/],
  ['attach to no server', { request: 'attach', server: '' }, /"server" is empty/],
  ['attach to no process', { request: 'attach', pid: 'heat' }, /"pid" must be a number/],
  ['attach to nonsense', { request: 'attach', server: 'here' }, /"server" is "here"/],
  ['attach to a port too high', { request: 'attach', server: 'h:70000' }, /1 to 65535/],
];
for (const [name, config, message] of mistakes) {
  test(`mistake: ${name}`, () => {
    assert.throws(() => check(complete(config, {})), (e: unknown) => e instanceof ConfigurationError && message.test(e.message));
  });
}

test('servers', () => {
  assert.deepEqual(parseServer('127.0.0.1:77'), { kind: 'tcp', host: '127.0.0.1', port: 77 });
  assert.deepEqual(parseServer('[::1]:77'), { kind: 'tcp', host: '::1', port: 77 });
  assert.deepEqual(parseServer('/run/x/dap.sock'), { kind: 'socket', path: '/run/x/dap.sock' });
  assert.deepEqual(parseServer('unix:dap.sock'), { kind: 'socket', path: 'dap.sock' });
});

test('recordings in the workspace are offered', () => {
  const list = initialConfigurations(undefined, ['/w/tsp.cohort']);
  assert.equal(list.length, 2);
  assert.equal(list[1].recording, '/w/tsp.cohort');
  list.forEach((c) => check(complete(c, {})));
});

test('the program is guessed from the source file', () => {
  const there = (...paths: string[]) => (path: string) => paths.includes(path);
  assert.equal(guessProgram('/w/heat.c', there('/w/heat', '/w/a.out')), '/w/heat');
  assert.equal(guessProgram('/w/heat.old.f90', there('/w/heat.old')), '/w/heat.old');
  assert.equal(guessProgram('/w/src/heat.c', there('/w/src/a.out')), '/w/src/a.out');
  assert.equal(guessProgram('/w/heat.c', there()), undefined);
  assert.equal(guessProgram('/w/heat', there('/w/heat')), undefined); // itself a program, no source
  assert.equal(guessProgram('/w/.c', there('/w/')), undefined);
  assert.equal(guessProgram(undefined, () => true), undefined);
});

test('paths in launch.json are relative to the workspace where they can be', () => {
  assert.equal(inWorkspace('/w/tsp.cohort', '/w'), '${workspaceFolder}/tsp.cohort');
  assert.equal(inWorkspace('/w/sub/heat', '/w/'), '${workspaceFolder}/sub/heat');
  assert.equal(inWorkspace('/wx/heat', '/w'), '/wx/heat');
  assert.equal(inWorkspace('/w/heat', undefined), '/w/heat');
});
