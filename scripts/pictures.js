// Makes one picture of docs/pictures: node pictures.js NAME FILE. scripts/pictures.sh prepares what it needs and says it in the environment.
'use strict';
const { chromium } = require('playwright-core');
const cp = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { smaller } = require('./smallerpng');

const [, , name, file] = process.argv;
const workspace = path.join(process.env.WORK, 'workspace');
const limit = 120_000;

const lineOf = (source, mark) => {
  const index = fs.readFileSync(path.join(workspace, source), 'utf8').split('\n').findIndex((line) => line.includes(mark));
  if (index < 0) throw new Error(`no line of ${source} holds ${mark}`);
  return index + 1;
};

// Which variables are opened, from the scope on.
const scenes = {
  'vscode-handles': {
    source: 'particles.c', program: 'particles', mark: 'MPI_Sendrecv(mine',
    open: [['Locals', 'MPI_Sendrecv', 'sends'], ['Locals', 'MPI_Sendrecv', 'receives'], ['Locals', 'request'], ['Locals', 'status'], ['Arguments', 'ring'], ['Arguments', 'particle_type', 'constructor']],
    shut: ['Registers'],
  },
  'vscode-fortran': {
    source: 'fparticles.f90', program: 'fparticles', mark: 'breakpoint: particles',
    open: [['Locals', 'MPI_Sendrecv', 'sends'], ['Locals', 'MPI_Sendrecv', 'receives'], ['Locals', 'request'], ['Locals', 'status'], ['Arguments', 'ring'], ['Arguments', 'row_type', 'constructor']],
    shut: ['Registers'],
  },
};

async function browser(use) {
  const profile = path.join(process.env.WORK, 'browser');
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM, viewport: null, headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--window-size=1500,1700'],
  });
  try {
    const page = context.pages()[0] ?? (await context.newPage());
    try {
      await use(page);
    } catch (error) {
      await page.screenshot({ path: path.join(os.tmpdir(), 'pictures-failed.png') });
      throw error;
    }
  } finally {
    await context.close();
  }
}

/** The rows of Variables that are there, from the top: {level, label, element}. */
async function rows(page) {
  const list = page.locator('.debug-variables .monaco-list-row');
  const out = [];
  for (let i = 0; i < (await list.count()); i++) {
    const row = list.nth(i);
    const [index, level, text, expanded] = await row.evaluate((e) => [Number(e.dataset.index), Number(e.ariaLevel), e.textContent.trim(), e.ariaExpanded]);
    out.push({ index, level, text, expanded, row });
  }
  return out.sort((a, b) => a.index - b.index);
}

/** Opens the variable at a path such as ['Locals', 'request']. */
async function open(page, names) {
  const deadline = Date.now() + limit;
  for (let depth = 1; depth <= names.length; depth++) {
    for (;;) {
      const all = await rows(page);
      let at = -1;
      for (let d = 1; d <= depth; d++) {
        at = all.findIndex((r, i) => i > at && r.level === d && new RegExp(`^${names[d - 1]}\\b`).test(r.text));
        if (at < 0) break;
      }
      if (at >= 0 && all[at].expanded === 'true') break;
      if (at >= 0) await all[at].row.locator('.monaco-tl-twistie').click();
      if (Date.now() > deadline) throw new Error(`no variable ${names.slice(0, depth)} among:\n${all.map((r) => r.level + ' ' + r.text).join('\n')}`);
      await page.waitForTimeout(200);
    }
  }
}

async function command(page, text) {
  await page.keyboard.press('F1');
  await page.waitForSelector('.quick-input-widget input');
  await page.keyboard.type(text);
  await page.waitForSelector('.quick-input-list .monaco-list-row');
  await page.waitForTimeout(300);
  await page.keyboard.press('Enter');
  await page.waitForTimeout(300);
}

