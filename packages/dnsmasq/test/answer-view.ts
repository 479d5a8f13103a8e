import { expect } from '@jest/globals';
import { FLAG, readUint16 } from '@kube-dns/wire';
import type { Answer } from './client.js';

type DnsRecord = Answer['answers'][number];

/** A record as text without its TTL, the one thing that is not compared to the letter. */
export const withoutTtl = (record: DnsRecord): string =>
  JSON.stringify({ ...record, ttl: undefined });

/** What is compared of an answer. Records in a fixed order: dnsmasq rotates them at each answer. */
export function viewOf({ bytes, rcode, questions, answers, authorities, additionals }: Answer) {
  const flags = readUint16(bytes, 2);
  return {
    rcode,
    aa: (flags & FLAG.AA) !== 0,
    tc: (flags & FLAG.TC) !== 0,
    rd: (flags & FLAG.RD) !== 0,
    ra: (flags & FLAG.RA) !== 0,
    ad: (flags & FLAG.AD) !== 0,
    cd: (flags & FLAG.CD) !== 0,
    questions,
    answers: answers.map(withoutTtl).sort(),
    authorities: authorities.map(withoutTtl).sort(),
    additionals: additionals.map(withoutTtl).sort(),
  };
}

/** The TTLs of an answer's records in the order of {@link viewOf}. */
function ttlsOf({ answers, authorities, additionals }: Answer): number[] {
  return [answers, authorities, additionals].flatMap((records) =>
    records
      .map((record) => ({ text: withoutTtl(record), ttl: 'ttl' in record ? (record.ttl ?? 0) : 0 }))
      .sort((one, other) => (one.text < other.text ? -1 : 1))
      .map(({ ttl }) => ttl),
  );
}

/**
 * Fails unless the TTLs are the same but for a second: dnsmasq counts in whole seconds of the clock, so the
 * TTL of a cached record decreases when the clock's second changes.
 */
export function expectSameTtls(ours: Answer, real: Answer): void {
  const [seen, expected] = [ttlsOf(ours), ttlsOf(real)];
  expect(seen).toHaveLength(expected.length);
  for (const [i, ttl] of expected.entries()) {
    expect(Math.abs(seen[i]! - ttl)).toBeLessThanOrEqual(1);
  }
}
