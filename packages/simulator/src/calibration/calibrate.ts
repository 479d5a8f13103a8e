import { UsageError } from '@kube-dns/base';
import type { Finding, Script } from './bed.js';
import { realSkipReason, runReal } from './namespace-bed.js';
import { SCRIPTS } from './scripts.js';
import { runSimulated } from './simulated-bed.js';

/** What programs and processes of a real machine take, beyond what the model says. */
const HOST_MS = 60;
/** Two samples differ by chance by at most so many standard errors. */
const ERRORS = 4;

interface Row {
  readonly script: string;
  readonly simulated: Finding;
  readonly real: Finding | undefined;
  /** '' when both agree. */
  readonly difference: string;
}

/** Runs the scripts in virtual time and, all at the same time, on this machine's kernel; says a table, and returns whether all agree. */
export async function calibrate(isReal: boolean, say: (line: string) => void): Promise<boolean> {
  const skipReason = isReal ? realSkipReason() : undefined;
  if (skipReason !== undefined) throw new UsageError(`this machine cannot be compared: it ${skipReason}`); // prettier-ignore
  const real = isReal ? await Promise.all(SCRIPTS.map((script) => runReal(script))) : [];
  const rows: Row[] = [];
  for (const [at, script] of SCRIPTS.entries()) {
    rows.push(...compare(script, await runSimulated(script, 'calibration'), real[at]));
  }
  say('| Script | Step | Simulated | Real | Bounds | |');
  say('| --- | --- | --- | --- | --- | --- |');
  for (const { script, simulated, real: found, difference } of rows) {
    const columns = [script, simulated.what, shown(simulated), found === undefined ? '' : shown(found), bounds(simulated), difference === '' ? 'right' : `**${difference}**`]; // prettier-ignore
    say(`| ${columns.join(' | ')} |`);
  }
  return rows.every(({ difference }) => difference === '');
}

function compare(
  { name: script }: Script,
  simulated: readonly Finding[],
  real: { readonly findings: readonly Finding[]; readonly stallMs: number } | undefined,
): Row[] {
  return simulated.map((one, at) => {
    const other = real?.findings[at];
    const difference =
      outOfBounds(one, 0, 'simulated') ||
      (other === undefined
        ? ''
        : outOfBounds(other, HOST_MS + real!.stallMs, 'real') || differs(one, other));
    return { script, simulated: one, real: other, difference };
  });
}

function outOfBounds({ ms }: Finding, allowanceMs: number, which: string): string {
  if (ms === undefined) return '';
  // A timer of Node fires up to a millisecond early.
  const isWithin = ms.value >= ms.from - 1 && ms.value <= ms.to + allowanceMs;
  return isWithin ? '' : `${which} is out of bounds`;
}

function differs(one: Finding, other: Finding): string {
  if (one.what !== other.what) return `real has "${other.what}"`;
  if (one.verdict !== other.verdict) return 'other verdict';
  if (one.share === undefined || other.share === undefined) return '';
  const [here, there] = [one.share.count / one.share.of, other.share.count / other.share.of];
  const pooled = (one.share.count + other.share.count) / (one.share.of + other.share.of);
  return Math.abs(here - there) <= chance(pooled, one.share.of, other.share.of) ? '' : 'other share'; // prettier-ignore
}

/** By how much two shares may differ; one more and one less are always possible. */
function chance(share: number, one: number, other: number): number {
  return ERRORS * Math.sqrt(share * (1 - share) * (1 / one + 1 / other)) + 1 / one + 1 / other;
}

function shown({ verdict, ms, share }: Finding): string {
  if (share !== undefined) return `${share.count} of ${share.of}`;
  return [verdict, ms === undefined ? '' : `${ms.value.toFixed(ms.value < 10 ? 1 : 0)} ms`].filter((text) => text !== '').join(', '); // prettier-ignore
}

function bounds({ ms, share }: Finding): string {
  if (ms !== undefined) return `${ms.from} to ${Math.round(ms.to)} ms`;
  return share === undefined ? '' : `±${ERRORS} standard errors`;
}
