import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { closeAll, onClose, startServer, withDeadline } from './harness.js';

const PROGRAM = fileURLToPath(new URL('../bin/apiserver.cjs', import.meta.url));

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'apiserver-'));
  onClose(() => rm(folder, { recursive: true, force: true }));
});
afterEach(closeAll);

class Program {
  stdout = '';
  stderr = '';
  readonly child: ChildProcess;
  readonly #exit: Promise<unknown[]>;

  constructor(...args: string[]) {
    this.child = spawn(process.execPath, [PROGRAM, ...args]);
    this.#exit = once(this.child, 'close');
    this.child.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    this.child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    onClose(() => this.child.kill('SIGKILL'));
  }

  async exitCode(): Promise<unknown> {
    const [code] = await withDeadline(this.#exit, `exit after ${this.stdout}${this.stderr}`);
    return code;
  }

  async url(): Promise<string> {
    await until(`ready line after ${this.stderr}`, () => this.stdout.includes('\n'));
    return / on (http:\S+)\n/.exec(this.stdout)![1]!;
  }
}

/** Serves the test folder on a free port. */
async function serve(...paths: string[]): Promise<{ program: Program; url: string }> {
  const all = paths.length > 0 ? paths : [folder];
  const program = new Program('--port=0', ...all.map((path) => `--manifests=${path}`));
  return { program, url: await program.url() };
}

async function names(url: string): Promise<string[]> {
  const response = await fetch(`${url}/api/v1/services`);
  const { items } = (await response.json()) as { items: { metadata: { name: string } }[] };
  return items.map(({ metadata }) => metadata.name).filter((name) => name !== 'kubernetes');
}

async function untilNames(url: string, ...expected: string[]): Promise<void> {
  let last: string[] = [];
  let isDone = false;
  void (async () => {
    while (!isDone) {
      last = await names(url).catch(() => []);
      isDone ||= last.join() === expected.join();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  try {
    await until(`services ${expected.join()}`, () => isDone);
  } catch {
    throw new Error(`services are ${last.join()} instead of ${expected.join()}`);
  } finally {
    isDone = true;
  }
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
    program.child.kill('SIGTERM');
    expect(await program.exitCode()).toBe(0);
    expect(program.stderr).toBe('');
  });

  it('ends immediately when a watch is open', async () => {
    const { program, url } = await serve();
    const response = await fetch(`${url}/api/v1/services?watch=1`);
    expect(response.status).toBe(200);
    program.child.kill('SIGINT');
    expect(await program.exitCode()).toBe(0);
    await response.body?.cancel().catch(() => undefined);
  });

  it('loads objects in an order that the API accepts', async () => {
    await write(
      'a.yaml',
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: shop}\n',
    );
    await write('b.yaml', 'apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n');
    await write('c.json', JSON.stringify({ kind: 'List', items: [] }));
    await write('.hidden.yaml', 'not: [valid');
    await write('notes.txt', 'not a manifest');
    await write('d.yaml', service('auto'));
    await write(
      'e.yaml',
      'apiVersion: v1\nkind: Service\nmetadata: {name: fixed}\nspec: {clusterIP: 10.96.1.1, ports: [{port: 1}]}\n',
    );
    const { url } = await serve();
    expect(await names(url)).toEqual(['auto', 'fixed']);
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

  it('updates an object in place', async () => {
    await write('a.yaml', service('a'));
    const { url } = await serve();
    const path = `${url}/api/v1/namespaces/default/services/a`;
    const read = async () =>
      (await (await fetch(path)).json()) as {
        metadata: { uid: string };
        spec: { ports: { port: number }[] };
      };
    const before = await read();
    await write('a.yaml', service('a', 81));
    let after = before;
    const end = Date.now() + 10_000;
    while (after.spec.ports[0]?.port !== 81 && Date.now() < end) after = await read();
    expect(after.spec.ports[0]?.port).toBe(81);
    expect(after.metadata.uid).toBe(before.metadata.uid);
  });

  it('follows editors that write a new file and rename it', async () => {
    const path = join(folder, 'a.yaml');
    await write('a.yaml', service('a'));
    const { url } = await serve(path);
    await write('a.yaml.new', service('b'));
    await rename(`${path}.new`, path);
    await untilNames(url, 'b');
  });

  it('follows the links of a ConfigMap volume', async () => {
    for (const [version, name] of [
      ['..1', 'a'],
      ['..2', 'b'],
    ] as const) {
      await mkdir(join(folder, version));
      await writeFile(join(folder, version, 'svc.yaml'), service(name));
    }
    await symlink('..1', join(folder, '..data'));
    await symlink('..data/svc.yaml', join(folder, 'svc.yaml'));
    const { url } = await serve();
    await untilNames(url, 'a');
    await symlink('..2', join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    await untilNames(url, 'b');
  });

  it('follows a folder that is replaced as a whole', async () => {
    const inner = join(folder, 'objects');
    await mkdir(inner);
    await writeFile(join(inner, 'a.yaml'), service('a'));
    const { url } = await serve(inner);
    await rename(inner, join(folder, 'old'));
    await mkdir(inner);
    await writeFile(join(inner, 'a.yaml'), service('b'));
    await untilNames(url, 'b');
    await writeFile(join(inner, 'a.yaml'), service('c'));
    await untilNames(url, 'c');
  });

  it('preserves the last good objects of a file that becomes invalid, and reports that once', async () => {
    await write('a.yaml', service('a'));
    const { program, url } = await serve();
    await write('a.yaml', 'a: [1');
    await until('the error', () => program.stderr.includes('a.yaml'));
    await write('b.yaml', service('b'));
    await untilNames(url, 'a', 'b');
    await write('a.yaml', service('c'));
    await untilNames(url, 'b', 'c');
    expect(program.stderr).toMatch(/^apiserver: \S+a\.yaml: document 1, line 1: [^\n]+\n$/);
  });

  it('preserves an object that the API refuses to change', async () => {
    await write('a.yaml', service('a'));
    const { program, url } = await serve();
    await write('a.yaml', service('a', 0) + service('b'));
    await untilNames(url, 'a', 'b');
    expect(program.stderr).toMatch(
      /a\.yaml: Service "a" in namespace "default" is invalid: spec\.ports\[0\]/,
    );
  });
});

describe('the program ends with one line', () => {
  const start = async (text: string): Promise<Program> => {
    await write('a.yaml', text);
    return new Program('--port=0', `--manifests=${join(folder, 'a.yaml')}`);
  };

  it.each([
    [service('a') + '---\n- 1\n', /a\.yaml: document 2, line 7: not an object$/],
    ['a: [1\nb: 2', /a\.yaml: document 1, line \d+: /],
    [
      service('x').replace('[{port: 80}]', '[]'),
      /a\.yaml: Service "x" in namespace "default" is invalid: spec\.ports: Required value$/,
    ],
    [
      service('x').replace('ports', 'prots'),
      /a\.yaml: Service "x" .* unknown field "spec\.prots"$/,
    ],
    [
      service('x').replace('v1', 'apps/v1'),
      /a\.yaml: document 1, line 2: no kind "Service" in version "apps\/v1"$/,
    ],
    [
      service('x').replace('name: x', 'name: x, namespace: shop'),
      /a\.yaml: Service "x" in namespace "shop" is refused: namespaces "shop" not found$/,
    ],
  ])('for a file such as %j', async (text, message) => {
    const program = await start(text);
    expect(await program.exitCode()).toBe(1);
    expect(program.stdout).toBe('');
    const [line, ...rest] = program.stderr.split('\n');
    expect(rest).toEqual(['']);
    expect(line).toMatch(/^apiserver: /);
    expect(line).toMatch(message);
  });

  it('for a file that does not exist', async () => {
    const program = new Program('--port=0', '--manifests=/no/such/file');
    expect(await program.exitCode()).toBe(1);
    expect(program.stderr).toBe('apiserver: /no/such/file: no such file or folder\n');
  });

  it('for a port in use', async () => {
    const { port } = await startServer();
    const program = new Program(`--port=${port}`);
    expect(await program.exitCode()).toBe(1);
    expect(program.stderr).toBe(
      `apiserver: cannot listen on 127.0.0.1:${port}: address already in use\n`,
    );
  });
});

describe('the program, called with', () => {
  it('--help, prints its flags', async () => {
    const program = new Program('--help');
    expect(await program.exitCode()).toBe(0);
    for (const flag of ['--port', '--host', '--manifests', '--service-cluster-ip-range']) {
      expect(program.stdout).toContain(flag);
    }
  });

  it('--version, prints it', async () => {
    const program = new Program('--version');
    expect(await program.exitCode()).toBe(0);
    expect(program.stdout).toMatch(/^apiserver \d+\.\d+\.\d+\n$/);
  });

  it.each([
    [['--bogus'], 'unknown flag --bogus; see apiserver --help'],
    [['--manifset=x'], 'unknown flag --manifset; did you mean --manifests?'],
    [['--prot', '0'], 'unknown flag --prot; did you mean --port?'],
    [['-x'], 'unknown flag -x; see apiserver --help'],
    [['--port'], '--port needs a value'],
    [['--manifests', '--port=0'], '--manifests needs a value'],
    [['--version=1'], '--version takes no value'],
    [['objects'], 'objects is one argument too many'],
    [['--port=x'], '"x" is not a port'],
  ])('%j, says what is wrong in one line and ends with 2', async (args, message) => {
    const program = new Program(...args);
    expect(await program.exitCode()).toBe(2);
    expect(program.stderr).toBe(`apiserver: ${message}\n`);
  });
});
