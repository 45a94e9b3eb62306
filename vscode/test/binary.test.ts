import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { BinaryNotFound, findBinary } from '../src/binary';

let dir = '';
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'cohort-binary-'));
});
afterEach(() => fs.rmSync(dir, { recursive: true }));

function make(mode: number, ...parts: string[]): string {
  const file = path.join(dir, ...parts);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, '#!/bin/sh\n');
  fs.chmodSync(file, mode);
  return file;
}

test('PATH comes before the home and the workspace', () => {
  const inPath = make(0o755, 'p', 'cohort');
  make(0o755, 'h', 'go', 'bin', 'cohort');
  assert.equal(findBinary({ env: { PATH: path.join(dir, 'p') }, home: path.join(dir, 'h') }), inPath);
});

test('go/bin of the home, then bin of the workspace', () => {
  const inWorkspace = make(0o755, 'w', 'bin', 'cohort');
  const where = { env: { PATH: path.join(dir, 'empty') }, home: path.join(dir, 'h'), workspaceFolder: path.join(dir, 'w') };
  assert.equal(findBinary(where), inWorkspace);
  const inHome = make(0o755, 'h', 'go', 'bin', 'cohort');
  assert.equal(findBinary(where), inHome);
});

test('not found: says where it looked and how to get it', () => {
  assert.throws(() => findBinary({ env: {}, home: dir }), (e: unknown) => e instanceof BinaryNotFound && /make build/.test(e.message) && /cohort\.path/.test(e.message));
});

test('a configured path is used or refused, never replaced silently', () => {
  make(0o755, 'p', 'cohort');
  const where = { env: { PATH: path.join(dir, 'p') }, home: dir };
  assert.throws(() => findBinary({ ...where, configured: path.join(dir, 'missing') }), /there is no such file/);
  assert.throws(() => findBinary({ ...where, configured: dir }), /that is not a file/);
  const mine = make(0o755, 'mine');
  assert.equal(findBinary({ ...where, configured: mine }), mine);
  assert.equal(findBinary({ ...where, configured: '~/mine' }), mine);
});

test('a file that is not executable is said to be so', () => {
  const plain = make(0o644, 'plain');
  assert.throws(() => findBinary({ configured: plain, home: dir }), /that is not executable/);
});
