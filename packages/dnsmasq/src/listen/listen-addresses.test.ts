import { describe, expect, it } from '@jest/globals';
import { StartupError } from '@kube-dns/daemon';
import { recordedLog } from '../../test/recorded-log.js';
import { type Interfaces, listenAddresses } from './listeners.js';
import { parseOptions } from '../options/parse-options.js';

const address = (text: string, internal = false) =>
  ({ address: text, family: text.includes(':') ? 'IPv6' : 'IPv4', internal }) as const;

const INTERFACES = {
  lo: [address('127.0.0.1', true), address('::1', true)],
  eth0: [address('10.0.0.1'), address('fe80::1')],
  eth1: [address('10.0.1.1')],
} as unknown as Interfaces;

describe('the addresses to serve on', () => {
  it.each([
    ['', []],
    ['--listen-address=10.0.0.1,::1', ['10.0.0.1', '::1']],
    ['--interface=eth1', ['127.0.0.1', '::1', '10.0.1.1']],
    ['-i eth0', ['127.0.0.1', '::1', '10.0.0.1', 'fe80::1%eth0']],
    ['--interface=eth* --except-interface=eth0', ['127.0.0.1', '::1', '10.0.1.1']],
    ['--except-interface=eth0', ['127.0.0.1', '::1', '10.0.1.1']],
    ['--interface=eth1 --except-interface=lo', ['10.0.1.1']],
    ['-i eth1 -a 10.9.9.9', ['10.9.9.9', '127.0.0.1', '::1', '10.0.1.1']],
    ['-a 10.9.9.9 -I eth0', ['10.9.9.9']],
  ])('are those of the options: %s', (line, expected) => {
    const options = parseOptions(line.split(' ').filter(Boolean));
    expect(listenAddresses(options, () => INTERFACES, recordedLog())).toEqual(expected);
  });

  it('lack those of an interface that is not there, with a warning', () => {
    const log = recordedLog();
    const addresses = listenAddresses(parseOptions(['-i', 'nope']), () => INTERFACES, log);
    expect(addresses).toEqual(['127.0.0.1', '::1']);
    expect(log.messages).toEqual(['interface nope does not currently exist']);
  });

  it('must all be there with --bind-interfaces', () => {
    const options = parseOptions(['-i', 'nope', '-z']);
    const read = () => listenAddresses(options, () => INTERFACES, recordedLog());
    expect(read).toThrow(new StartupError('unknown interface nope', 2));
    expect(read).toThrow(expect.objectContaining({ exitCode: 2 }));
  });
});
