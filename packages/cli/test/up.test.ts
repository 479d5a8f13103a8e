import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { freePort, isAlive, type RunningProgram, until } from '@kube-dns/testkit';
import { fixture } from './support/plans.js';
import { pidOf, startCommand } from './support/run-command.js';

/** As long a signal is the echo of another. */
const ECHO_MS = 250;

let folder: string;
let port: number;
let run: RunningProgram | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kube-dns-test-'));
  mkdirSync(join(folder, 'tmp'));
  mkdirSync(join(folder, 'elsewhere'));
  port = await freePort();
});

afterEach(async () => {
  await run?.close('SIGTERM');
  run = undefined;
  rmSync(folder, { recursive: true });
});

/** Writes a manifest of the given containers (flow mappings) and returns its path. */
function manifest(containers: readonly string[], spec = ''): string {
  const file = join(folder, 'pod.yaml');
  const list = containers.map((container) => `    - ${container}`).join('\n');
  const text = `kind: Pod\nmetadata: { name: p }\nspec:\n  ${spec}\n  containers:\n${list}\n`;
  writeFileSync(file, text);
  return file;
}

const container = (name: string, program: string, args: readonly string[] = [], more = '') =>
  `{ name: ${name}, command: [node, '${fixture(program)}'], args: [${args
    .map((arg) => `'${arg}'`)
    .join(', ')}]${more} }`;

const web = (more = '') =>
  container(
    'web',
    'server.mjs',
    [String(port)],
    `, ports: [{ name: http, containerPort: ${port} }],
       readinessProbe: { periodSeconds: 1, failureThreshold: 1,
         httpGet: { path: /ready, port: http } }${more}`,
  );

function up(args: readonly string[], env: NodeJS.ProcessEnv = {}): RunningProgram {
  const cwd = join(folder, 'elsewhere');
  run = startCommand(['up', ...args], { cwd, env: { TMPDIR: join(folder, 'tmp'), ...env } });
  return run;
}

