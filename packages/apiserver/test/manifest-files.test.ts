import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until, untilEqual } from '@kube-dns/testkit';
import type { ApiServer } from '../src/index.js';
import { ManifestFollower } from '../src/manifests.js';
import { closeAll, onClose, startServer } from './harness.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'apiserver-'));
  onClose(() => rm(folder, { recursive: true, force: true }));
});
afterEach(closeAll);

/** Serves the files of the test folder, or of these paths, as the program does. */
async function serve(...paths: string[]): Promise<{ server: ApiServer; errors: string[] }> {
  const errors: string[] = [];
  const follower = new ManifestFollower({
    paths: paths.length > 0 ? paths : [folder],
    onError: (message) => errors.push(message),
  });
  await follower.load();
  const server = await startServer({ seed: (objects) => follower.seed(objects) });
  onClose(() => follower.close());
  await follower.follow(server.objects);
  return { server, errors };
}

function names(server: ApiServer): string[] {
  const all = server.list('Service').map(({ metadata }) => metadata.name);
  return all.filter((name) => name !== 'kubernetes');
}

async function untilNames(server: ApiServer, ...expected: string[]): Promise<void> {
  await untilEqual(expected.join(), () => names(server).join());
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

describe('a server with files of objects', () => {
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
    const { server } = await serve();
    expect(names(server)).toEqual(['auto', 'fixed']);
  });

  it('updates an object in place', async () => {
    await write('a.yaml', service('a'));
    const { server } = await serve();
    const read = () => server.get('Service', 'default', 'a');
    const before = read();
    await write('a.yaml', service('a', 81));
    await until('the new port', () => read()?.spec.ports?.[0]?.port === 81);
    expect(read()?.metadata.uid).toBe(before?.metadata.uid);
  });

  it('follows editors that write a new file and rename it', async () => {
    const path = join(folder, 'a.yaml');
    await write('a.yaml', service('a'));
    const { server } = await serve(path);
    await write('a.yaml.new', service('b'));
    await rename(`${path}.new`, path);
    await untilNames(server, 'b');
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
    const { server } = await serve();
    await untilNames(server, 'a');
    await symlink('..2', join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    await untilNames(server, 'b');
  });

  it('follows a folder that is replaced as a whole', async () => {
    const inner = join(folder, 'objects');
    await mkdir(inner);
    await writeFile(join(inner, 'a.yaml'), service('a'));
    const { server } = await serve(inner);
    await rename(inner, join(folder, 'old'));
    await mkdir(inner);
    await writeFile(join(inner, 'a.yaml'), service('b'));
    await untilNames(server, 'b');
    await writeFile(join(inner, 'a.yaml'), service('c'));
    await untilNames(server, 'c');
  });

  it('preserves the last good objects of a file that becomes invalid, and reports that once', async () => {
    await write('a.yaml', service('a'));
    const { server, errors } = await serve();
    await write('a.yaml', 'a: [1');
    await until('the error', () => errors.length > 0);
    await write('b.yaml', service('b'));
    await untilNames(server, 'a', 'b');
    await write('a.yaml', service('c'));
    await untilNames(server, 'b', 'c');
    expect(errors).toEqual([expect.stringMatching(/a\.yaml: document 1, line 1: /)]);
  });

  it('preserves an object that the API refuses to change', async () => {
    await write('a.yaml', service('a'));
    const { server, errors } = await serve();
    await write('a.yaml', service('a', 0) + service('b'));
    await untilNames(server, 'a', 'b');
    expect(errors).toEqual([
      expect.stringMatching(
        /a\.yaml: Service "a" in namespace "default" is invalid: spec\.ports\[0\]/,
      ),
    ]);
  });
});

describe('a file is refused at the start', () => {
  it.each([
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
  ])('such as %j', async (text, message) => {
    await write('a.yaml', text);
    await expect(serve(join(folder, 'a.yaml'))).rejects.toThrow(message);
  });

  it('that does not exist', async () => {
    await expect(serve('/no/such/file')).rejects.toThrow('/no/such/file: no such file or folder');
  });
});