async function vscode(scene) {
  const line = lineOf(scene.source, scene.mark);
  await browser(async (page) => {
    await page.setViewportSize({ width: 1400, height: 1780 });
    await page.goto(`${process.env.URL}/?folder=${workspace}`);
    await page.waitForSelector('.monaco-workbench .part.editor', { timeout: limit });
    await page.locator(`.explorer-folders-view .monaco-list-row[aria-label^="${scene.source}"]`).dblclick({ timeout: limit });
    await page.waitForSelector('.editor-instance .view-line', { timeout: limit });
    await page.keyboard.press('Control+G');
    await page.waitForSelector('.quick-input-widget input');
    await page.keyboard.type(String(line));
    await page.waitForTimeout(500);
    await page.keyboard.press('Enter');
    await page.waitForTimeout(500);
    await command(page, 'View: Show Run and Debug');
    // The key does nothing until the parts of VS Code that it is for are loaded.
    for (const deadline = Date.now() + limit; (await page.locator('.glyph-margin-widgets [class*=codicon-debug-breakpoint]').count()) === 0; ) {
      if (Date.now() > deadline) throw new Error('no breakpoint is shown');
      await page.locator('.editor-instance .view-line').filter({ hasText: /MPI_Sendrecv.mine/ }).first().click();
      await page.keyboard.press('F9');
      await page.waitForTimeout(2000);
    }
    // The configuration of this program, as a user chooses it.
    await command(page, 'Debug: Select and Start Debugging');
    await page.keyboard.type(scene.program);
    await page.waitForTimeout(500);
    await page.keyboard.press('Enter');
    await page.waitForSelector('.debug-top-stack-frame-line', { timeout: limit });
    const sash = page.locator('.monaco-grid-view .sash-container .monaco-sash.vertical');
    const side = await page.locator('.part.sidebar').boundingBox();
    for (let i = 0; i < (await sash.count()); i++) {
      const box = await sash.nth(i).boundingBox();
      if (box && Math.abs(box.x - side.x - side.width) < 6) {
        await page.mouse.move(box.x + box.width / 2, 600);
        await page.mouse.down();
        await page.mouse.move(860, 600, { steps: 5 });
        await page.mouse.up();
      }
    }
    for (const title of ['Watch', 'Call Stack', 'Breakpoints']) {
      const header = page.locator(`.pane-header[aria-label^="${title}" i][aria-expanded=true]`);
      if (await header.count()) await header.first().click({ position: { x: 40, y: 8 } });
    }
    for (const names of scene.open) await open(page, names);
    await page.mouse.move(1200, 12); // where it opens nothing
    await page.waitForTimeout(1000);
    await page.screenshot({ path: file });
    await page.keyboard.press('Shift+F5');
    await page.waitForTimeout(1500);
  });
}

const tmux = (...args) => cp.execFileSync('tmux', ['-L', 'cohort-pictures', '-f', '/dev/null', ...args], { cwd: workspace, encoding: 'utf8', env: { ...process.env, TERM: 'xterm-256color' } });
const screen = (...args) => tmux('capture-pane', '-p', '-t', 'picture', ...args);

