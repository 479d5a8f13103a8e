export interface AskedQuestion extends Question {
  readonly isOverTcp?: boolean;
}

/** A question to both, one that is asked until its answer is an expired one, or what is done between questions. */
export type Step =
  AskedQuestion | { readonly untilExpired: AskedQuestion } | 'compare counters' | 'SIGHUP';

/** A question about a name of the scripted zone. */
export const q = (label: string, type = 'A', more: Partial<AskedQuestion> = {}): AskedQuestion => ({
  name: `${label}.zone.test`,
  type,
  ...more,
});
export const times = (count: number, ...steps: Step[]): Step[] =>
  Array.from({ length: count }, () => steps).flat();
export const twice = (label: string, type?: string): Step[] => times(2, q(label, type));
/** A question about a reverse name of the scripted zone. */
export const arpa = (label: number): Question => ({
  name: `${label}.0.0.10.in-addr.arpa`,
  type: 'PTR',
});
export const EDNS = { ednsBytes: 1400 };
export const OVER_TCP = { isOverTcp: true };

/** The options of both servers, and the steps. */
export interface Scenario {
  readonly options: readonly string[];
  readonly steps: readonly Step[];
}
import { type Question } from '@kube-dns/testkit';
