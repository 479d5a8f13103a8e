import { describe, expect, it } from '@jest/globals';
import { decodeName, TYPE } from '@kube-dns/wire';
import type { Interfaces } from '../listen/listeners.js';
import { parseOptions } from '../options/parse-options.js';
import { interfaceRecords } from './local-records.js';
import { NearAddresses } from './local-answers.js';

const address = (text: string, netmask: string) => ({
  address: text,
  netmask,
  family: text.includes(':') ? 'IPv6' : 'IPv4',
});

const INTERFACES = {
  lo: [address('127.0.0.1', '255.0.0.0')],
  eth0: [
    address('10.1.2.3', '255.255.240.0'),
    address('10.1.2.4', '255.255.240.0'),
    address('fd00:1::3', 'ffff:ffff:ffff:ffff::'),
    address('fe80::1', 'ffff:ffff:ffff:ffff::'),
  ],
} as unknown as Interfaces;

function recordsOf(line: string): string[] {
  const { interfaceNames } = parseOptions([line, '--conf-file=/dev/null']);
  return interfaceRecords(interfaceNames[0]!, INTERFACES).map(({ owner, type, rdata }) =>
    type === TYPE.PTR
      ? `${decodeName(owner)} ${decodeName(rdata)}`
      : `${decodeName(owner)} ${rdata.join('.')}`,
  );
}

describe('a name of an interface', () => {
  it('has its addresses, but for link-local ones', () => {
    expect(recordsOf('--interface-name=a.x,eth0/4')).toEqual([
      ...['a.x 10.1.2.3', '3.2.1.10.in-addr.arpa a.x', 'a.x 10.1.2.4'],
      '4.2.1.10.in-addr.arpa a.x',
    ]);
    expect(recordsOf('--interface-name=a.x,eth0/6')).toHaveLength(2);
    expect(recordsOf('--interface-name=a.x,nope')).toEqual([]);
  });

  it('has those of hosts in its networks, of the families that are given', () => {
    expect(new Set(recordsOf('--dynamic-host=d.x,99.99.31.9,eth0'))).toEqual(
      new Set(['d.x 10.1.15.9', '9.15.1.10.in-addr.arpa d.x']),
    );
    expect(recordsOf('--dynamic-host=d.x,ffff::9,eth0')[0]).toBe(
      'd.x 253.0.0.1.0.0.0.0.0.0.0.0.0.0.0.9',
    );
  });
});

describe('an address near a client', () => {
  it.each([
    [true, [10, 1, 9, 9], [10, 1, 15, 1]],
    [false, [10, 1, 9, 9], [10, 1, 16, 1]],
    [false, [10, 9, 9, 9], [10, 1, 2, 3]],
    [true, [127, 9, 9, 9], [127, 0, 0, 1]],
    [false, [127, 9, 9, 9], [10, 1, 2, 3]],
    [false, new Array<number>(16).fill(0), [10, 1, 2, 3]],
  ])('is in a network with it that this machine is in: %s, %j and %j', (isNear, client, other) => {
    const near = new NearAddresses(INTERFACES);
    near.lookFrom(Uint8Array.from(client));
    expect(near.isNear(Uint8Array.from(other))).toBe(isNear);
  });
});
