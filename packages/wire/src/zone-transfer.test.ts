import { describe, expect, it } from '@jest/globals';
import { writeUint16, writeUint32 } from './bytes.js';
import { encodeKey } from './name.js';
import { encodeQuery, encodeRdata } from './packet.js';
import { TYPE } from './protocol.js';
import { Query } from './query.js';
import { isNewerSerial, readIxfrSerial } from './zone-transfer.js';

const SOA = encodeRdata({
  type: 'SOA',
  name: '.',
  data: {
    mname: 'ns.example',
    rname: 'host.example',
    serial: 4_000_000_000,
    refresh: 1,
    retry: 2,
    expire: 3,
    minimum: 4,
  },
});

/** An IXFR of `example` with one record in the authority section. */
function request(owner = encodeKey('example'), type = TYPE.SOA as number, rdata = SOA): Buffer {
  const query = encodeQuery({ id: 1, name: 'example', type: 'IXFR' });
  writeUint16(query, 8, 1);
  const fixed = new Uint8Array(10);
  writeUint16(fixed, 0, type);
  writeUint16(fixed, 2, 1);
  writeUint32(fixed, 4, 0);
  writeUint16(fixed, 8, rdata.length);
  return Buffer.concat([query, owner, fixed, rdata]);
}

function serialOf(message: Uint8Array): number | undefined {
  const query = new Query();
  expect(query.read(message, message.length, true, 1232)).toBe('answer');
  return readIxfrSerial(query);
}

describe('the serial of an IXFR', () => {
  it('is that of its SOA, whose owner may be compressed and in another case', () => {
    expect(serialOf(request())).toBe(4_000_000_000);
    expect(serialOf(request(Uint8Array.of(0xc0, 12)))).toBe(4_000_000_000);
    expect(serialOf(request(Buffer.from('\u0007EXAMPLE\0', 'latin1')))).toBe(4_000_000_000);
    const compressed = Buffer.concat([Buffer.of(0xc0, 12, 0xc0, 12), SOA.subarray(-20)]);
    expect(serialOf(request(undefined, undefined, compressed))).toBe(4_000_000_000);
  });

  it.each([
    ['no record', encodeQuery({ id: 1, name: 'example', type: 'IXFR' })],
    ['another zone', request(encodeKey('example.org'))],
    ['another type', request(undefined, TYPE.NS)],
    ['data that is too short', request(undefined, undefined, SOA.subarray(0, -1))],
    ['data that is too long', request(undefined, undefined, Buffer.concat([SOA, Buffer.of(0)]))],
    ['no names', request(undefined, undefined, Buffer.of(63, 1, 2))],
    ['no data', request(undefined, undefined, Buffer.alloc(0))],
    ['a pointer at its end', request(undefined, undefined, Buffer.of(0, 0xc0))],
  ])('is unknown with %s', (_, message) => {
    expect(serialOf(message)).toBeUndefined();
  });

  it('is compared as RFC 1982 has it', () => {
    for (const [one, other, isNewer] of [
      [2, 1, true],
      [1, 1, false],
      [1, 2, false],
      [0, 0xffff_ffff, true],
      [0x7fff_ffff, 0, true],
      [0x8000_0000, 0, false],
    ] as const)
      expect([one, other, isNewerSerial(one, other)]).toEqual([one, other, isNewer]);
  });
});
