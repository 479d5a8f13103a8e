import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { holdsOnce } from '@kube-dns/testkit';

/** What SECURITY.md states, in ms, and room for a machine that is slow and busy. */
const MAX_BLOCKED_MS = 50 * 1.5;
const PROGRAM = fileURLToPath(new URL('./fixtures/config-cost.mjs', import.meta.url));

it('a ConfigMap of 2,048 stub domains blocks the event loop for at most 50 ms', async () => {
  await holdsOnce(async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM]);
    const costs = Object.entries(JSON.parse(stdout) as Readonly<Record<string, number>>);
    expect(costs).toHaveLength(4);
    expect(costs.filter(([, cpuMs]) => cpuMs > MAX_BLOCKED_MS)).toEqual([]);
  });
}, 120_000);
