import { expect, it } from '@jest/globals';
import { FAULT_ROWS } from '../src/rows.js';
import { digests, simulate } from './simulator-process.js';

it('every row of FAULTS.md that needs no kernel keeps every promise, and is the same alone', async () => {
  const { stdout, status } = await simulate('--row=all', '--jobs=2');
  expect(stdout).not.toContain('WRONG');
  expect(stdout.match(/: right {2}\(/gu)).toHaveLength(FAULT_ROWS.length);
  expect(status).toBe(0);
  // Beside others, after others in the same process; and when a name is drawn.
  const { id } = FAULT_ROWS.at(-1)!;
  const alone = await simulate(`--row=${id}`, '--trace=www-1.example.com');
  expect(digests(alone.stdout)).toEqual(digests(stdout).slice(-1));
}, 240_000);
