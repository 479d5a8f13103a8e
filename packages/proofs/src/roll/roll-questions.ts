import { dnsName } from '../soak/question.js';
import { kindOf, serviceState } from '../soak/service-state.js';

const WORLD_NAMES = 200;
/** Names of the world with TTL 0: each question goes to a name server. */
const UNCACHED_NAMES = 40;
const MISSING_NAMES = 60;
const MISSING = 'missing-';

/** The questions that dnsperf asks over and over: lines of its data file. */
export function rollQuestions(services: number): readonly string[] {
  const names = [
    ...Array.from({ length: services }, (_, i) => i)
      .filter((i) => kindOf(i) === 'address')
      .map((i) => dnsName(serviceState(i, 0))),
    ...Array.from({ length: WORLD_NAMES }, (_, i) => `w${i}.t300.world.test`),
    ...Array.from({ length: UNCACHED_NAMES }, (_, i) => `u${i}.t0.world.test`),
    // Kept in dnsmasq's cache while kubedns tells what changes (--negcache=push), else asked of kubedns each time.
    ...Array.from({ length: MISSING_NAMES }, (_, i) => `${MISSING}${i}.default.svc.cluster.local`),
  ];
  return interleaved(names).map((name) => `${name} A`);
}

/** The right answer to one of them. */
export function rightRcode(name: string): 'NOERROR' | 'NXDOMAIN' {
  return name.startsWith(MISSING) ? 'NXDOMAIN' : 'NOERROR';
}

/** The kinds among each other, in the same order each time: steps that have no divisor with the length. */
function interleaved(names: readonly string[]): readonly string[] {
  let step = Math.floor(names.length * 0.618);
  while (divisor(step, names.length) !== 1) step++;
  return names.map((_, i) => names[(i * step) % names.length]!);
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}
