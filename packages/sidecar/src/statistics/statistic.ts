import type { DecodedMessage } from '@kube-dns/wire';

import { QueryError } from '../errors.js';

/** The numbers that dnsmasq has as `<name>.bind` in class CHAOS, in the order of the queries. */
export const STATISTICS = ['hits', 'misses', 'evictions', 'insertions', 'cachesize'] as const;
export type Statistic = (typeof STATISTICS)[number];

/**
 * The number in the reply of dnsmasq: one TXT record of one string in decimal. Otherwise throws with the
 * words of the original (kubernetes/dns pkg/dnsmasq/metrics.go).
 */
export function parseStatistic(statistic: Statistic, reply: DecodedMessage): number {
  const [answer, ...others] = reply.answers;
  if (answer === undefined || others.length > 0) {
    const count = reply.answers.length;
    throw new QueryError(`invalid number of Answer records for ${statistic}: ${count}`);
  }
  if (answer.type !== 'TXT') throw new QueryError(`missing TXT record for ${statistic}`);
  const strings = Array.isArray(answer.data) ? answer.data : [answer.data];
  const [string, ...otherStrings] = strings;
  if (string === undefined || otherStrings.length > 0) {
    throw new QueryError(`invalid number of TXT records for ${statistic}: ${strings.length}`);
  }
  const text = String(string);
  if (!/^[+-]?\d+$/.test(text)) {
    throw new QueryError(
      `strconv.ParseInt: parsing ${JSON.stringify(text)} for ${statistic}: invalid syntax`,
    );
  }
  return Number(text);
}
