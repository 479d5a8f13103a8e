import { describe, expect, it } from '@jest/globals';
import { API_ROWS } from '../src/faults/api-rows.js';
import { runFaults } from '../src/faults/run-faults.js';

const programs = {
  node: process.execPath,
  nodeFlags: ['--max-semi-space-size=2', '--no-maglev'],
  progress: () => undefined,
};
const ROWS = API_ROWS.filter(({ isLong }) => isLong !== true);

describe('a fault of the Kubernetes API', () => {
  const results = runFaults(ROWS, ROWS.length, programs);

  it.each(ROWS.map(({ id }) => id))('%s is as the table says', async (id) => {
    expect((await results.get(id))?.broken).toEqual([]);
  });
});
