import * as cp from 'node:child_process';
import * as vscode from 'vscode';
import { BinaryNotFound, findBinary, isExecutable } from './binary';
import { CohortConfiguration, ConfigurationError, check, complete, guessProgram, initialConfigurations, inWorkspace, parseServer } from './config';

const type = 'cohort';

export function activate(context: vscode.ExtensionContext): void {
  const provider = new ConfigurationProvider();
  context.subscriptions.push(
    vscode.debug.registerDebugConfigurationProvider(type, provider),
    vscode.debug.registerDebugConfigurationProvider(type, provider, vscode.DebugConfigurationProviderTriggerKind.Dynamic),
    vscode.debug.registerDebugAdapterDescriptorFactory(type, new AdapterFactory()),
    vscode.debug.onDidReceiveDebugSessionCustomEvent(tellCut),
    vscode.commands.registerCommand('cohort.setFocus', setFocus),
    vscode.commands.registerCommand('cohort.runToCut', runToCut),
    vscode.commands.registerCommand('cohort.sendInput', sendInput),
    vscode.commands.registerCommand('cohort.doctor', doctor),
  );
}

class ConfigurationProvider implements vscode.DebugConfigurationProvider {
  async provideDebugConfigurations(folder?: vscode.WorkspaceFolder): Promise<vscode.DebugConfiguration[]> {
    const recordings = folder ? await vscode.workspace.findFiles(new vscode.RelativePattern(folder, '**/*.cohort/recording.json'), '**/node_modules/**', 20) : [];
    const active = vscode.window.activeTextEditor?.document.uri;
    const program = guessProgram(active?.scheme === 'file' ? active.fsPath : undefined, isExecutable);
    const relative = (file: string): string => inWorkspace(file, folder?.uri.fsPath);
    const paths = recordings.map((uri) => relative(vscode.Uri.joinPath(uri, '..').fsPath));
    return initialConfigurations(program && relative(program), paths) as vscode.DebugConfiguration[];
  }

  resolveDebugConfiguration(folder: vscode.WorkspaceFolder | undefined, config: vscode.DebugConfiguration): vscode.ProviderResult<vscode.DebugConfiguration> {
    if (!config.type && !config.request && !config.name) {
      return null; // F5 without launch.json: let VS Code offer to create one from our snippets
    }
    return complete(config as CohortConfiguration, { workspaceFolder: folder?.uri.fsPath }) as vscode.DebugConfiguration;
  }

  // After ${variables} have been replaced.
  async resolveDebugConfigurationWithSubstitutedVariables(folder: vscode.WorkspaceFolder | undefined, config: vscode.DebugConfiguration): Promise<vscode.DebugConfiguration | undefined> {
    try {
      check(config as CohortConfiguration);
      if (config.request !== 'attach') {
        locate(folder, config.cohortPath);
      }
      return config;
    } catch (error) {
      if (error instanceof ConfigurationError) {
        const open = 'Open launch.json';
        if ((await vscode.window.showErrorMessage(error.message, { modal: true }, open)) === open) {
          await vscode.commands.executeCommand('workbench.action.debug.configure');
        }
      } else if (error instanceof BinaryNotFound) {
        await tellNotFound(error, true);
      } else {
        throw error;
      }
      return undefined;
    }
  }
}

/** Says in the debug console where every rank is stopped after a causal breakpoint; VS Code itself shows only the rank that hit it. */
function tellCut(event: vscode.DebugSessionCustomEvent): void {
  if (event.session.type === type && event.event === 'cohort/cutReached') {
    vscode.debug.activeDebugConsole.appendLine((event.body as { text: string }).text);
  }
}

class AdapterFactory implements vscode.DebugAdapterDescriptorFactory {
  async createDebugAdapterDescriptor(session: vscode.DebugSession): Promise<vscode.DebugAdapterDescriptor> {
    const config = session.configuration as CohortConfiguration;
    if (config.request === 'attach' && config.server !== undefined) {
      const server = parseServer(config.server);
      return server.kind === 'socket' ? new vscode.DebugAdapterNamedPipeServer(server.path) : new vscode.DebugAdapterServer(server.port, server.host);
    }
    const args = ['dap'];
    const log = settings().get<string>('logFile');
    if (log) {
      args.push('--log-file', log);
    }
    return new vscode.DebugAdapterExecutable(locate(session.workspaceFolder, config.cohortPath), args);
  }
}

function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration('cohort');
}

/** The binary for a session or command in this folder; throws BinaryNotFound. */
function locate(folder: vscode.WorkspaceFolder | undefined, named?: string): string {
  return findBinary({ configured: named || settings().get<string>('path'), workspaceFolder: folder?.uri.fsPath });
}

async function tellNotFound(error: BinaryNotFound, modal: boolean): Promise<void> {
  const open = 'Open Settings';
  if ((await vscode.window.showErrorMessage(error.message, { modal }, open)) === open) {
    // The path is one of the machine that has the program: with Remote-SSH the user's settings do not even list it.
    await (vscode.env.remoteName === undefined
      ? vscode.commands.executeCommand('workbench.action.openSettings', 'cohort.path')
      : vscode.commands.executeCommand('workbench.action.openRemoteSettings', { query: 'cohort.path' }));
  }
}

function session(): vscode.DebugSession | undefined {
  const active = vscode.debug.activeDebugSession;
  if (active?.type === type) {
    return active;
  }
  void vscode.window.showInformationMessage('No Cohort session is active: start one first.');
  return undefined;
}

async function ask(command: string, body: object): Promise<unknown> {
  try {
    return await session()?.customRequest(command, body);
  } catch (error) {
    void vscode.window.showErrorMessage((error as Error).message);
    return undefined;
  }
}

async function setFocus(): Promise<void> {
  const now = (await ask('cohort/ranks', {})) as { focus?: string } | undefined;
  if (!now) {
    return;
  }
  const ranks = await vscode.window.showInputBox({ title: 'Focus', prompt: 'Ranks that step, continue and pause act on: 0-3,7 or 0-63:4 or all', value: now.focus ?? 'all' });
  if (ranks !== undefined) {
    await ask('cohort/setFocus', { ranks });
  }
}

async function runToCut(): Promise<void> {
  const at = await vscode.window.showInputBox({ title: 'Run to the causal cut', prompt: 'An event of the recording, RANK:NUMBER', placeHolder: '2:17' });
  if (at) {
    await ask('cohort/runTo', { at });
  }
}

async function sendInput(): Promise<void> {
  const line = await vscode.window.showInputBox({ title: "Rank 0's standard input", prompt: 'One line; a newline is added' });
  if (line !== undefined) {
    await ask('cohort/input', { data: line + '\n' });
  }
}

let doctorOutput: vscode.OutputChannel | undefined;

async function doctor(): Promise<void> {
  let file: string;
  try {
    file = locate(vscode.workspace.workspaceFolders?.[0]);
  } catch (error) {
    if (error instanceof BinaryNotFound) {
      return tellNotFound(error, false);
    }
    throw error;
  }
  const output = (doctorOutput ??= vscode.window.createOutputChannel('Cohort'));
  output.clear();
  output.show(true);
  cp.execFile(file, ['doctor'], (error, stdout, stderr) => {
    output.append(stdout + stderr);
    if (error && typeof error.code !== 'number') {
      output.appendLine(error.message);
    }
  });
}
