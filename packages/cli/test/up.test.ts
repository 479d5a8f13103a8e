import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { freePort, isAlive, type RunningProgram, until } from '@kube-dns/testkit';
import { fixture } from './support/plans.js';
import { pidOf, startCommand } from './support/run-command.js';

/** So long a signal is the echo of another. */
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

/** Without a probe a container is ready after a second. */
const READY_AT_ONCE = ', readinessProbe: { exec: { command: ["true"] }, timeoutSeconds: 60 }';

const web = () =>
  container(
    'web',
    'server.mjs',
    [String(port)],
    `, ports: [{ name: http, containerPort: ${port} }],
       readinessProbe: { periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 60,
         httpGet: { path: /ready, port: http } }`,
  );

function up(args: readonly string[], env: NodeJS.ProcessEnv = {}): RunningProgram {
  const cwd = join(folder, 'elsewhere');
  run = startCommand(['up', ...args], { cwd, env: { TMPDIR: join(folder, 'tmp'), ...env } });
  return run;
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
        { name: objects, mountPath: /manifests }, { name: scratch, mountPath: /scratch }]${READY_AT_ONCE}`,
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
    expect(command.stdout).not.toContain('\u001b[');
  });

  it('restarts a container that is killed, and no others', async () => {
    const command = up([
      '--manifest',
      manifest([web(), container('mule', 'stubborn.mjs', [], READY_AT_ONCE)]),
    ]);
    await command.waitForLine(/Stop it with Ctrl-C/);
    const [first, other] = [await pidOf(command, 'web'), await pidOf(command, 'mule')];
    process.kill(first, 'SIGKILL');
    await command.waitForLine(/web was ended by SIGKILL, is restarted immediately/);
    await until('another web', async () => (await pidOf(command, 'web')) !== first);
    await command.waitForLine(/the pod is ready again/);
    expect(isAlive(other)).toBe(true);
    command.signal('SIGINT');
    await command.waitForLine(/got SIGTERM/);
    // For a moment a second signal counts as an echo of the first.
    await delay(ECHO_MS + 50);
    command.signal('SIGINT');
    expect(await command.ended).toBe(130);
    expect(isAlive(other)).toBe(false);
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
      NODE_OPTIONS: `--require="${fixture('throw-on-sigusr2.cjs')}"`,
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

  it('stops the others when a container fails at its first start, and ends with 1 and one line', async () => {
    const file = manifest([
      container('mule', 'server.mjs', [String(port)]),
      container('api', 'crash.mjs', ['7']),
    ]);
    const command = up(['--manifest', file]);
    expect(await command.ended).toBe(1);
    expect(command.stderr).toBe(
      'kube-dns: container api ended with status 7 before it was ready: ' +
        'crash: objects/web.yaml: spec.ports is missing\n',
    );
    expect(command.stdout).toContain('api      | crash: objects/web.yaml');
    const pids = [...command.stdout.matchAll(/\| pid (\d+)/g)].map((match) => Number(match[1]));
    expect(pids.filter(isAlive)).toEqual([]);
    expect(readdirSync(join(folder, 'tmp'))).toEqual([]);
  });
});
