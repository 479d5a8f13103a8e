import { describe, expect, it } from '@jest/globals';
import { unless } from '@kube-dns/testkit';
import type { Fault } from '../src/faults/fault.js';
import { runFaults } from '../src/faults/command.js';

/** A row waits for those before it. */
const LIMIT_MS = 600_000;

/** A test for each row that is not the command's alone, a limited number at the same time, without claims about time. */
export function describeRows(title: string, faults: readonly Fault[], together: number): void {
  const rows = faults.filter(({ isCommandOnly }) => isCommandOnly !== true);
  const programs = {
    node: process.execPath,
    nodeFlags: [],
    progress: () => undefined,
    busy: true,
  };
  describe(title, () => {
    const results = runFaults(rows, together, programs);

    for (const { id, skipReason } of rows) {
      const test = async () => {
        expect((await results.get(id))?.broken).toEqual([]);
      };
      unless(skipReason?.(), it)(`${id} matches the table`, test, LIMIT_MS);
    }
  });
}
