// Checks and completes launch configurations. Free of the vscode API, so that node can test it.

export interface CohortConfiguration {
  type?: string;
  request?: string;
  name?: string;
  program?: string;
  args?: unknown;
  cwd?: string;
  env?: unknown;
  ranks?: unknown;
  mpi?: unknown;
  recording?: string;
  cores?: unknown;
  server?: string;
  token?: string;
  supportsCohortEvents?: boolean;
  stopOnEntry?: unknown;
  yield?: unknown;
  cohortPath?: string;
  [key: string]: unknown;
}

/** What the resolver found out about the surroundings; given, not looked up, so that tests need no editor. */
export interface Surroundings {
  workspaceFolder?: string;
  activeFile?: string;
}

/** A mistake in the configuration that the user can fix: a whole sentence. */
export class ConfigurationError extends Error {}

/** Fills in defaults. An empty configuration (F5 without launch.json) yields undefined where nothing can be guessed. */
export function complete(config: CohortConfiguration, around: Surroundings): CohortConfiguration {
  const out: CohortConfiguration = { ...config, supportsCohortEvents: true };
  out.type ??= 'cohort';
  out.request ??= 'launch';
  const what = out.cores === undefined ? 'MPI' : 'Core files';
  out.name ??= out.recording ? `Replay ${baseName(out.recording)}` : `${what}: ${baseName(out.program ?? 'program')}`;
  if (out.request === 'attach') {
    return out;
  }
  if (out.recording === undefined && out.cores === undefined && out.ranks === undefined) {
    out.ranks = 4;
  }
  if (out.cwd === undefined && out.recording === undefined && around.workspaceFolder !== undefined) {
    out.cwd = around.workspaceFolder;
  }
  return out;
}

/** Throws a ConfigurationError that names the setting, what was found and what to write instead. */
export function check(config: CohortConfiguration): void {
  if (config.request !== 'launch' && config.request !== 'attach') {
    throw new ConfigurationError(`"request" is ${show(config.request)}; Cohort knows "launch" and "attach".`);
  }
  if (config.request === 'attach') {
    checkAttach(config);
    return;
  }
  const hasProgram = typeof config.program === 'string' && config.program !== '';
  const hasRecording = typeof config.recording === 'string' && config.recording !== '';
  if (config.cores !== undefined) {
    checkCores(config);
    return;
  }
  if (!hasProgram && !hasRecording) {
    throw new ConfigurationError('Neither "program" nor "recording" is set: give the MPI program to start, or a recording (NAME.cohort) to replay.');
  }
  if (config.ranks !== undefined) {
    if (typeof config.ranks !== 'number' || !Number.isInteger(config.ranks) || config.ranks < 1) {
      throw new ConfigurationError(`"ranks" is ${show(config.ranks)}; it must be a whole number from 1.`);
    }
    if (hasRecording) {
      throw new ConfigurationError('"ranks" cannot be set together with "recording": a replay has as many ranks as were recorded. Remove "ranks".');
    }
  }
  for (const key of ['args', 'launcherArgs'] as const) {
    const value = config[key];
    if (value !== undefined && !(Array.isArray(value) && value.every((v) => typeof v === 'string'))) {
      throw new ConfigurationError(`"${key}" is ${show(value)}; it must be a list of strings.`);
    }
  }
  if (config.env !== undefined) {
    const env = config.env;
    if (typeof env !== 'object' || env === null || Array.isArray(env) || !Object.values(env).every((v) => typeof v === 'string')) {
      throw new ConfigurationError(`"env" is ${show(env)}; it must be an object whose values are strings.`);
    }
  }
  if (config.yield !== undefined && !['auto', 'on', 'off'].includes(config.yield as string)) {
    throw new ConfigurationError(`"yield" is ${show(config.yield)}; it must be "auto", "on" or "off".`);
  }
}

