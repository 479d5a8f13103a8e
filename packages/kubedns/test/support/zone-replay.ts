const SOA = /\sSOA\s/;

/**
 * What a secondary has after an answer to its IXFR (RFC 1995 section 4), sorted and without the SOA: `zone` is what it had, `answer`
 * the records in their order, each as `owner … TYPE data`. Throws where a difference does not fit to the zone.
 */
export function replayIxfr(zone: readonly string[], answer: readonly string[]): string[] {
  const [first = '', second = ''] = answer;
  if (!SOA.test(first)) throw new Error(`no SOA at the beginning: ${first}`);
  if (answer.length === 1) return [...zone].sort();
  if (answer.at(-1) !== first) throw new Error(`another record at the end: ${answer.at(-1)}`);
  const records = answer.slice(1, -1);
  if (!SOA.test(second) || answer.length === 2) return [...new Set(records)].sort();
  const content = new Set(zone);
  let isDeleting = false;
  for (const record of records) {
    if (SOA.test(record)) isDeleting = !isDeleting;
    else if (!isDeleting) content.add(record);
    else if (!content.delete(record)) throw new Error(`deleted, but it is not there: ${record}`);
  }
  return [...content].sort();
}
