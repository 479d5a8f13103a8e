import { describe, expect, it } from '@jest/globals';
import packet from 'dns-packet';
import type { Answer } from 'dns-packet';
import { addressRecords, opt, readQuery, responseBytes } from '../test/messages.js';
import { AnswerWriter } from './answer-writer.js';
import { encodeName } from './name.js';
import { RCODE, TYPE } from './protocol.js';
import { SECTION } from './record-cursor.js';
import { StoredAnswer } from './stored-answer.js';

const CHAIN: Answer[] = [
  { type: 'CNAME', name: 'www.example.org', ttl: 300, class: 'IN', data: 'web.example.org' },
  { type: 'A', name: 'web.example.org', ttl: 60, class: 'IN', data: '192.0.2.1' },
];

function store(name: string, answers: Answer[], fields = {}): StoredAnswer {
  const bytes = responseBytes(name, { answers, ...fields });
  const stored = StoredAnswer.fromResponse(bytes, bytes.length);
  if (stored === undefined) throw new Error('the response is malformed');
  return stored;
}

function writeTo(stored: StoredAnswer, query: ReturnType<typeof readQuery>, ageSeconds: number) {
  const out = Buffer.alloc(512, 0xee);
  return packet.decode(out.subarray(0, stored.writeTo(query, out, ageSeconds)));
}

const ttls = (answers: readonly Answer[] | undefined) =>
  answers?.map((answer) => (answer as { ttl: number }).ttl);

describe('StoredAnswer', () => {
  it('gives the records back behind the next question', () => {
    const decoded = writeTo(store('www.example.org', CHAIN), readQuery('www.example.org'), 0);
    expect(decoded.answers).toEqual(CHAIN.map((record) => ({ ...record, flush: false })));
    expect(decoded).toMatchObject({ type: 'response', flag_ra: true, flag_aa: false });
  });

  it("takes ID, flags and the question's case from the query", () => {
    const query = readQuery('WWW.eXample.org', { id: 99, flags: packet.CHECKING_DISABLED });
    const decoded = writeTo(store('www.example.org', CHAIN), query, 0);
    expect(decoded).toMatchObject({ id: 99, flag_rd: false, flag_cd: true });
    expect(decoded.questions?.[0]?.name).toBe('WWW.eXample.org');
  });

  it('keeps compression pointers true, those into the question too', () => {
    const out = new Uint8Array(512);
    const writer = new AnswerWriter();
    writer.begin(readQuery('www.example.org'), out);
    const target = encodeName('web.example.org');
    writer.add(SECTION.ANSWER, undefined, TYPE.CNAME, 300, target);
    writer.add(SECTION.ANSWER, target, TYPE.A, 60, Uint8Array.of(192, 0, 2, 1));
    const stored = StoredAnswer.fromResponse(out, writer.finish());
    const { answers } = writeTo(stored!, readQuery('wWw.EXAMPLE.org'), 0);
    expect(answers).toMatchObject([
      { name: 'wWw.EXAMPLE.org', type: 'CNAME', data: 'web.EXAMPLE.org' },
      { name: 'web.EXAMPLE.org', type: 'A', data: '192.0.2.1' },
    ]);
  });

  it.each([
    [0, [300, 60]],
    [1, [299, 59]],
    [59.9, [240, 0]],
    [60, [240, 0]],
    [1000, [0, 0]],
  ])('counts TTLs down after %d seconds', (ageSeconds, expected) => {
    const stored = store('www.example.org', CHAIN);
    const decoded = writeTo(stored, readQuery('www.example.org'), ageSeconds);
    expect(ttls(decoded.answers)).toEqual(expected);
  });

  it('knows the smallest TTL and how many records there are', () => {
    expect(store('www.example.org', CHAIN)).toMatchObject({ minTtlSeconds: 60, recordCount: 2 });
    expect(store('www.example.org', [])).toMatchObject({ minTtlSeconds: 0, recordCount: 0 });
  });

  it('takes a TTL with the top bit for zero', () => {
    const stored = store('a', addressRecords('a', 1, 0x8000_0000));
    expect(stored.minTtlSeconds).toBe(0);
    expect(ttls(writeTo(stored, readQuery('a'), 0).answers)).toEqual([0]);
    expect(store('a', addressRecords('a', 1, 0x7fff_ffff)).minTtlSeconds).toBe(0x7fff_ffff);
  });

  it('keeps the response code and leaves authority and additional records behind', () => {
    const records = addressRecords('x', 2);
    const stored = store('a', [], {
      flags: RCODE.NXDOMAIN,
      authorities: records,
      additionals: [...records, opt()],
    });
    const decoded = writeTo(stored, readQuery('a'), 0);
    expect(decoded).toMatchObject({ rcode: 'NXDOMAIN', authorities: [], additionals: [] });
  });

  it('does not change when the response does', () => {
    const bytes = responseBytes('a', { answers: addressRecords('a', 1) });
    const stored = StoredAnswer.fromResponse(bytes, bytes.length)!;
    bytes.fill(0xff);
    expect(writeTo(stored, readQuery('a'), 0).answers).toMatchObject([{ data: '10.0.0.0' }]);
  });

  it('can be written to many clients', () => {
    const stored = store('a', addressRecords('a', 1));
    expect(ttls(writeTo(stored, readQuery('a'), 20).answers)).toEqual([10]);
    expect(ttls(writeTo(stored, readQuery('A'), 5).answers)).toEqual([25]);
  });

  it('says how many bytes it takes', () => {
    const { length } = responseBytes('a', { answers: addressRecords('a', 3) });
    expect(store('a', addressRecords('a', 3)).byteLength).toBe(length - 19 + 3 * 6);
  });

  it('writes nothing where there is no room', () => {
    const stored = store('a', addressRecords('a', 1));
    const size = responseBytes('a', { answers: addressRecords('a', 1) }).length;
    expect(stored.writeTo(readQuery('a'), new Uint8Array(size - 1), 0)).toBe(-1);
    expect(stored.writeTo(readQuery('a'), new Uint8Array(size), 0)).toBe(size);
  });

  it.each([
    ['breaks off', responseBytes('a', { answers: addressRecords('a', 2) }).subarray(0, -1)],
    ['has no question', responseBytes('a', { questions: [] })],
    ['has two questions', responseBytes('a', { questions: [question('a'), question('b')] })],
    ['is shorter than a header', Buffer.alloc(5)],
  ])('is not made of a response that %s', (_, bytes) => {
    expect(StoredAnswer.fromResponse(bytes, bytes.length)).toBeUndefined();
  });
});

function question(name: string) {
  return { name, type: 'A' as const };
}
