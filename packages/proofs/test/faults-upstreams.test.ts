import { describe, expect, it } from '@jest/globals';
import { CONFIG_ROWS } from '../src/faults/config-rows.js';
import { runFaults } from '../src/faults/run-faults.js';
import { UPSTREAM_ROWS } from '../src/faults/upstream-rows.js';

const programs = {
  node: process.execPath,
  nodeFlags: ['--max-semi-space-size=4', '--no-maglev'],
  progress: () => undefined,
};
const ROWS = [...UPSTREAM_ROWS, ...CONFIG_ROWS].filter(({ isLong }) => isLong !== true);
/** A row of a loaded machine waits for those before it. */
const LIMIT_MS = 180_000;

describe('a fault of the upstreams or of the ConfigMap', () => {
  const results = runFaults(ROWS, 4, programs);

  it.each(ROWS.map(({ id }) => id))(
    '%s is as the table says',
    async (id) => {
      expect((await results.get(id))?.broken).toEqual([]);
    },
    LIMIT_MS,
  );
});
