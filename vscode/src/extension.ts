import * as cp from 'node:child_process';
import * as vscode from 'vscode';
import { BinaryNotFound, findBinary } from './binary';
import { CohortConfiguration, ConfigurationError, check, complete, initialConfigurations, parseServer } from './config';

const type = 'cohort';

export function activate(context: vscode.ExtensionContext): void {
  const provider = new ConfigurationProvider();
  context.subscriptions.push(
    vscode.debug.registerDebugConfigurationProvider(type, provider),
    vscode.debug.registerDebugConfigurationProvider(type, provider, vscode.DebugConfigurationProviderTriggerKind.Dynamic),
    vscode.debug.registerDebugAdapterDescriptorFactory(type, new AdapterFactory()),
    vscode.commands.registerCommand('cohort.setFocus', setFocus),
    vscode.commands.registerCommand('cohort.runToCut', runToCut),
    vscode.commands.registerCommand('cohort.sendInput', sendInput),
    vscode.commands.registerCommand('cohort.doctor', doctor),
  );
}

class ConfigurationProvider implements vscode.DebugConfigurationProvider {
  async provideDebugConfigurations(folder?: vscode.WorkspaceFolder): Promise<vscode.DebugConfiguration[]> {
    const recordings = folder ? await vscode.workspace.findFiles(new vscode.RelativePattern(folder, '**/*.cohort/recording.json'), '**/node_modules/**', 20) : [];
    const paths = recordings.map((uri) => vscode.Uri.joinPath(uri, '..').fsPath);
    return initialConfigurations(undefined, paths) as vscode.DebugConfiguration[];
  }

  resolveDebugConfiguration(folder: vscode.WorkspaceFolder | undefined, config: vscode.DebugConfiguration): vscode.ProviderResult<vscode.DebugConfiguration> {
    if (!config.type && !config.request && !config.name) {
      return null; // F5 without launch.json: let VS Code offer to create one from our snippets
    }
    return complete(config as CohortConfiguration, { workspaceFolder: folder?.uri.fsPath }) as vscode.DebugConfiguration;
  }

  // After ${variables} have been replaced.
  async resolveDebugConfigurationWithSubstitutedVariables(_folder: vscode.WorkspaceFolder | undefined, config: vscode.DebugConfiguration): Promise<vscode.DebugConfiguration | undefined> {
    try {
      check(config as CohortConfiguration);
      return config;
    } catch (error) {
      if (!(error instanceof ConfigurationError)) {
        throw error;
      }
      const open = 'Open launch.json';
      if ((await vscode.window.showErrorMessage(error.message, { modal: true }, open)) === open) {
        await vscode.commands.executeCommand('workbench.action.debug.configure');
      }
      return undefined;
    }
  }
}

class AdapterFactory implements vscode.DebugAdapterDescriptorFactory {
  async createDebugAdapterDescriptor(session: vscode.DebugSession): Promise<vscode.DebugAdapterDescriptor> {
    const config = session.configuration as CohortConfiguration;
    if (config.request === 'attach') {
      const server = parseServer(config.server ?? '');
      return server.kind === 'socket' ? new vscode.DebugAdapterNamedPipeServer(server.path) : new vscode.DebugAdapterServer(server.port, server.host);
    }
    const args = ['dap'];
    const log = settings().get<string>('logFile');
    if (log) {
      args.push('--log-file', log);
    }
    return new vscode.DebugAdapterExecutable(await binary(session.workspaceFolder, config.cohortPath), args);
  }
}

function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration('cohort');
}

async function binary(folder: vscode.WorkspaceFolder | undefined, named?: string): Promise<string> {
  try {
    return findBinary({ configured: named || settings().get<string>('path'), workspaceFolder: folder?.uri.fsPath });
  } catch (error) {
    if (error instanceof BinaryNotFound) {
      const open = 'Open Settings';
      void vscode.window.showErrorMessage(error.message, open).then((choice) => {
        if (choice === open) {
          void vscode.commands.executeCommand('workbench.action.openSettings', 'cohort.path');
        }
      });
    }
    throw error;
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

async function doctor(): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0];
  const file = await binary(folder);
  const output = vscode.window.createOutputChannel('Cohort');
  output.show(true);
  cp.execFile(file, ['doctor'], (error, stdout, stderr) => {
    output.append(stdout + stderr);
    if (error && typeof error.code !== 'number') {
      output.appendLine(error.message);
    }
  });
}
