import { describe, expect, it } from '@jest/globals';
import { LIMIT_ROWS } from '../src/faults/limit-rows.js';
import { PROCESS_ROWS } from '../src/faults/process-rows.js';
import { runFaults } from '../src/faults/run-faults.js';

const programs = {
  node: process.execPath,
  nodeFlags: ['--max-semi-space-size=4', '--no-maglev'],
  progress: () => undefined,
};
const ROWS = [...PROCESS_ROWS, ...LIMIT_ROWS].filter(({ isLong }) => isLong !== true);
/** A row of a loaded machine waits for those before it. */
const LIMIT_MS = 180_000;

describe('a fault of a process or of its machine', () => {
  const results = runFaults(ROWS, 3, programs);

  it.each(ROWS.map(({ id }) => id))(
    '%s is as the table says',
    async (id) => {
      expect((await results.get(id))?.broken).toEqual([]);
    },
    LIMIT_MS,
  );
});
