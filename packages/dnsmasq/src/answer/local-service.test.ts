import { describe, expect, it } from '@jest/globals';
import { readQuery } from '@kube-dns/wire';
import { encodeQuery } from '@kube-dns/testkit';
import type { Client, Session } from '@kube-dns/transport';
import { recordedLog } from '../../test/recorded-log.js';
import type { Interfaces } from '../listen/listeners.js';
import { parseOptions } from '../options/parse-options.js';
import {
  isLocalServiceOn,
  LocalNetworks,
  LocalService,
  sessionsBehindLocalService,
} from './local-service.js';

const INTERFACES = {
  eth0: [
    { address: '10.1.2.3', family: 'IPv4', cidr: '10.1.2.3/24' },
    { address: 'fd00::1', family: 'IPv6', cidr: 'fd00::1/64' },
  ],
} as unknown as Interfaces;

const client = (address: string) => ({ address }) as Client;
const ANSWER_BYTES = 42;

describe('local service', () => {
  it.each<['net' | 'host', string, boolean]>([
    ['net', '10.1.2.99', true],
    ['net', '10.1.3.1', false],
    ['net', 'fd00::99%eth0', true],
    ['net', 'fd01::1', false],
    ['host', '10.1.2.3', true],
    ['host', '10.1.2.99', false],
  ])('%s answers %s: %s', (service, address, isAnswered) => {
    const answerer = { answer: () => ANSWER_BYTES };
    const local = new LocalService(answerer, new LocalNetworks(service, INTERFACES), recordedLog());
    const length = local.answer(
      readQuery(encodeQuery({ name: 'x' })),
      new Uint8Array(512),
      client(address),
    );
    expect(length).toBe(isAnswered ? ANSWER_BYTES : 0);
  });

  it.each([
    ['10.1.2.99', ['received']],
    ['10.1.3.1', ['closed']],
  ])('lets sessions of its networks subscribe, and closes others: %s', (address, expected) => {
    const events: string[] = [];
    const sessions = sessionsBehindLocalService(
      { receive: () => events.push('received') },
      parseOptions(['--local-service']),
      INTERFACES,
    );
    const session = { address, close: () => events.push('closed') } as unknown as Session;
    sessions.receive(new Uint8Array(12), session);
    expect(events).toEqual(expected);
  });

  it('logs the first of those that it does not answer', () => {
    const log = recordedLog();
    const local = new LocalService(
      { answer: () => ANSWER_BYTES },
      new LocalNetworks('net', INTERFACES),
      log,
    );
    for (const address of ['1.1.1.1', '2.2.2.2']) {
      local.answer(readQuery(encodeQuery({ name: 'x' })), new Uint8Array(512), client(address));
    }
    expect(log.messages).toEqual([
      'ignoring query from non-local network 1.1.1.1 (logged only once)',
    ]);
  });

  it.each([
    ['--local-service', true],
    ['--local-service=host', true],
    ['', false],
    ['--local-service --listen-address=10.0.0.1', false],
    ['--local-service --interface=eth0', false],
    ['--local-service --except-interface=eth0', false],
  ])('counts unless options say where to listen: %s', (line, expected) => {
    expect(isLocalServiceOn(parseOptions(line.split(' ').filter(Boolean)))).toBe(expected);
  });
});
