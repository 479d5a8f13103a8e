import { describe, expect, it } from '@jest/globals';
import { addressBytes, buildQuery, encodeKey, TYPE } from '@kube-dns/wire';
import { manyAddresses, replyTo } from '../test/messages.js';
import { readAddresses } from './server-hosts.js';

const query = buildQuery(encodeKey('h.x'), TYPE.A);

/** A record of the question's name. */
function record(type: number, ttlSeconds: number, rdata: Uint8Array): Buffer {
  const fixed = Buffer.alloc(12);
  fixed.writeUInt16BE(0xc00c, 0);
  fixed.writeUInt16BE(type, 2);
  fixed.writeUInt16BE(1, 4);
  fixed.writeUInt32BE(ttlSeconds, 6);
  fixed.writeUInt16BE(rdata.length, 10);
  return Buffer.concat([fixed, rdata]);
}

function replyWith(question: Uint8Array, records: readonly Buffer[]): Buffer {
  const reply = Buffer.concat([replyTo(question), ...records]);
  reply.writeUInt16BE(records.length, 6);
  return reply;
}

describe('the addresses of a reply', () => {
  it('are those of the family, with the least of their TTLs', () => {
    const reply = replyWith(query, [
      record(TYPE.CNAME, 5, Buffer.from([0xc0, 12])),
      record(TYPE.A, 60, addressBytes('192.0.2.1')),
      record(TYPE.A, 30, addressBytes('192.0.2.2')),
      record(TYPE.AAAA, 20, addressBytes('2001:db8:0:0:0:0:0:1')),
      record(TYPE.A, 10, Buffer.from('an address of another length')),
    ]);
    expect(readAddresses(reply, 'A')).toEqual({
      addresses: ['192.0.2.1', '192.0.2.2'],
      ttlSeconds: 30,
      failure: '',
    });
    expect(readAddresses(reply, 'AAAA')).toEqual({
      addresses: ['2001:db8::1'],
      ttlSeconds: 20,
      failure: '',
    });
  });

  it('are none without a failure where there are none', () => {
    const none = { addresses: [], ttlSeconds: 0, failure: '' };
    expect(readAddresses(replyTo(query), 'A')).toEqual(none);
  });

  it('are eight at the most', () => {
    const reply = replyTo(query, { addresses: manyAddresses(20) });
    expect(readAddresses(reply, 'A').addresses).toEqual(manyAddresses(8));
  });

  it.each([
    ['an error', replyTo(query, { rcode: 3 }), 'the answer is NXDOMAIN'],
    ['an error without a name', replyTo(query, { rcode: 12 }), 'the answer is RCODE 12'],
    [
      'a record that breaks off',
      replyTo(query, { addresses: ['10.0.0.1'] }).subarray(0, -1),
      'the answer is malformed',
    ],
    ['a part of a header', Buffer.alloc(3), 'the answer is malformed'],
  ])('are none in %s', (_what, reply, failure) => {
    expect(readAddresses(reply, 'A')).toEqual({ addresses: [], ttlSeconds: 0, failure });
  });

  it('are looked for in 64 KiB of records with long names without decoding these', () => {
    const question = buildQuery(encodeKey('a.'.repeat(120)), TYPE.A);
    const alias = record(TYPE.CNAME, 9, Buffer.from([0xc0, 12]));
    const reply = replyWith(question, Array<Buffer>(4_600).fill(alias));
    let reads = 0;
    const counted = new Proxy(reply, {
      get: (bytes, key) => {
        reads++;
        return Reflect.get(bytes, key) as unknown;
      },
    });
    expect(readAddresses(counted, 'A').failure).toBe('');
    // The head of each record; its name alone has 241 bytes.
    expect(reads).toBeLessThan(40 * 4_600);
  });
});
