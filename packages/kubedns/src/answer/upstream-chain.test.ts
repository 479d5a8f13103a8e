import { stepsOf } from '../../test/support/steps.js';
import { describe, expect, it } from '@jest/globals';
import { pointerLadders } from '@kube-dns/testkit';
import {
  AnswerWriter,
  CLASS,
  decodeName,
  encodeName,
  encodeRdata,
  RecordCursor,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import fc from 'fast-check';
import { readQuery } from '../../test/support/messages.js';
import { upstreamChain } from './forwarding.js';

/** A reply with compressed names, as servers send it. */
function reply(): Uint8Array {
  const writer = new AnswerWriter();
  const out = new Uint8Array(1232);
  writer.begin(readQuery('a.example.com', 'A'), out);
  writer.add(SECTION.ANSWER, undefined, TYPE.CNAME, 1, encodeName('b.example.com'));
  const address = encodeRdata({ type: 'A', name: '.', data: '192.0.2.1' });
  writer.add(SECTION.ANSWER, encodeName('b.example.com'), TYPE.A, 2, address);
  writer.add(SECTION.ADDITIONAL, encodeName('c.example.com'), TYPE.A, 3, address);
  return out.slice(0, writer.finish());
}

const target = encodeName('a.example.com');
const chainRecords = (bytes: Uint8Array, type: number) =>
  upstreamChain(bytes, type, target, () => false).records;

describe('upstreamChain', () => {
  it('returns CNAMEs and records of the type, with whole names', () => {
    const records = chainRecords(reply(), TYPE.A);
    expect(records.map(({ owner, type }) => `${decodeName(owner)} ${type}`)).toEqual([
      'a.example.com 5',
      'b.example.com 1',
    ]);
    expect(decodeName(records[0]!.rdata)).toBe('b.example.com');
  });

  it('returns nothing of another type', () => {
    expect(chainRecords(reply(), TYPE.AAAA).map(({ type }) => type)).toEqual([TYPE.CNAME]);
  });

  it('returns nothing of another class', () => {
    const bytes = reply();
    const cursor = new RecordCursor().reset(bytes, bytes.length);
    cursor.next();
    bytes[cursor.typeAt + 3] = CLASS.CH;
    expect(chainRecords(bytes, TYPE.A)).toEqual([]);
  });

  it('ends where the names of this server begin', () => {
    const isOwn = (name: Uint8Array) => decodeName(name) === 'b.example.com';
    const { records, end } = upstreamChain(reply(), TYPE.A, target, isOwn);
    expect(records.map(({ type }) => type)).toEqual([TYPE.CNAME]);
    expect(decodeName(end)).toBe('b.example.com');
  });

  it('has each CNAME once when a reply leads back to its beginning', () => {
    const writer = new AnswerWriter();
    const out = new Uint8Array(1232);
    writer.begin(readQuery('a.example.com', 'A'), out);
    writer.add(SECTION.ANSWER, undefined, TYPE.CNAME, 1, target);
    const { records } = upstreamChain(out.slice(0, writer.finish()), TYPE.A, target, () => false);
    expect(records).toHaveLength(1);
  });

  it.each(['pointers', 'labels'] as const)(
    'finding 5: costs little more for a reply of 65 kB whose owners lead through many %s',
    (kind) => {
      const evil = encodeName('a.evil');
      let records = 0;
      const stepsFor = (bytes: Uint8Array) =>
        stepsOf(() => (records = upstreamChain(bytes, TYPE.A, evil, () => false).records.length));
      const honest = stepsFor(pointerLadders('none'));
      expect(records).toBeGreaterThan(3_900);
      const hostile = stepsFor(pointerLadders(kind));
      expect(records).toBe(10);
      expect(hostile).toBeLessThan(10 * honest);
    },
  );

  it('survives any bytes', () => {
    const good = reply();
    const places = fc.array(fc.tuple(fc.nat({ max: good.length - 1 }), fc.nat({ max: 255 })));
    fc.assert(
      fc.property(places, fc.nat({ max: good.length }), (changes, length) => {
        const bytes = good.slice();
        for (const [at, byte] of changes) bytes[at] = byte;
        for (const { owner, rdata } of chainRecords(bytes.subarray(0, length), TYPE.A)) {
          expect(owner.length).toBeLessThanOrEqual(255);
          expect(rdata.length).toBeLessThanOrEqual(65_535);
        }
      }),
    );
  });
});