/** Either a server whose job is joined, or ranks that run. */
function checkAttach(config: CohortConfiguration): void {
  const pids = [config.pid ?? [], config.pids ?? []].flat();
  if (!pids.every((p) => Number.isInteger(p) && (p as number) > 0)) {
    throw new ConfigurationError(`The process ids are ${show(pids)}; "pid" must be a number, and "pids" a list of numbers.`);
  }
  if (config.server !== undefined) {
    if (typeof config.server !== 'string' || config.server === '') {
      throw new ConfigurationError('"server" is empty: give the socket path or host:port that `cohort dap --listen` printed.');
    }
    parseServer(config.server);
  } else if (pids.length === 0 && !config.program) {
    throw new ConfigurationError('Nothing to attach to is set: give "pid" (of mpiexec, or of a rank), "program" (what ranks run), or the "server" of another front end (`cohort dap --listen`).');
  }
}

/** Core files are looked at; nothing is started. */
function checkCores(config: CohortConfiguration): void {
  const cores = config.cores;
  if (!(Array.isArray(cores) && cores.length > 0 && cores.every((c) => typeof c === 'string' && c !== ''))) {
    throw new ConfigurationError(`"cores" is ${show(cores)}; it must be a list of core files, such as ["core.*"].`);
  }
  for (const key of ['recording', 'ranks', 'args', 'env', 'launcherArgs', 'mpi', 'noDebug', 'incompleteOk', 'boundBuffering']) {
    const value = config[key];
    if (value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0)) {
      throw new ConfigurationError(`"${key}" cannot be set together with "cores": core files are looked at, and nothing is started. Remove "${key}".`);
    }
  }
}

/** Where a running server listens. */
export type Server = { kind: 'socket'; path: string } | { kind: 'tcp'; host: string; port: number };

/** Parses host:port, [ipv6]:port or a socket's path. */
export function parseServer(server: string): Server {
  if (server.startsWith('unix:')) {
    return { kind: 'socket', path: server.slice('unix:'.length) };
  }
  if (server.includes('/')) {
    return { kind: 'socket', path: server };
  }
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:]+)):(\d{1,5})$/.exec(server);
  const port = match ? Number(match[3]) : 0;
  if (!match || port < 1 || port > 65535) {
    throw new ConfigurationError(`"server" is ${show(server)}; it must be the path of a socket, or host:port with a port from 1 to 65535.`);
  }
  return { kind: 'tcp', host: match[1] ?? match[2], port };
}

/** The configurations offered where there is no launch.json yet; paths are as they are to be written there (see inWorkspace). */
export function initialConfigurations(program: string | undefined, recordings: string[]): CohortConfiguration[] {
  const list: CohortConfiguration[] = [
    { type: 'cohort', request: 'launch', name: 'Cohort: launch', program: program ?? '${workspaceFolder}/a.out', args: [], ranks: 4, stopOnEntry: false },
  ];
  for (const recording of recordings) {
    list.push({ type: 'cohort', request: 'launch', name: `Cohort: replay ${baseName(recording)}`, recording });
  }
  return list;
}

/** The program that a source file was probably compiled to, of those for which `executable` says that they are there. */
export function guessProgram(activeFile: string | undefined, executable: (path: string) => boolean): string | undefined {
  const stem = activeFile && /^(.*[^/])\.[^./]+$/.exec(activeFile)?.[1];
  return stem ? [stem, `${stem}.out`, stem.replace(/[^/]*$/, 'a.out')].find(executable) : undefined;
}

/** A path as it should be written in launch.json: below the workspace folder relative to that, so that the file can be shared. */
export function inWorkspace(path: string, workspaceFolder: string | undefined): string {
  const folder = workspaceFolder?.replace(/\/+$/, '');
  return folder !== undefined && path.startsWith(folder + '/') ? '${workspaceFolder}' + path.slice(folder.length) : path;
}

function baseName(path: string): string {
  return path.replace(/\/+$/, '').split('/').pop() ?? path;
}

function show(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value);
}
