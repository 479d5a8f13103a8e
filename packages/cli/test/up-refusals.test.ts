import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TemporaryFolder } from '@kube-dns/testkit';
import { runHere } from './support/run-command.js';

const WEB = '{ name: web, command: [node, --version] }';

let folder: TemporaryFolder;

beforeEach(() => {
  folder = new TemporaryFolder();
});

afterEach(() => folder.close());

/** Writes a manifest with this container and returns its path. */
function manifest(container: string): string {
  const text = `kind: Pod\nmetadata: { name: p }\nspec:\n  containers:\n    - ${container}\n`;
  return folder.file('pod.yaml', text);
}

async function expectRefusal(args: readonly string[], status: number, message: string | RegExp) {
  const ran = await runHere(['up', ...args]);
  expect([ran.status, ran.stdout]).toEqual([status, '']);
  expect(ran.stderr).toMatch(message);
  expect(ran.stderr.trimEnd().split('\n')).toHaveLength(1);
}

describe('kube-dns up refuses with one line and status 1', () => {
  it('a manifest that is not there', async () => {
    await expectRefusal(
      ['--manifest', '/nowhere/pod.yaml'],
      1,
      'kube-dns: cannot read the manifest /nowhere/pod.yaml: no such file or directory\n',
    );
  });

  it('broken YAML, with its place', async () => {
    const file = folder.file('pod.yaml', 'kind: Pod\nmetadata:\n\tname: p\n');
    const message =
      /^kube-dns: .+pod\.yaml: line 3, column 1: tabs are not allowed as indentation\n$/;
    await expectRefusal(['--manifest', file], 1, message);
  });

  it('a program that is not there', async () => {
    const file = manifest('{ name: a, command: [no-such-program] }');
    await expectRefusal(
      ['--manifest', file],
      1,
      'kube-dns: container a: unknown program no-such-program: ' +
        'it is neither one of ours nor on PATH\n',
    );
  });

  it('a port in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      await expectRefusal(
        ['--manifest', manifest(`{ name: web, ports: [{ containerPort: ${port} }] }`)],
        1,
        new RegExp(
          `^kube-dns: container web: port ${port}/TCP is already in use on this machine.*; --port-offset=1000 adds 1000 to all ports\n$`,
        ),
      );
    } finally {
      server.close();
    }
  });

  it('a kubeconfig that is none', async () => {
    const file = folder.file('kubeconfig', 'clusters: []\ncurrent-context: gone\n');
    await expectRefusal(
      ['--manifest', manifest(WEB), '--kubeconfig', file],
      1,
      /^kube-dns: cannot read the kubeconfig .+: it has no context gone, .*\n$/,
    );
  });

  it('a kubeconfig that is not there', async () => {
    await expectRefusal(
      ['--manifest', manifest(WEB), '--kubeconfig', 'gone'],
      1,
      'kube-dns: cannot read the kubeconfig gone: no such file or directory\n',
    );
  });
});

describe('kube-dns up refuses with status 2', () => {
  it.each([
    [['--what'], 'kube-dns: unknown flag --what; see kube-dns up --help\n'],
    [['--only', 'x'], 'kube-dns: --only x: the pod has web\n'],
    [['--port-offset=x'], 'kube-dns: --port-offset x: is not a whole number from 0 to 65535\n'],
  ])('%j', async (args, message) => {
    await expectRefusal(['--manifest', manifest(WEB), ...args], 2, message);
  });
});
