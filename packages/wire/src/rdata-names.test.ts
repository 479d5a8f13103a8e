import { describe, expect, it } from '@jest/globals';
import { bytesOf } from '../test/messages.js';
import { TYPE } from './protocol.js';
import { expandRdata } from './rdata-names.js';

const NAME = bytesOf(1, 'a', 1, 'x', 0);
const NAME_AT = 12;
const POINTER = Uint8Array.of(0xc0, NAME_AT);

/** The data behind a message that has the name `a.x` at offset 12, expanded in hex; undefined where it is refused. */
function expand(type: number, rdata: Uint8Array, room = 64): string | undefined {
  const start = NAME_AT + NAME.length;
  const message = new Uint8Array(Buffer.concat([new Uint8Array(NAME_AT), NAME, rdata]));
  const out = new Uint8Array(room).fill(0xee);
  const length = expandRdata(message, type, start, message.length, out, 2);
  return length < 0 ? undefined : Buffer.from(out.subarray(2, 2 + length)).toString('hex');
}

const hex = (...parts: Uint8Array[]) => Buffer.concat(parts).toString('hex');

describe('expandRdata', () => {
  const numbers = new Uint8Array(20).fill(7);
  const strings = bytesOf(0, 1, 0, 2, 1, 'S', 0, 2, 're');
  it.each<[string, number, Uint8Array, Uint8Array, Uint8Array]>([
    ['CNAME', TYPE.CNAME, bytesOf(), POINTER, bytesOf()],
    ['DNAME', TYPE.DNAME, bytesOf(), POINTER, bytesOf()],
    ['MX', TYPE.MX, bytesOf(0, 10), POINTER, bytesOf()],
    ['SRV', TYPE.SRV, bytesOf(0, 1, 0, 2, 0, 80), POINTER, bytesOf()],
    ['NAPTR', TYPE.NAPTR, strings, POINTER, bytesOf()],
    ['SOA', TYPE.SOA, bytesOf(), bytesOf(...POINTER, ...POINTER), numbers],
  ])('writes out the names of %s', (_, type, before, pointers, after) => {
    const names = Array.from({ length: pointers.length / 2 }, () => NAME);
    const rdata = bytesOf(...before, ...pointers, ...after);
    expect(expand(type, rdata)).toBe(hex(before, ...names, after));
  });

  it('takes data without names as it is', () => {
    expect(expand(TYPE.TXT, bytesOf(2, 0xc0, NAME_AT))).toBe('02c00c');
    expect(expand(TYPE.A, bytesOf(10, 0, 0, 1))).toBe('0a000001');
  });

  it.each<[string, number, Uint8Array]>([
    ['an address of another length', TYPE.A, bytesOf(10, 0, 0)],
    ['a pointer forwards', TYPE.CNAME, bytesOf(0xc0, 0x20)],
    ['bytes behind the name', TYPE.PTR, bytesOf(...POINTER, 0)],
    ['numbers that are too short', TYPE.SOA, bytesOf(...POINTER, ...POINTER, 1)],
    ['strings that end behind the data', TYPE.NAPTR, bytesOf(0, 1, 0, 2, 9, 'S')],
    ['no name', TYPE.SRV, bytesOf(0, 1, 0, 2, 0, 80)],
  ])('refuses %s', (_, type, rdata) => {
    expect(expand(type, rdata)).toBeUndefined();
  });

  it('refuses data that it has no room for', () => {
    const rdata = bytesOf(0, 10, ...POINTER);
    expect(expand(TYPE.MX, rdata, 2 + 2 + NAME.length)).toBe(hex(bytesOf(0, 10), NAME));
    expect(expand(TYPE.MX, rdata, 2 + 1 + NAME.length)).toBeUndefined();
  });
});
