import { mkdtemp, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RunningProgram, untilEqual } from '@kube-dns/testkit';
import { closeAll, onClose, startServer } from './harness.js';

const PROGRAM = fileURLToPath(new URL('../bin/apiserver.cjs', import.meta.url));

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'apiserver-'));
  onClose(() => rm(folder, { recursive: true, force: true }));
});
afterEach(closeAll);

function run(...args: string[]): RunningProgram {
  const program = new RunningProgram('apiserver', process.execPath, [PROGRAM, ...args]);
  onClose(() => program.close());
  return program;
}

/** Serves the test folder on a free port. */
async function serve(...paths: string[]): Promise<{ program: RunningProgram; url: string }> {
  const all = paths.length > 0 ? paths : [folder];
  const program = run('--port=0', ...all.map((path) => `--manifests=${path}`));
  const [, url = ''] = await program.waitForLine(/ on (http:\S+)\n/);
  return { program, url };
}

async function names(url: string): Promise<string[]> {
  const response = await fetch(`${url}/api/v1/services`);
  const { items } = (await response.json()) as { items: { metadata: { name: string } }[] };
  return items.map(({ metadata }) => metadata.name).filter((name) => name !== 'kubernetes');
}

async function untilNames(url: string, ...expected: string[]): Promise<void> {
  await untilEqual(expected.join(), async () => (await names(url)).join());
}

function service(name: string, port = 80): string {
  return `---\napiVersion: v1\nkind: Service\nmetadata: {name: ${name}}\nspec: {ports: [{port: ${port}}]}\n`;
}

/** Replaces a file atomically: one that is written in place may be read while it is empty. */
async function write(name: string, text: string): Promise<void> {
  const hidden = join(folder, `.${name}`);
  await writeFile(hidden, text);
  await rename(hidden, join(folder, name));
}

describe('the program', () => {
  it('prints the number of objects and its URL, and ends in order', async () => {
    await write('a.yaml', service('a') + service('b'));
    const { program } = await serve();
    expect(program.stdout).toMatch(/^apiserver: serving 9 objects on http:\/\/127\.0\.0\.1:\d+\n$/);
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(program.stderr).toBe('');
  });

  it('ends immediately when a watch is open', async () => {
    const { program, url } = await serve();
    const response = await fetch(`${url}/api/v1/services?watch=1`);
    expect(response.status).toBe(200);
    program.signal('SIGINT');
    expect(await program.ended).toBe(0);
    await response.body?.cancel().catch(() => undefined);
  });

  it('follows new, changed and removed files and objects', async () => {
    await write('a.yaml', service('a'));
    const { program, url } = await serve();
    await write('b.yaml', service('b') + service('c'));
    await untilNames(url, 'a', 'b', 'c');
    await write('b.yaml', service('c'));
    await untilNames(url, 'a', 'c');
    await unlink(join(folder, 'a.yaml'));
    await untilNames(url, 'c');
    expect(program.stderr).toBe('');
  });
});

describe('the program ends with one line', () => {
  it('for a file that is refused', async () => {
    await write('a.yaml', service('a') + '---\n- 1\n');
    const program = run('--port=0', `--manifests=${join(folder, 'a.yaml')}`);
    expect(await program.ended).toBe(1);
    expect(program.stdout).toBe('');
    expect(program.stderr).toMatch(/^apiserver: \S+a\.yaml: document 2, line 7: not an object\n$/);
  });

  it('for a port in use', async () => {
    const { port } = await startServer();
    const program = run(`--port=${port}`);
    expect(await program.ended).toBe(1);
    expect(program.stderr).toBe(
      `apiserver: cannot listen on 127.0.0.1:${port}: address already in use\n`,
    );
  });
});

describe('the program, called with', () => {
  it('--help, prints its flags', async () => {
    const program = run('--help');
    expect(await program.ended).toBe(0);
    for (const flag of ['--port', '--host', '--manifests', '--service-cluster-ip-range']) {
      expect(program.stdout).toContain(flag);
    }
  });

  it('--version, prints it', async () => {
    const program = run('--version');
    expect(await program.ended).toBe(0);
    expect(program.stdout).toMatch(/^apiserver \d+\.\d+\.\d+\n$/);
  });

  it('an unknown flag, says what is wrong in one line and ends with 2', async () => {
    const program = run('--bogus');
    expect(await program.ended).toBe(2);
    expect(program.stderr).toBe('apiserver: unknown flag --bogus; see apiserver --help\n');
  });
});
