import { isIPv6 } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import packet from 'dns-packet';
import type { Answer } from 'dns-packet';
import fc from 'fast-check';
import { addressRecords, bytesOf, opt, responseBytes } from '../test/messages.js';
import { WireError } from './errors.js';
import { encodeName } from './name.js';
import { decodeFirstAnswers, decodeMessage, encodeQuery, encodeRdata } from './packet.js';
import { Query } from './query.js';

const MAX_MS = 20;

describe('encodeQuery', () => {
  it('asks one question with RD and without EDNS', () => {
    const decoded = packet.decode(encodeQuery({ id: 77, name: 'Web.x.', type: 'SRV' }));
    expect(decoded).toMatchObject({
      id: 77,
      type: 'query',
      flag_rd: true,
      questions: [{ name: 'Web.x', type: 'SRV', class: 'IN' }],
      additionals: [],
    });
  });

  it('leaves RD out and asks another class when told so', () => {
    const fields = { id: 1, name: 'hits.bind', type: 'TXT', class: 'CH' } as const;
    const decoded = packet.decode(encodeQuery({ ...fields, recursionDesired: false }));
    expect(decoded).toMatchObject({ flag_rd: false, questions: [{ class: 'CH' }] });
  });

  it.each(['.', 'a', 'a.', 'a\\.b.c', 'ü.de'])('writes the name %j as encodeName does', (name) => {
    const bytes = encodeQuery({ id: 1, name, type: 'A' });
    expect([...bytes.subarray(12, -4)]).toEqual([...encodeName(name)]);
    expect(new Query().read(bytes, bytes.length, false, 512)).toBe('answer');
  });

  it.each([
    ['', 'A', 'bad-name'],
    ['a..b', 'A', 'bad-name'],
    ['a'.repeat(64), 'A', 'bad-name'],
    ['a.'.repeat(128), 'A', 'bad-name'],
    ['a', 'NONSENSE', 'bad-message'],
    ['a', '', 'bad-message'],
  ])('cannot ask for %j of type %s', (name, type, code) => {
    expect(errorOf(() => encodeQuery({ id: 1, name, type }))).toMatchObject({
      name: 'WireError',
      code,
    });
  });

  it('cannot send an ID that 16 bits do not hold', () => {
    expect(() => encodeQuery({ id: 65_536, name: 'a', type: 'A' })).toThrow(WireError);
  });
});

