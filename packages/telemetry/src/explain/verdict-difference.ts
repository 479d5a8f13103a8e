import { SOURCE } from '@kube-dns/transport';
import { explainedAnswer } from './explained-answer.js';
import type { ExplainedAnswer } from './explanation.js';

export interface DifferenceOptions {
  /** TTLs count too: they do not where a cache counts them down. */
  readonly hasTtls?: boolean;
}

const TTL_WORD = 1;

/** How an explanation's verdict differs from the answer that a client got; empty when it does not. The order of records does not count. */
export function verdictDifference(
  verdict: ExplainedAnswer,
  message: Uint8Array,
  { hasTtls = false }: DifferenceOptions = {},
): string {
  const answer = explainedAnswer({ message, source: SOURCE.NONE, server: undefined, ms: 0 });
  const [left, right] = [verdict, answer].map((one) => comparable(one, hasTtls));
  return left === right ? '' : `explained ${left ?? ''}, answered ${right ?? ''}`;
}

function comparable(answer: ExplainedAnswer, hasTtls: boolean): string {
  const { rcode, flags, answers, authorities, ede } = answer;
  const sorted = (records: readonly string[]) =>
    records.map((record) => (hasTtls ? record : withoutTtl(record))).sort();
  const header = flags.filter((flag) => flag !== 'tc');
  return JSON.stringify([rcode, header, sorted(answers), sorted(authorities), ede]);
}

function withoutTtl(record: string): string {
  return record.split(' ').toSpliced(TTL_WORD, 1).join(' ');
}
