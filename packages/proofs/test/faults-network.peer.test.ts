import { readlinkSync } from 'node:fs';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { becomesTrue, endPrograms, type RunningProgram, unless, until } from '@kube-dns/testkit';
import { NETWORK_ROWS } from '../src/faults/network-faults.js';
import { networkSkipReason } from '../src/fixtures/host-network.js';
import { descendants, type NetworkedProcess, processes } from './process-networks.js';
import { prove, startProof } from './prove-process.js';

const ROWS = NETWORK_ROWS.filter(({ isCommandOnly }) => isCommandOnly !== true).map(({ id }) => id);
const TOGETHER = 5;
const TIMEOUT_MS = 300_000;
const STEP_MS = 50;

const skipReason = networkSkipReason();

interface RowResult {
  readonly id: string;
  readonly broken: readonly string[];
}

unless(skipReason, describe)('a fault between hosts', () => {
  const results = new Map<string, readonly string[]>();

  beforeAll(async () => {
    const args = ['faults', '--busy', `--only=${ROWS.join(',')}`, `--together=${TOGETHER}`];
    const { results: report } = await prove<{ faults: readonly RowResult[] }>(args, TIMEOUT_MS);
    for (const { id, broken } of report.faults) results.set(id, broken);
  }, TIMEOUT_MS);

  it.each(ROWS)('%s matches the table', (id) => {
    expect(results.get(id)).toEqual([]);
  });
});

unless(skipReason, describe)('hosts that are not needed any more', () => {
  const own = skipReason === undefined ? readlinkSync('/proc/self/ns/net') : '';

  afterEach(() => endPrograms());

  /** Waits for the processes of a proof in other networks until `isEnough` accepts them. */
  function processesInside(
    proof: RunningProgram,
    isEnough: (inside: readonly NetworkedProcess[]) => boolean,
  ): Promise<readonly NetworkedProcess[]> {
    const find = () => {
      const inside = descendants(proof.pid).filter(({ network }) => network !== own);
      return isEnough(inside) && inside;
    };
    return until('the hosts', find, { limitMs: TIMEOUT_MS / 2, stepMs: STEP_MS });
  }

  /** The processes that still run in those networks. */
  async function left(inside: readonly NetworkedProcess[]): Promise<readonly string[]> {
    const networks = new Set(inside.map(({ network }) => network));
    let rest: readonly NetworkedProcess[] = [];
    const isEmpty = () => {
      rest = processes().filter(({ network }) => networks.has(network));
      return rest.length === 0;
    };
    await becomesTrue(isEmpty, { stepMs: STEP_MS });
    return rest.map((each) => each.command);
  }

  const runsKubedns = (inside: readonly NetworkedProcess[]) =>
    inside.some((each) => each.command.includes('--kube-master-url='));

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'are gone, with all that ran on them, after %s',
    async (signal) => {
      const proof = startProof(['faults', '--only=network-cuts-api']);
      const inside = await processesInside(proof, runsKubedns);
      proof.signal(signal);
      await proof.ended;
      expect(await left(inside)).toEqual([]);
      // Four networks: those of three hosts, and that of the switch.
      expect(new Set(inside.map(({ network }) => network)).size).toBe(4);
    },
    TIMEOUT_MS,
  );

  it(
    'are gone after a row that fails',
    async () => {
      const args = ['faults', '--only=network-cuts-api', '--node-flags=--no-such-flag'];
      let inside: readonly NetworkedProcess[] = [];
      // Where this process stands still the row may come and go meanwhile.
      for (let tries = 0; tries < 3 && inside.length === 0; tries++) {
        const proof = startProof(args);
        inside = await processesInside(proof, ({ length }) => length > 0 || !proof.isRunning);
        await proof.ended;
      }
      expect(inside.length).toBeGreaterThan(0);
      expect(await left(inside)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
