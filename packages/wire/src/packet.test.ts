import { isIPv6 } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import packet from 'dns-packet';
import type { Answer } from 'dns-packet';
import fc from 'fast-check';
import { errorOf } from '../test/error-of.js';
import { bytesOf } from '../test/messages.js';
import { WireError } from './errors.js';
import { encodeName } from './name.js';
import { encodeQuery, encodeRdata } from './packet.js';
import { Query } from './query.js';

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

  it('clears RD and uses another class when requested', () => {
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
