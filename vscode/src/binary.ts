// Finds the cohort binary. Free of the vscode API, so that node can test it.

import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

export interface Where {
  configured?: string; // "cohortPath" of the launch configuration, else the setting cohort.path
  workspaceFolder?: string;
  env?: NodeJS.ProcessEnv;
  home?: string;
}

/** The binary was not found, or what was named is not one: a message that says what to do. */
export class BinaryNotFound extends Error {}

/** Returns the absolute path of an executable `cohort`, or throws BinaryNotFound naming the places searched. */
export function findBinary(where: Where): string {
  const env = where.env ?? process.env;
  const home = where.home ?? os.homedir();
  if (where.configured) {
    const named = where.configured.replace(/^~(?=\/)/, home);
    const file = path.isAbsolute(named) || !where.workspaceFolder ? named : path.join(where.workspaceFolder, named);
    const wrong = whyNotExecutable(file);
    if (wrong) {
      throw new BinaryNotFound(`The Cohort binary is set to ${file}, but ${wrong}. Correct "cohort.path" (or "cohortPath" in launch.json), or clear it to search PATH.`);
    }
    return file;
  }
  const places = [
    ...(env.PATH ?? '').split(path.delimiter).filter((d) => d !== ''),
    ...(env.GOBIN ? [env.GOBIN] : []),
    path.join(home, 'go', 'bin'),
    ...(where.workspaceFolder ? [path.join(where.workspaceFolder, 'bin')] : []),
  ];
  for (const place of places) {
    const file = path.join(place, 'cohort');
    if (isExecutable(file)) {
      return file;
    }
  }
  throw new BinaryNotFound(
    'The program "cohort" was not found in PATH, in ~/go/bin or in the workspace\'s bin folder. ' +
      'Build it from the Cohort repository with `make build` and put bin/cohort on PATH, or set "cohort.path" to it.',
  );
}

/** Whether there is an executable file. */
export function isExecutable(file: string): boolean {
  return whyNotExecutable(file) === undefined;
}

function whyNotExecutable(file: string): string | undefined {
  try {
    if (!fs.statSync(file).isFile()) {
      return 'that is not a file';
    }
    fs.accessSync(file, fs.constants.X_OK);
    return undefined;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return code === 'EACCES' ? 'that is not executable' : code === 'ENOENT' ? 'there is no such file' : `it cannot be used (${code})`;
  }
}
