import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { endPrograms, needsPrograms, unless, until } from '@kube-dns/testkit';
import { childrenOf, isRunning, startBenchGroup } from './bench-process.js';

const TIMEOUT_MS = 120_000;
const ENDLESS = ['--runs=1', '--seconds=600', '--latency-seconds=0', '--warm-up=0', '--names=50'];

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bench-test-'));
});
afterEach(async () => {
  await endPrograms('SIGINT');
  await rm(folder, { recursive: true });
});

unless(needsPrograms('dnsperf'), it).each([
  ['SIGHUP', 129],
  ['SIGTERM', 143],
] as const)(
  'a bench leaves no process and no folder when its group gets %s, as from a terminal',
  async (signal, status) => {
    const bench = startBenchGroup(['dns', '--only=misses-zone', ...ENDLESS], folder);
    await bench.waitForLine(/run 1 of 1/);
    await until('dnsperf', () => childrenOf(bench).length >= 4);
    const children = childrenOf(bench);
    process.kill(-bench.pid, signal);
    expect(await bench.ended).toBe(status);
    await until('the end of its children', () => !children.some(isRunning));
    expect(await readdir(folder)).toEqual([]);
  },
  TIMEOUT_MS,
);