describe('encodeRdata', () => {
  it.each<[Answer, (number | string)[]]>([
    [{ type: 'A', name: 'x', data: '10.0.255.1' }, [10, 0, 255, 1]],
    [
      { type: 'AAAA', name: 'x', data: '2001:db8::1' },
      [0x20, 1, 0x0d, 0xb8, ...new Array<number>(11).fill(0), 1],
    ],
    [
      { type: 'SRV', name: 'x', data: { priority: 1, weight: 2, port: 8080, target: 'a.B' } },
      [0, 1, 0, 2, 0x1f, 0x90, 1, 'a', 1, 'B', 0],
    ],
    [{ type: 'SRV', name: 'x', data: { port: 1, target: '.' } }, [0, 0, 0, 0, 0, 1, 0]],
    [{ type: 'PTR', name: 'x', data: 'a.b.' }, [1, 'a', 1, 'b', 0]],
    [{ type: 'CNAME', name: 'x', data: 'a' }, [1, 'a', 0]],
    [{ type: 'NS', name: 'x', data: 'ns.a' }, [2, 'ns', 1, 'a', 0]],
    [{ type: 'MX', name: 'x', data: { preference: 5, exchange: 'm' } }, [0, 5, 1, 'm', 0]],
    [{ type: 'TXT', name: 'x', data: '1.1.0' }, [5, '1.1.0']],
    [{ type: 'TXT', name: 'x', data: ['a', Buffer.from('bc')] }, [1, 'a', 2, 'bc']],
    [{ type: 'TXT', name: 'x', data: '' }, [0]],
    [
      {
        type: 'SOA',
        name: 'x',
        data: {
          mname: 'n.x',
          rname: 'h\\.m.x',
          serial: 1,
          refresh: 2,
          retry: 3,
          expire: 4,
          minimum: 5,
        },
      },
      [1, 'n', 1, 'x', 0, 3, 'h.m', 1, 'x', 0, ...[1, 2, 3, 4, 5].flatMap((n) => [0, 0, 0, n])],
    ],
  ])('of %j', (record, parts) => {
    expect([...encodeRdata(record)]).toEqual([...bytesOf(...parts)]);
  });

  it('writes any IPv6 address as URL parsing reads it', () => {
    fc.assert(
      fc.property(fc.ipV6().filter(isIPv6), (text) => {
        const rdata = encodeRdata({ type: 'AAAA', name: 'x', data: text });
        expect(rdata).toHaveLength(16);
        const groups = Array.from({ length: 8 }, (_, i) =>
          Buffer.from(rdata)
            .readUInt16BE(i * 2)
            .toString(16),
        );
        const host = (address: string) => new URL(`http://[${address}]`).hostname;
        expect(host(groups.join(':'))).toBe(host(text));
      }),
      {
        numRuns: 500,
        examples: [['::'], ['::1'], ['1::'], ['::ffff:192.0.2.1'], ['64:ff9b::1.2.3.4']],
      },
    );
  });

  it('leaves the list of strings that it gets as it was', () => {
    const data = ['a', 'b'];
    encodeRdata({ type: 'TXT', name: 'x', data });
    expect(data).toEqual(['a', 'b']);
  });

  it.each<[string, Answer]>([
    ['an A that is no address', { type: 'A', name: 'x', data: 'web' }],
    ['an A of three numbers', { type: 'A', name: 'x', data: '1.2.3' }],
    ['an A with a number above 255', { type: 'A', name: 'x', data: '1.2.3.256' }],
    ['an A that is IPv6', { type: 'A', name: 'x', data: '::1' }],
    ['an AAAA that is IPv4', { type: 'AAAA', name: 'x', data: '1.2.3.4' }],
    ['an AAAA with a zone', { type: 'AAAA', name: 'x', data: 'fe80::1%eth0' }],
    ['an AAAA that is no address', { type: 'AAAA', name: 'x', data: 'a:b' }],
    ['a CNAME with an empty label', { type: 'CNAME', name: 'x', data: 'a..b' }],
    ['a PTR with a label of 64 bytes', { type: 'PTR', name: 'x', data: 'a'.repeat(64) }],
    ['an SRV with a bad target', { type: 'SRV', name: 'x', data: { port: 1, target: 'a..b' } }],
    ['an SRV with port 65,536', { type: 'SRV', name: 'x', data: { port: 65_536, target: 'a' } }],
    ['an SOA with a bad name', { type: 'SOA', name: 'x', data: { mname: '..', rname: 'a' } }],
    ['an MX with a bad name', { type: 'MX', name: 'x', data: { exchange: '' } }],
    ['a TXT of 256 bytes', { type: 'TXT', name: 'x', data: 'a'.repeat(256) }],
  ])('throws a WireError for %s', (_, record) => {
    expect(() => encodeRdata(record)).toThrow(WireError);
  });
});

