import { networkInterfaces } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { isOwnAddress } from './own-address.js';

const at = (address: string, port = 53) => ({ address, port });
const ofThisMachine = Object.values(networkInterfaces())
  .flat()
  .flatMap((each) => each?.address ?? []);

describe('isOwnAddress', () => {
  it.each([
    ['the same address', at('10.0.0.1'), at('10.0.0.1'), true],
    ['another port', at('10.0.0.1', 54), at('10.0.0.1'), false],
    ['another address', at('10.0.0.2'), at('10.0.0.1'), false],
    ['another spelling', at('FD00:0::1'), at('fd00::1'), true],
    ['a wildcard', at('0.0.0.0'), at('10.0.0.1'), true],
    ['loopback when it listens on all', at('127.0.0.53'), at('0.0.0.0'), true],
    ['loopback when it listens on all of both families', at('127.0.0.1'), at(''), true],
    ['IPv4 in IPv6 when it listens on all of both families', at('::ffff:7f00:1'), at(''), true],
    ['IPv6 when it listens on all of IPv4', at('::1'), at('0.0.0.0'), false],
    ['IPv4 when it listens on all of IPv6', at('127.0.0.1'), at('::'), false],
    ['a wildcard of the other family', at('0.0.0.0'), at('::'), false],
    ['an address that this machine does not have', at('192.0.2.1'), at('0.0.0.0'), false],
  ])('judges %s', (_what, server, own, isOwn) => {
    expect(isOwnAddress(server, own)).toBe(isOwn);
  });

  it('knows every address of this machine when it listens on all', () => {
    expect(ofThisMachine.filter((address) => !isOwnAddress(at(address), at('')))).toEqual([]);
  });
});
