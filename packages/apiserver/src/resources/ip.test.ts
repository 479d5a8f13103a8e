import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatIp, isInRange, parseCidr, parseIp, refuseSpecialIp } from './ip.js';

describe('parseIp and formatIp', () => {
  it.each([
    ['10.0.0.1', '10.0.0.1'],
    ['fd00:10:96:0:0:0:0:a', 'fd00:10:96::a'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['2001:DB8::1:0:0:1', '2001:db8::1:0:0:1'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['::ffff:10.0.0.1', '::ffff:a00:1'],
    ['::192.0.2.1', '::c000:201'],
    ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4:5:6:c000:201'],
    ['10:0:0:10::', '10:0:0:10::'],
  ])('spell %s as %s', (text, canonical) => {
    expect(formatIp(parseIp(text)!)).toBe(canonical);
  });

  it.each(['', '10.0.0', '010.0.0.1', '10.0.0.256', 'fe80::1%eth0', ':::', 'x'])(
    'refuse %j',
    (text) => expect(parseIp(text)).toBeUndefined(),
  );

  it('return any IPv6 address from its text', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }), (value) => {
        expect(parseIp(formatIp({ family: 'IPv6', value }))).toEqual({ family: 'IPv6', value });
      }),
    );
  });
});

describe('parseCidr', () => {
  it('starts a range at its network address', () => {
    const range = parseCidr('10.96.3.7/16')!;
    expect(formatIp({ family: 'IPv4', value: range.base })).toBe('10.96.0.0');
    expect(isInRange(parseIp('10.96.255.255')!, range)).toBe(true);
    expect(isInRange(parseIp('10.97.0.0')!, range)).toBe(false);
    expect(isInRange(parseIp('::1')!, range)).toBe(false);
  });

  it.each(['10.0.0.0', '10.0.0.0/33', 'x/8', '10.0.0.0/8/8', 'fd00::/129', '10.0.0.0/'])(
    'refuses %s',
    (text) => expect(parseCidr(text)).toBeUndefined(),
  );
});

describe('refuseSpecialIp', () => {
  it.each([
    '0.0.0.0',
    '127.0.0.1',
    '127.9.9.9',
    '169.254.1.1',
    '224.0.0.1',
    '::',
    '::1',
    'fe80::1',
    'ff02::1',
  ])('refuses %s', (text) => expect(refuseSpecialIp(parseIp(text)!)).toMatch(/^may not be/));

  it.each(['10.0.0.1', '224.0.1.1', 'fd00::1', '192.168.0.1'])('accepts %s', (text) =>
    expect(refuseSpecialIp(parseIp(text)!)).toBeUndefined(),
  );
});