/** Waits until the terminal shows the text. */
async function shows(text) {
  for (const deadline = Date.now() + limit; !screen().includes(text); ) {
    if (Date.now() > deadline) throw new Error(`the terminal does not show ${JSON.stringify(text)}:\n${screen()}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function terminal(columns, lines, words, drive) {
  tmux('new-session', '-d', '-s', 'picture', '-x', String(columns), '-y', String(lines), ...words);
  try {
    await drive();
    return screen('-e');
  } finally {
    try {
      tmux('kill-server');
    } catch {
      // it has ended
    }
  }
}

const type = (...keys) => tmux('send-keys', '-t', 'picture', ...keys);
const basic = ['#1e1e1e', '#e06c6c', '#7fc97f', '#e0b860', '#6ca8f0', '#d08ce0', '#5fc8d0', '#d4d4d4'];
const cube = (n) => {
  if (n < 16) return basic[n % 8];
  if (n >= 232) return `rgb(${Array(3).fill(8 + 10 * (n - 232))})`;
  const part = (v) => (v === 0 ? 0 : 55 + 40 * v);
  return `rgb(${[part(Math.floor((n - 16) / 36)), part(Math.floor((n - 16) / 6) % 6), part((n - 16) % 6)]})`;
};

/** What a terminal shows, as HTML. */
function html(ansi) {
  let style = {};
  let out = '';
  for (const piece of ansi.replace(/\n+$/, '').split(/(\x1b\[[\d;]*m)/)) {
    const codes = /^\x1b\[([\d;]*)m$/.exec(piece);
    if (!codes) {
      const { reverse, fg = basic[7], bg } = style;
      const css = [`color:${reverse ? basic[0] : fg}`, `background:${reverse ? fg : bg ?? 'transparent'}`, style.bold && 'font-weight:bold', style.dim && 'opacity:.6'].filter(Boolean).join(';');
      out += `<span style="${css}">${piece.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</span>`;
      continue;
    }
    const list = codes[1].split(';').map(Number);
    for (let i = 0; i < list.length; i++) {
      const c = list[i];
      if (c === 0) style = {};
      else if (c === 1) style.bold = true;
      else if (c === 2) style.dim = true;
      else if (c === 7) style.reverse = true;
      else if (c === 27) style.reverse = false;
      else if (c === 22) style.bold = style.dim = false;
      else if (c >= 30 && c <= 37) style.fg = basic[c - 30];
      else if (c >= 90 && c <= 97) style.fg = basic[c - 90];
      else if (c === 39) style.fg = undefined;
      else if (c >= 40 && c <= 47) style.bg = basic[c - 40];
      else if (c === 49) style.bg = undefined;
      else if (c === 38 || c === 48) {
        style[c === 38 ? 'fg' : 'bg'] = cube(list[i + 2]);
        i += 2;
      }
    }
  }
  return `<pre style="margin:0;padding:14px 16px;display:inline-block;background:#1e1e1e;font:13px/1.22 'DejaVu Sans Mono',monospace">${out}</pre>`;
}

async function shoot(body) {
  await browser(async (page) => {
    await page.setContent(`<body style="margin:0;background:#fff"><div id="all" style="display:inline-block">${body}</div></body>`);
    await page.locator('#all').screenshot({ path: file });
  });
}

async function tui() {
  const line = lineOf('particles.c', 'MPI_Sendrecv(mine');
  const ansi = await terminal(132, 40, ['cohort', 'debug', '-n', '2', '--', './particles'], async () => {
    await shows('■');
    type('o');
    await shows('file:');
    type('C-u', path.join(workspace, 'particles.c'), 'Enter');
    await shows('make_particle_type');
    type('g');
    await shows('line:');
    type(String(line), 'Enter');
    await shows('breakpoint: particles');
    type('a');
    await shows('■');
    type('c');
    await shows(`particles.c:${line}`);
    type(':');
    for (const [text, answer] of [['mpipp request', 'handle 0x'], ['mpipp particle_type mine 2', 'beta']]) {
      type('-l', text);
      type('Enter');
      await shows(answer);
    }
  });
  await shoot(html(ansi));
}

async function layout() {
  const svg = path.join(process.env.WORK, 'layout.svg');
  const commands = [`break particles.c:${lineOf('particles.c', 'MPI_Sendrecv(mine')} ranks 0`, 'continue', `mpipp --svg ${svg} particle_type 2`, 'mpipp --layout --colour particle_type 2'];
  const text = cp.execFileSync('cohort', ['debug', '--batch', '-n', '2', ...commands.flatMap((c) => ['-x', c]), '--', './particles'], { cwd: workspace, encoding: 'utf8' });
  const answer = text.slice(text.indexOf('(cohort) mpipp --layout')).trimEnd();
  fs.copyFileSync(svg, path.join(path.dirname(file), 'layout.svg'));
  await shoot(`${html(answer)}<br>${fs.readFileSync(svg, 'utf8')}`);
}

(async () => {
  if (scenes[name]) await vscode(scenes[name]);
  else if (name === 'tui') await tui();
  else if (name === 'layout') await layout();
  else throw new Error(`no picture is called ${name}`);
  smaller(file);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