describe('decodeMessage', () => {
  const whole = responseBytes('web.x', {
    flags: packet.AUTHORITATIVE_ANSWER,
    answers: [
      { type: 'CNAME', name: 'web.x', ttl: 5, data: 'a.x' },
      ...addressRecords('a.x', 2),
      { type: 'AAAA', name: 'a.x', ttl: 5, data: '2001:db8::1' },
      { type: 'SRV', name: 'web.x', data: { port: 80, target: 'a.x' } },
      { type: 'TXT', name: 'web.x', data: ['a', 'b'] },
      { type: 'MX', name: 'web.x', data: { exchange: 'm.x' } },
    ],
    authorities: [{ type: 'SOA', name: 'x', data: { mname: 'n.x', rname: 'h.x' } }],
    additionals: [...addressRecords('b.x', 1), opt()],
  });

  it('shows what the message says', () => {
    const decoded = decodeMessage(whole);
    expect(decoded).toMatchObject({
      id: 0x1234,
      rcode: 'NOERROR',
      isTruncated: false,
      isAuthoritative: true,
      questions: [{ name: 'web.x', type: 'A' }],
    });
    expect(decoded.answers.map(({ type }) => type)).toEqual([
      'CNAME',
      'A',
      'A',
      'AAAA',
      'SRV',
      'TXT',
      'MX',
    ]);
    expect(decoded.authorities).toMatchObject([{ type: 'SOA', data: { mname: 'n.x' } }]);
    expect(decoded.additionals).toMatchObject([{ type: 'A' }, { type: 'OPT' }]);
  });

  it('takes no more answers apart than it is told to, and nothing behind them', () => {
    const before = Uint8Array.from(whole);
    const decoded = decodeFirstAnswers(whole, 2);
    expect(decoded.answers.map(({ type }) => type)).toEqual(['CNAME', 'A']);
    expect([...decoded.authorities, ...decoded.additionals]).toEqual([]);
    expect(decodeFirstAnswers(whole, 100).answers).toHaveLength(7);
    expect(Uint8Array.from(whole)).toEqual(before);
    expect(() => decodeFirstAnswers(whole.subarray(0, -1), 2)).toThrow(WireError);
  });

  it('reads bytes that are a part of a larger buffer', () => {
    const larger = new Uint8Array(whole.length + 20);
    larger.set(whole, 10);
    expect(decodeMessage(larger.subarray(10, 10 + whole.length)).id).toBe(0x1234);
  });

  it('shows TC and the response code', () => {
    const bytes = responseBytes('a', { flags: packet.TRUNCATED_RESPONSE | 3 });
    expect(decodeMessage(bytes)).toMatchObject({ isTruncated: true, rcode: 'NXDOMAIN' });
  });

  it('throws a WireError wherever the message is cut', () => {
    for (let length = 0; length < whole.length; length++) {
      expect(errorOf(() => decodeMessage(whole.subarray(0, length)))).toMatchObject({
        name: 'WireError',
        code: 'bad-message',
      });
    }
  });

  it.each([
    [
      'a header with large counts',
      bytesOf(0, 0, 0x80, 0, 0, 0, ...new Array<number>(6).fill(0xff)),
    ],
    ['a pointer to itself', bytesOf(0, 0, 0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1)],
    ['64 KiB of pointers to pointers', pointerChains()],
  ])('refuses %s in no time', (_, bytes) => {
    const startedAt = performance.now();
    expect(() => decodeMessage(bytes)).toThrow(WireError);
    expect(performance.now() - startedAt).toBeLessThan(MAX_MS);
  });

  it('takes a message of thousands of records with one pointer each', () => {
    const bytes = largest();
    const { answers } = decodeMessage(bytes);
    expect(answers.length).toBeGreaterThan(4000);
    expect(answers.at(-1)).toMatchObject({ name: 'a', type: 'A' });
  });

  it('decodes or throws a WireError, soon, whatever bytes change', () => {
    const change = fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 }));
    const changes = fc.array(change, { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(changes, fc.integer({ min: 0, max: 30 }), (edits, cut) => {
        const bytes = Buffer.from(whole.subarray(0, whole.length - cut));
        for (const [at, value] of edits) if (at < bytes.length) bytes[at] = value;
        expectSoon(bytes);
      }),
      { numRuns: 3000 },
    );
  });

  it('decodes or throws a WireError, soon, for any bytes with small counts', () => {
    const body = fc.uint8Array({ maxLength: 500 });
    fc.assert(
      fc.property(body, fc.nat(3), fc.nat(9), (bytes, questions, answers) => {
        expectSoon(bytesOf(1, 2, 0x80, 0, 0, questions, 0, answers, 0, 0, 0, 0, ...bytes));
      }),
      { numRuns: 1000 },
    );
  });
});

function expectSoon(bytes: Uint8Array): void {
  // The machine may stop for a collection; only one that is slow each time is slow.
  const times = Array.from({ length: 3 }, () => {
    const startedAt = performance.now();
    const error = errorOf(() => decodeMessage(bytes));
    if (error !== undefined) expect(error).toBeInstanceOf(WireError);
    return performance.now() - startedAt;
  });
  expect(Math.min(...times)).toBeLessThan(MAX_MS);
}

function errorOf(action: () => unknown): unknown {
  try {
    action();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** A record whose data is a chain of 4,000 pointers, and NS records that all point to its end. */
function pointerChains(): Uint8Array {
  const bytes = Buffer.alloc(65_535);
  bytes.writeUInt16BE(0x8000, 2);
  const rootAt = 12 + 11;
  bytes.writeUInt16BE(0xff00, 13);
  bytes.writeUInt16BE(1 + 2 * 4000, 21);
  let at = rootAt + 1;
  for (let i = 0; i < 4000; i++, at += 2)
    bytes.writeUInt16BE(0xc000 | (i === 0 ? rootAt : at - 2), at);
  const pointer = 0xc000 | (at - 2);
  let count = 1;
  for (; at + 14 <= bytes.length; at += 14, count++) {
    bytes.writeUInt16BE(pointer, at);
    bytes.writeUInt16BE(2, at + 2);
    bytes.writeUInt16BE(2, at + 10);
    bytes.writeUInt16BE(pointer, at + 12);
  }
  bytes.writeUInt16BE(count, 6);
  return bytes.subarray(0, at);
}

/** As many address records as a message can hold, each with a pointer to the question. */
function largest(): Uint8Array {
  const question = responseBytes('a');
  const bytes = Buffer.alloc(65_535);
  question.copy(bytes);
  let [at, count] = [question.length, 0];
  for (; at + 16 <= bytes.length; at += 16, count++) {
    bytes.writeUInt16BE(0xc00c, at);
    bytes.writeUInt16BE(1, at + 2);
    bytes.writeUInt16BE(1, at + 4);
    bytes.writeUInt16BE(4, at + 10);
  }
  bytes.writeUInt16BE(count, 6);
  return bytes.subarray(0, at);
}
