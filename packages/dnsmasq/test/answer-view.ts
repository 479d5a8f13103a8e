import { expect } from '@jest/globals';
import { type DnsRecord, type Message } from '@kube-dns/testkit';
import { EDNS_OPTION, FLAG, readUint16 } from '@kube-dns/wire';

const isReason = ({ code }: { readonly code: number }): boolean =>
  code === EDNS_OPTION.EXTENDED_ERROR;

const optionsOf = (record: DnsRecord) => (record.type === 'OPT' ? record.options : []);

/** A record as text without its TTL and its Extended DNS Errors, which are not compared to the letter. */
export const withoutTtl = (record: DnsRecord): string => {
  const options = { options: optionsOf(record).filter((option) => !isReason(option)) };
  return JSON.stringify({ ...record, ...(record.type === 'OPT' && options), ttl: undefined });
};

/** The codes of an answer's Extended DNS Errors. */
export function reasonsOf({ additionals }: Message): number[] {
  const reasons = additionals.flatMap(optionsOf).filter(isReason);
  return reasons.map((option) => ('data' in option ? readUint16(option.data!, 0) : -1));
}

/** Whether ours explains what the real one explains, with the same codes; it explains more, and in words. */
export function explainsAsMuch(ours: readonly number[], real: readonly number[]): boolean {
  return real.every((code) => ours.includes(code));
}

/** What is compared of an answer, with {@link reasonsOf}. Records in a fixed order: dnsmasq rotates them at each answer. */
export function viewOf({ bytes, rcode, questions, answers, authorities, additionals }: Message) {
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
function ttlsOf({ answers, authorities, additionals }: Message): number[] {
  return [answers, authorities, additionals].flatMap((records) =>
    records
      .map((record) => ({ text: withoutTtl(record), ttl: 'ttl' in record ? (record.ttl ?? 0) : 0 }))
      .sort((one, other) => (one.text < other.text ? -1 : 1))
      .map(({ ttl }) => ttl),
  );
}

/**
 * Fails unless the TTLs are the same but for the seconds since this time of the process's clock, and one: dnsmasq counts in
 * whole seconds of the clock, so the TTL of a cached record decreases when the clock's second changes.
 */
export function expectSameTtls(ours: Message, real: Message, sinceMs: number): void {
  const tolerance = 1 + Math.floor((performance.now() - sinceMs) / 1_000);
  const [seen, expected] = [ttlsOf(ours), ttlsOf(real)];
  expect(seen).toHaveLength(expected.length);
  for (const [i, ttl] of expected.entries()) {
    expect(Math.abs(seen[i]! - ttl)).toBeLessThanOrEqual(tolerance);
  }
}
