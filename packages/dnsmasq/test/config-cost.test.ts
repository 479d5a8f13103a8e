import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

/** What SECURITY.md states, in ms, and room for a machine that is slow and busy. */
const MAX_BLOCKED_MS = 50 * 1.5;
/** Other work slows down computing, too: it shares caches and the units of a core. */
const TRIES = 3;
const PROGRAM = fileURLToPath(new URL('./fixtures/config-cost.mjs', import.meta.url));

it('a ConfigMap of 2,048 stub domains with as many servers blocks the event loop for at most 50 ms', async () => {
  const times: number[] = [];
  while (times.length < TRIES && !times.some((time) => time < MAX_BLOCKED_MS)) {
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM]);
    times.push(Number(stdout));
  }
  expect(Math.min(...times)).toBeGreaterThan(0);
  expect(Math.min(...times)).toBeLessThan(MAX_BLOCKED_MS);
}, 60_000);
