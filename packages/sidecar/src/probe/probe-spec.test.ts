import { describe, expect, it } from '@jest/globals';

import { parseProbeSpec } from './probe-spec.js';

const FORMAT = 'must be <label>,<server>,<name>[,<interval>[,<type>]]';
const LABEL = 'the label must be letters, digits and _';
const INTERVAL = 'the interval must be whole seconds from 1 to 2147483';
const TYPE = 'the type must be one of A, AAAA, ANY, SRV';

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
    ['', FORMAT],
    ['a,b', FORMAT],
    ['a,b,c,5,A,x', FORMAT],
    ['dn$m@s#,b,c', LABEL],
    [',b,c', LABEL],
    [' a,b,c', LABEL],
    ['a,b,c,0.5', INTERVAL],
    ['a,b,c,abc', INTERVAL],
    ['a,b,c,', INTERVAL],
    ['a,b,c,99999999999999999999', INTERVAL],
    ['a,b,c,0', INTERVAL],
    ['a,b,c,-3,A', INTERVAL],
    ['a,b,c,2147484', INTERVAL],
    ['a,b,c,x,y', INTERVAL],
    ['a,b,c,5,BogusType', TYPE],
    ['a,b,c,5,a', TYPE],
    ['a,b,c,5,', TYPE],
    ['a,b:c,d', 'port "c" is not a number up to 65535'],
  ])('refuses %j', (text, message) => {
    expect(() => parseProbeSpec(text)).toThrow(expect.objectContaining({ message }));
  });

  it('refuses a name that no query can hold', () => {
    expect(() => parseProbeSpec(`a,b,${'x'.repeat(64)}.com`)).toThrow('label longer than 63 bytes');
  });
});
