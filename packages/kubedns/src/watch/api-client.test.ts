import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { StartupError } from '@kube-dns/daemon';
import { loadKubeConfig, parseRetryAfter } from './api-client.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubedns-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function file(text: string): Promise<string> {
  const path = join(folder, 'config');
  await writeFile(path, text);
  return path;
}

function kubeconfig(server: string, user = '{}'): string {
  return `
apiVersion: v1
kind: Config
current-context: here
contexts: [{ name: here, context: { cluster: mine, user: me } }]
clusters: [{ name: mine, cluster: { server: "${server}" } }]
users: [{ name: me, user: ${user} }]
`;
}

/** The line that the program ends with, and its exit code. */
function failure(flags: { kubecfgFile?: string; masterUrl?: string }): [string, number] {
  try {
    loadKubeConfig({ kubecfgFile: '', masterUrl: '', ...flags });
  } catch (error) {
    if (error instanceof StartupError) return [error.message, error.exitCode];
    throw error;
  }
  throw new Error('it loaded');
}

const IN_CLUSTER = ['KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT'] as const;
const NO_POD = '; give --kubecfg-file or --kube-master-url';

describe('a kubeconfig', () => {
  it('brings the server and the credentials', async () => {
    const kubecfgFile = await file(kubeconfig('https://192.0.2.1:6443', '{ token: secret }'));
    const config = loadKubeConfig({ kubecfgFile, masterUrl: '' });
    expect(config.getCurrentCluster()).toMatchObject({
      server: 'https://192.0.2.1:6443',
      skipTLSVerify: false,
    });
    const options: { headers?: Record<string, string> } = {};
    await config.applyToHTTPSOptions(options);
    expect(options.headers).toEqual({ Authorization: 'Bearer secret' });
  });

  it('may have a server without TLS', async () => {
    const kubecfgFile = await file(kubeconfig('http://127.0.0.1:8001'));
    const config = loadKubeConfig({ kubecfgFile, masterUrl: '' });
    await expect(config.applyToHTTPSOptions({})).resolves.toBeUndefined();
  });

  it('is overridden by --kube-master-url only for the server', async () => {
    const kubecfgFile = await file(kubeconfig('https://192.0.2.1:6443', '{ token: secret }'));
    const config = loadKubeConfig({ kubecfgFile, masterUrl: 'http://127.0.0.1:8001' });
    expect(config.getCurrentCluster()?.server).toBe('http://127.0.0.1:8001');
    expect(config.getCurrentUser()?.token).toBe('secret');
  });

  it('that is a pipe is not waited for', () => {
    const kubecfgFile = join(folder, 'pipe');
    execFileSync('mkfifo', [kubecfgFile]);
    const [message] = failure({ kubecfgFile });
    expect(message).toBe(
      `cannot read the kubeconfig ${kubecfgFile}: not a regular file, but a pipe`,
    );
  });

  it('that is not there ends the program with one line that names it', () => {
    const kubecfgFile = join(folder, 'missing');
    const [message, exitCode] = failure({ kubecfgFile });
    expect(message.startsWith(`cannot read the kubeconfig ${kubecfgFile}: `)).toBe(true);
    expect(message).toContain('no such file or directory');
    expect(exitCode).toBe(255);
  });

  it.each([
    ['broken YAML', 'a: [1', /unexpected end|expected|flow/],
    ['an empty file', '', /empty/],
    ['something else', 'null', /^it is not a kubeconfig$/],
    ['a list of the wrong things', 'clusters: [1]', /name is missing/],
    [
      'no current context',
      'apiVersion: v1',
      /^it has no current-context; kubectl config use-context NAME sets it$/,
    ],
    [
      'a context that is not there',
      kubeconfig('https://a').replace('current-context: here', 'current-context: gone'),
      /^it has no context gone, which is its current-context; kubectl config get-contexts /,
    ],
    [
      'a cluster that is not there',
      kubeconfig('https://a').replace('cluster: mine', 'cluster: gone'),
      /^it has no cluster gone, which the context here names$/,
    ],
    [
      'a certificate that is not there',
      kubeconfig('https://a', '{ client-certificate: /nowhere/crt, client-key: /nowhere/key }'),
      /^it names \/nowhere\/crt: no such file or directory$/,
    ],
    ['a server that is no URL', kubeconfig('localhost:8080'), /^server "localhost:8080" is not an/],
  ])('with %s ends the program with one line that names it', async (_what, text, reason) => {
    const kubecfgFile = await file(text);
    const [message, exitCode] = failure({ kubecfgFile });
    const start = `cannot read the kubeconfig ${kubecfgFile}: `;
    expect(message.startsWith(start)).toBe(true);
    expect(message.slice(start.length)).toMatch(reason);
    expect(message).not.toContain('\n');
    expect(exitCode).toBe(255);
  });
});

describe('a URL alone', () => {
  it('is asked without credentials', async () => {
    const config = loadKubeConfig({ kubecfgFile: '', masterUrl: 'http://127.0.0.1:8001' });
    expect(config.getCurrentCluster()?.server).toBe('http://127.0.0.1:8001');
    const options: { headers?: object } = {};
    await config.applyToHTTPSOptions(options);
    expect(options.headers).toEqual({});
  });
});

describe('the service account', () => {
  const before = IN_CLUSTER.map((name) => [name, process.env[name]] as const);
  const set = (name: string, value: string | undefined) => {
    // oxlint-disable-next-line typescript/no-dynamic-delete -- the only way to unset one
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  };
  beforeEach(() => IN_CLUSTER.forEach((name) => set(name, undefined)));
  afterEach(() => before.forEach(([name, value]) => set(name, value)));

  it('is not looked for outside a pod', () => {
    const line = (name: string) => `no API server: not in a pod (${name} is not set)${NO_POD}`;
    expect(failure({})).toEqual([line('KUBERNETES_SERVICE_HOST'), 255]);
    set('KUBERNETES_SERVICE_HOST', '127.0.0.1');
    expect(failure({})).toEqual([line('KUBERNETES_SERVICE_PORT'), 255]);
  });

  it('must be mounted', () => {
    set('KUBERNETES_SERVICE_HOST', '127.0.0.1');
    set('KUBERNETES_SERVICE_PORT', '443');
    const [message, exitCode] = failure({});
    expect(message).toMatch(/^no API server: .*ENOENT: .*serviceaccount/);
    expect(exitCode).toBe(255);
  });
});

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

describe('parseRetryAfter', () => {
  it.each([
    ['7', 7_000],
    [' 120 ', 120_000],
    ['0', 0],
    ['Fri, 02 Jan 2026 03:05:05 GMT', 60_000],
    ['Friday, 02-Jan-26 03:04:15 GMT', 10_000],
    ['Fri Jan  2 03:04:06 2026 GMT', 1_000],
    ['Fri, 02 Jan 2026 03:04:04 GMT', 0],
    ['soon', 0],
    ['-5', 0],
    ['1.5', 0],
    ['', 0],
    [undefined, 0],
  ])('takes %j for %i ms', (value, ms) => {
    expect(parseRetryAfter(value, () => NOW)).toBe(ms);
  });
});