async function expectFailure(args: readonly string[], status: number, message: string | RegExp) {
  const command = up(args);
  expect(await command.ended).toBe(status);
  expect(command.stderr).toMatch(message);
  expect(command.stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(readdirSync(join(folder, 'tmp'))).toEqual([]);
  return command;
}

describe('kube-dns up', () => {
  it('runs a pod from any folder until SIGTERM', async () => {
    mkdirSync(join(folder, 'objects'));
    writeFileSync(join(folder, 'objects', 'note'), 'hello\n');
    const volumes = `volumes: [{ name: objects, hostPath: { path: ./objects } },
      { name: scratch, emptyDir: {} }]`;
    const reader = container(
      'web',
      'server.mjs',
      [String(port), '/manifests/note'],
      `, env: [{ name: SCRATCH, value: /scratch }], volumeMounts: [
        { name: objects, mountPath: /manifests }, { name: scratch, mountPath: /scratch }]`,
    );
    const command = up(['--manifest', manifest([reader], volumes)]);
    await command.waitForLine(/^web {6}\| file says hello$/m);
    expect(readdirSync(join(folder, 'tmp'))).toHaveLength(1);
    await command.waitForLine(/^The pod p is ready after \d+\.\d s\.$/m);
    const pid = await pidOf(command, 'web');
    command.signal('SIGTERM');
    expect(await command.ended).toBe(0);
    expect(isAlive(pid)).toBe(false);
    expect(readdirSync(join(folder, 'tmp'))).toEqual([]);
    expect(command.stderr).toBe('');
  });

  it('restarts a container that is killed, and no others', async () => {
    const command = up(['--manifest', manifest([web(), container('mule', 'stubborn.mjs')])]);
    await command.waitForLine(/Stop it with Ctrl-C/);
    const [first, other] = [await pidOf(command, 'web'), await pidOf(command, 'mule')];
    process.kill(first, 'SIGKILL');
    await command.waitForLine(/web was ended by SIGKILL, is restarted immediately/);
    await command.waitForLine(/the pod is ready again/);
    expect(await pidOf(command, 'web')).not.toBe(first);
    expect(isAlive(other)).toBe(true);
    command.signal('SIGINT');
    await command.waitForLine(/got SIGTERM/);
    // For a moment a second signal counts as an echo of the first.
    await delay(2 * ECHO_MS);
    command.signal('SIGINT');
    expect(await command.ended).toBe(130);
    expect(isAlive(other)).toBe(false);
  });

  it('kills what does not end within the grace period, and still ends with 0', async () => {
    const file = manifest([container('mule', 'stubborn.mjs')], 'terminationGracePeriodSeconds: 1');
    const command = up(['--manifest', file]);
    const pid = await pidOf(command, 'mule');
    command.signal('SIGTERM');
    expect(await command.ended).toBe(0);
    expect(isAlive(pid)).toBe(false);
  });

  it('stops when the reader of its log has gone', async () => {
    const command = up(['--manifest', manifest([web()])]);
    const pid = await pidOf(command, 'web');
    await command.waitForLine(/Stop it with Ctrl-C/);
    await command.hangUp('stdout');
    process.kill(pid, 'SIGKILL'); // makes it write a line
    expect(await command.ended).toBe(0);
  });

  it('leaves nothing running after an uncaught error of its own', async () => {
    const file = manifest([container('mule', 'stubborn.mjs')]);
    const command = up(['--manifest', file], {
      NODE_OPTIONS: `--require=${fixture('throw-on-sigusr2.cjs')}`,
    });
    const pid = await pidOf(command, 'mule');
    command.signal('SIGUSR2');
    expect(await command.ended).toBe(1);
    await until('the end of the container', () => !isAlive(pid));
    expect(readdirSync(join(folder, 'tmp'))).toEqual([]);
  });

  it('runs only the containers that are asked for', async () => {
    const file = manifest([web(), container('crash', 'crash.mjs')]);
    const command = up(['--manifest', file, '--only', 'web'], { FORCE_COLOR: '1' });
    await command.waitForLine(/Stop it with Ctrl-C/);
    expect(command.stdout).toContain('\u001b[36mweb      |\u001b[0m pid');
    expect(command.stdout).not.toContain('crash');
  });
});

describe('kube-dns up refuses with one line and status 1', () => {
  it('a container that fails at its first start, and stops the others', async () => {
    const file = manifest([
      container('mule', 'server.mjs', [String(port)]),
      container('api', 'crash.mjs', ['7']),
    ]);
    const command = await expectFailure(
      ['--manifest', file],
      1,
      'kube-dns: container api ended with status 7 before it was ready: ' +
        'crash: objects/web.yaml: spec.ports is missing\n',
    );
    expect(command.stdout).toContain('api      | crash: objects/web.yaml');
    const pids = [...command.stdout.matchAll(/\| pid (\d+)/g)].map((match) => Number(match[1]));
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it('a manifest that is not there', async () => {
    await expectFailure(
      ['--manifest', '/nowhere/pod.yaml'],
      1,
      'kube-dns: cannot read the manifest /nowhere/pod.yaml: no such file or directory\n',
    );
  });

  it('broken YAML, with its place', async () => {
    const file = join(folder, 'elsewhere', 'pod.yaml');
    writeFileSync(file, 'kind: Pod\nmetadata:\n\tname: p\n');
    const message =
      /^kube-dns: pod\.yaml: line 3, column 1: tabs are not allowed as indentation\n$/;
    await expectFailure(['--manifest', file], 1, message);
  });

  it('a program that is not there', async () => {
    const file = manifest(['{ name: a, command: [no-such-program] }']);
    await expectFailure(
      ['--manifest', file],
      1,
      'kube-dns: container a: unknown program no-such-program: ' +
        'it is neither one of ours nor on PATH\n',
    );
  });

  it('a port in use', async () => {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    try {
      await expectFailure(
        ['--manifest', manifest([web()])],
        1,
        `kube-dns: container web: port ${port}/TCP is already in use on this machine\n`,
      );
    } finally {
      server.close();
    }
  });

  it('a kubeconfig that is none', async () => {
    const file = join(folder, 'kubeconfig');
    writeFileSync(file, 'clusters: []\ncurrent-context: gone\n');
    await expectFailure(
      ['--manifest', manifest([web()]), '--kubeconfig', file],
      1,
      /^kube-dns: cannot read the kubeconfig \S+: it has no context gone, .*\n$/,
    );
  });

  it('a kubeconfig that is not there', async () => {
    await expectFailure(
      ['--manifest', manifest([web()]), '--kubeconfig', 'gone'],
      1,
      'kube-dns: cannot read the kubeconfig gone: no such file or directory\n',
    );
  });
});

describe('the command line', () => {
  it.each([
    [['--version'], 0, /^kube-dns \d+\.\d+\.\d+\n$/],
    [['--help'], 0, /^Usage: kube-dns COMMAND/],
    [['up', '--help'], 0, /^Usage: kube-dns up \[flags\]/],
  ])('answers %j', async (args, status, output) => {
    const command = startCommand(args);
    expect(await command.ended).toBe(status);
    expect(command.stdout).toMatch(output);
  });

  it.each([
    [[], /^kube-dns: a command is missing: up, .*; see kube-dns --help\n$/],
    [['down'], /^kube-dns: unknown command down; see kube-dns --help\n$/],
    [['version'], /^kube-dns: unknown command version; did you mean --version\?\n$/],
    [['comapre'], /^kube-dns: unknown command comapre; did you mean compare\?\n$/],
    [['--what'], /^kube-dns: unknown flag --what; see kube-dns --help\n$/],
  ])('refuses %j with one line and status 2', async (args, message) => {
    const command = startCommand(args);
    expect(await command.ended).toBe(2);
    expect(command.stdout).toBe('');
    expect(command.stderr).toMatch(message);
  });

  it.each([
    [['--what'], 'kube-dns: unknown flag --what; see kube-dns up --help\n'],
    [['--only', 'x'], 'kube-dns: --only x: the pod has web\n'],
  ])('refuses up %j with status 2', async (args, message) => {
    await expectFailure(['--manifest', manifest([web()]), ...args], 2, message);
  });

  it('shows the state of the pod as it changes', async () => {
    const command = up(['--manifest', manifest([web()])]);
    await command.waitForLine(/web is ready after/);
    await fetch(`http://127.0.0.1:${port}/set?ready=0`);
    await command.waitForLine(/the pod is not ready: web \(GET http:.*status 503 not yet\)/);
    await fetch(`http://127.0.0.1:${port}/set?ready=1`);
    await command.waitForLine(/the pod is ready again/);
    await until('no colours', () => !command.stdout.includes('\u001b['));
  });
});
