import { describe, expect, it } from '@jest/globals';
import { decodeMessage, encodeQuery } from '@kube-dns/testkit';
import { AnswerCache } from '@kube-dns/resolver';
import { encodeKey, encodeRdata, FLAG, TYPE, writeUint16 } from '@kube-dns/wire';
import { repliesWith } from '../../test/replies.js';
import { parseServerRule } from '../options/server-value.js';
import { Routes } from '../routing/routes.js';

const NAME = 'a.example';
const SVCB = 64;
const HTTPS = 65;
const IPV4_HINT = 4;
const IPV6_HINT = 6;
const OTHER_KEY = 1;

const routes = new Routes({ rules: ['192.0.2.54'].map(parseServerRule), resolvServers: [] });
const rules = {
  stopsRebind: true,
  allowsLocalhostRebind: false,
  rebindDomains: { domains: [encodeKey('ok.example')] },
  bogusNxdomain: [],
  ignoredAddresses: [],
  aliases: [],
};

const uint16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const address = (data: string) =>
  encodeRdata({ type: data.includes(':') ? 'AAAA' : 'A', name: '.', data });

/** A record, with its owner in plain. */
function record(type: number, rdata: Uint8Array, owner = NAME): Buffer {
  const ttl = Buffer.from([0, 0, 0, 9]);
  const fixed = [uint16(type), uint16(1), ttl, uint16(rdata.length)];
  return Buffer.concat([encodeKey(owner), ...fixed, rdata]);
}

const addressRecord = (data: string, owner?: string) =>
  record(data.includes(':') ? TYPE.AAAA : TYPE.A, address(data), owner);

/** A service binding with these hints, and a key before them. */
function binding(type: number, hints: readonly [key: number, ...addresses: string[]][]): Buffer {
  const param = (key: number, value: Buffer) => [uint16(key), uint16(value.length), value];
  const written = [
    ...param(OTHER_KEY, Buffer.from('\x02h2')),
    ...hints.flatMap(([key, ...texts]) => param(key, Buffer.concat(texts.map(address)))),
  ];
  return record(type, Buffer.concat([uint16(1), encodeKey('.'), ...written]));
}

type Taken = [
  type: number,
  answers: readonly Buffer[],
  additionals?: readonly Buffer[],
  name?: string,
];

/** What a client gets. */
function reply(...[type, answers, additionals = [], name = NAME]: Taken) {
  const received = Buffer.concat([encodeQuery({ name, type }), ...answers, ...additionals]);
  writeUint16(received, 2, FLAG.QR | FLAG.RD | FLAG.RA);
  writeUint16(received, 6, answers.length);
  writeUint16(received, 10, additionals.length);
  const replies = repliesWith({
    cache: new AnswerCache({ maxRecords: 9 }),
    replies: rules,
    routes,
  });
  return decodeMessage(Buffer.from(replies.take(received, true)!));
}

const taken = (...all: Taken) => reply(...all).answers.length;

describe('attack 17: rebinding by other ways than an address', () => {
  const PRIVATE_IPV4 = ['0.0.0.0', '10.0.0.1', '127.0.0.1', '192.168.1.1'];
  const PRIVATE_IPV6 = ['::', '::1', 'fd00::1', '::ffff:10.0.0.1', '64:ff9b::7f00:1'];

  it.each([...PRIVATE_IPV4, ...PRIVATE_IPV6])('gives no client %s', (text) => {
    const isIpv4 = PRIVATE_IPV4.includes(text);
    const key = isIpv4 ? IPV4_HINT : IPV6_HINT;
    const good = isIpv4 ? '1.1.1.1' : '2a00::1';
    const type = isIpv4 ? TYPE.A : TYPE.AAAA;
    for (const bindingType of [HTTPS, SVCB]) {
      expect(taken(bindingType, [binding(bindingType, [[key, text]])])).toBe(0);
      expect(taken(bindingType, [binding(bindingType, [[key, good, text]])])).toBe(0);
      const plain = [binding(bindingType, [[key, good]])];
      expect(taken(bindingType, plain)).toBe(1);
    }
    const cname = record(TYPE.CNAME, encodeKey('b.other'));
    expect(taken(type, [cname, addressRecord(text, 'b.other')])).toBe(0);
    expect(taken(type, [cname, addressRecord(good, 'b.other')])).toBe(2);
  });

  it('leaves what is exempt, and what is cut, as it is', () => {
    const rebound = binding(HTTPS, [[IPV4_HINT, '10.0.0.1']]);
    expect(taken(HTTPS, [rebound], [], 'x.ok.example')).toBe(1);
    const cut = record(HTTPS, Buffer.concat([uint16(1), encodeKey('.'), uint16(4), uint16(9)]));
    expect(taken(HTTPS, [cut])).toBe(1);
  });
});

describe('outsider 5: private addresses that were not asked for', () => {
  const srv = record(TYPE.SRV, Buffer.concat([Buffer.alloc(6), encodeKey('t.example')]));
  const mx = record(TYPE.MX, Buffer.concat([Buffer.alloc(2), encodeKey('t.example')]));
  const additionals = ['10.0.0.1', '1.1.1.1', 'fd00::1', '2a00::1', '::10.0.0.1'].map((text) =>
    addressRecord(text, 't.example'),
  );

  it.each([
    ['SRV', TYPE.SRV, srv],
    ['MX', TYPE.MX, mx],
    ['A', TYPE.A, addressRecord('1.1.1.1')],
    ['HTTPS', HTTPS, binding(HTTPS, [[IPV4_HINT, '1.1.1.1']])],
  ])('are removed from an answer to %s, which stays', (_, type, answer) => {
    const got = reply(type, [answer], additionals);
    expect(got.answers).toHaveLength(1);
    expect(got.additionals).toMatchObject([{ data: '1.1.1.1' }, { data: '2a00::1' }]);
    expect(reply(type, [answer], additionals, 'x.ok.example').additionals).toHaveLength(5);
  });
});
