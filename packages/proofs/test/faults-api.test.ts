import { describe, expect, it } from '@jest/globals';
import { API_ROWS } from '../src/faults/api-rows.js';
import { runFaults } from '../src/faults/run-faults.js';

const programs = {
  node: process.execPath,
  nodeFlags: ['--max-semi-space-size=4', '--no-maglev'],
  progress: () => undefined,
};
const ROWS = API_ROWS.filter(({ isLong }) => isLong !== true);
/** A row of a loaded machine waits for those before it. */
const LIMIT_MS = 180_000;

describe('a fault of the Kubernetes API', () => {
  const results = runFaults(ROWS, 6, programs);

  it.each(ROWS.map(({ id }) => id))(
    '%s is as the table says',
    async (id) => {
      expect((await results.get(id))?.broken).toEqual([]);
    },
    LIMIT_MS,
  );
});
