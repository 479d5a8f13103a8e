import { describe, expect, it } from '@jest/globals';

import { parseProbeSpec } from './probe-spec.js';

describe('parseProbeSpec', () => {
  it('reads the probe of the stock manifest', () => {
    expect(
      parseProbeSpec('kubedns,127.0.0.1:10053,kubernetes.default.svc.cluster.local,5,SRV'),
    ).toEqual({
      label: 'kubedns',
      server: { host: '127.0.0.1', port: 10_053 },
      name: 'kubernetes.default.svc.cluster.local.',
      intervalMs: 5_000,
      type: 'SRV',
    });
  });

  it('asks port 53 for ANY every 5 s by default', () => {
    expect(parseProbeSpec('a_1,10.0.0.1,example.com.')).toEqual({
      label: 'a_1',
      server: { host: '10.0.0.1', port: 53 },
      name: 'example.com.',
      intervalMs: 5_000,
      type: 'ANY',
    });
  });

  it('reads an empty name as the root', () => {
    expect(parseProbeSpec('a,b,').name).toBe('.');
  });

  it.each([['A'], ['AAAA'], ['ANY'], ['SRV']])('accepts the type %s', (type) => {
    expect(parseProbeSpec(`a,b,c,1,${type}`).type).toBe(type);
  });

  it.each([
    ['', 'invalid format to --probe'],
    ['a,b', 'invalid format to --probe'],
    ['a,b,c,5,A,x', 'invalid format to --probe'],
    ['dn$m@s#,b,c', 'label must be of format ^[a-zA-Z0-9_]+$'],
    [',b,c', 'label must be of format ^[a-zA-Z0-9_]+$'],
    [' a,b,c', 'label must be of format ^[a-zA-Z0-9_]+$'],
    ['a,b,c,0.5', 'strconv.Atoi: parsing "0.5": invalid syntax'],
    ['a,b,c,abc', 'strconv.Atoi: parsing "abc": invalid syntax'],
    ['a,b,c,', 'strconv.Atoi: parsing "": invalid syntax'],
    [
      'a,b,c,99999999999999999999',
      'strconv.Atoi: parsing "99999999999999999999": value out of range',
    ],
    ['a,b,c,5,BogusType', 'invalid type for DNS: BogusType'],
    ['a,b,c,5,a', 'invalid type for DNS: a'],
    ['a,b,c,5,', 'invalid type for DNS: '],
    ['a,b,c,x,y', 'strconv.Atoi: parsing "x": invalid syntax'],
    ['a,b,c,0,y', 'invalid type for DNS: y'],
    ['a,b,c,0', 'interval must be at least 1 second'],
    ['a,b,c,-3,A', 'interval must be at least 1 second'],
    ['a,b,c,2147484', 'interval must be at most 2147483 seconds'],
    ['a,b:c,d', 'port "c" is not a number up to 65535'],
  ])('refuses %j', (text, message) => {
    expect(() => parseProbeSpec(text)).toThrow(expect.objectContaining({ message }));
  });

  it('refuses a name that no query can hold', () => {
    expect(() => parseProbeSpec(`a,b,${'x'.repeat(64)}.com`)).toThrow('label longer than 63 bytes');
  });
});
