import { describe, expect, it } from '@jest/globals';
import { parseFlags } from '@kube-dns/base';
import { PROGRAM } from './flags.js';

const read = (...argv: string[]) => parseFlags(PROGRAM, argv).values['metrics-addr'];

describe('--metrics-addr', () => {
  it('is off unless it is given', () => {
    expect(read()).toBeNull();
    expect(read('--metrics-addr=:9153', '--metrics-addr=')).toBeNull();
  });

  it.each([
    [':9153', '', 9_153],
    ['127.0.0.1:0', '127.0.0.1', 0],
    ['[::1]:9153', '::1', 9_153],
  ])('is read from %s', (text, host, port) => {
    expect(read(`--metrics-addr=${text}`)).toEqual({ host, port });
  });

  it.each([
    ['127.0.0.1', 'the port is missing'],
    ['::1', 'the port is missing'],
    [':http', 'port "http" is not a number up to 65535'],
  ])('refuses %s', (text, reason) => {
    const message = `--metrics-addr=${text}: ${reason}`;
    expect(() => read(`--metrics-addr=${text}`)).toThrow(expect.objectContaining({ message }));
  });
});
