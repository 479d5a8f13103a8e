import { describe, expect, it } from '@jest/globals';
import { againIfStalled, unless } from '@kube-dns/testkit';
import type { Fault } from '../src/faults/fault.js';
import { type FaultResult, runFault, runFaults } from '../src/faults/run-faults.js';

/** A row of a loaded machine waits for those before it. */
const LIMIT_MS = 180_000;

/** Claims about answers that were wrong: no stall of the machine is an excuse for these. */
const WRONG = /was answered with|strange answers|explained as/;

/** Runs a row, again where its claims do not hold on a machine that stalled meanwhile. */
async function runAgain(...row: Parameters<typeof runFault>): Promise<FaultResult> {
  let result!: FaultResult;
  const work = async () => {
    result = await runFault(...row);
    const { broken } = result;
    if (broken.length > 0 && !WRONG.test(broken.join())) throw new Error(broken.join());
  };
  await againIfStalled(work).catch(() => undefined);
  return result;
}

/** A test for each short row, a limited number at the same time. */
export function describeRows(title: string, faults: readonly Fault[], together: number): void {
  const rows = faults.filter(({ isLong }) => isLong !== true);
  describe(title, () => {
    const programs = { node: process.execPath, nodeFlags: [], progress: () => undefined };
    const results = runFaults(rows, together, programs, runAgain);

    for (const { id, skipReason } of rows) {
      const test = async () => {
        expect((await results.get(id))?.broken).toEqual([]);
      };
      unless(skipReason?.(), it)(`${id} matches the table`, test, LIMIT_MS);
    }
  });
}
