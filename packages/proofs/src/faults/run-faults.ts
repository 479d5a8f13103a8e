import { findProgram, messageOf, Owned } from '@kube-dns/testkit';
import { FaultSigns } from '../fixtures/witness.js';
import type { Fault, FaultContext } from './fault.js';

/** What was seen of one row. */
export interface FaultResult {
  readonly fault: Fault;
  /** For how long clients saw it; NaN when it did not come that far. */
  readonly measuredMs: number;
  /** The claims that did not hold. */
  readonly broken: readonly string[];
  /** How often an explanation was the same as the answer. */
  readonly agreed: number;
  /** Why it was not run. */
  readonly skipped?: string;
}

/** How the rows are run. */
export interface FaultPrograms extends Pick<
  FaultContext,
  'node' | 'nodeFlags' | 'progress' | 'busy'
> {
  /** Ends what the rows have started, when they are not to go on. */
  readonly owned?: Owned;
}

/** Runs one row; never rejects. What it started has ended when this resolves. */
export async function runFault(fault: Fault, programs: FaultPrograms): Promise<FaultResult> {
  const skipped = fault.skipReason?.();
  if (skipped !== undefined)
    return { fault, measuredMs: Number.NaN, broken: [], agreed: 0, skipped };
  const owned = new Owned();
  programs.owned?.add(owned);
  const broken: string[] = [];
  const { reasons: listed = [], haveAllReason = true } = fault;
  const canRead = findProgram('dig') !== undefined;
  const signs = new FaultSigns(fault.shows?.found, canRead && haveAllReason && listed.length > 0);
  let measuredMs = Number.NaN;
  const claim = (holds: boolean, otherwise: string) => {
    if (!holds) broken.push(otherwise);
  };
  try {
    const claimQuiet = programs.busy ? () => undefined : claim;
    measuredMs = await fault.run({ ...programs, owned, claim, claimQuiet, signs });
    claim(!Number.isNaN(measuredMs), 'what clients should see at its end did not come');
    const took = `clients saw it for ${Math.round(measuredMs)} ms, not ${fault.limitMs} at most`;
    claimQuiet(measuredMs <= fault.limitMs, took);
    const { reasons, disagreements } = signs;
    for (const difference of disagreements.slice(0, 3)) claim(false, difference);
    const isShown = fault.shows === undefined || signs.isShown;
    claim(isShown, `no status page shows ${String(fault.shows?.found)}`);
    const isRead =
      listed.some((code) => reasons.has(code)) || listed.length === 0 || !haveAllReason;
    const isListed = [...reasons].every((code) => listed.includes(code));
    const codes = [...reasons].join(', ') || 'none';
    const read = `dig read the Extended DNS Errors ${codes}`;
    claim(!canRead || isRead, read);
    claimQuiet(!canRead || isListed, read);
  } catch (error) {
    broken.push(messageOf(error));
  } finally {
    await owned.close();
  }
  return { fault, measuredMs, broken, agreed: signs.agreed };
}

/** Runs rows, a limited number at the same time; each result can be awaited by the row's ID. */
export function runFaults(
  faults: readonly Fault[],
  together: number,
  programs: FaultPrograms,
): ReadonlyMap<string, Promise<FaultResult>> {
  const results = new Map<string, Promise<FaultResult>>();
  const lanes = Array.from({ length: together }, () => Promise.resolve());
  faults.forEach((fault, i) => {
    // A row of a lane begins when the one before it has ended.
    const result = lanes[i % together]!.then(() => runFault(fault, programs));
    lanes[i % together] = result.then(() => undefined);
    results.set(fault.id, result);
  });
  return results;
}
