import { describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  decodeMessage,
  encodeQuery,
  encodeReply,
  type Response,
} from '@kube-dns/testkit';
import { encodeKey, RCODE, readQuery, TYPE } from '@kube-dns/wire';
import fc from 'fast-check';
import { PLAIN_RULES } from '@kube-dns/resolver/testing';
import { repliesWith } from '../../test/replies.js';
import { AnswerCache, type ReplyPipeline } from '@kube-dns/resolver';
import { parseServerRule } from '../options/server-value.js';
import { parseAddressRange, parseAlias } from '../options/values.js';
import { Routes } from '../routing/routes.js';

const routes = new Routes({
  rules: ['/stub.test/192.0.2.53', '/back.stub.test/#', '192.0.2.54'].map(parseServerRule),
  resolvServers: [],
});

/** With every rule there is. */
function everyRule(cache = new AnswerCache({ maxRecords: 50 })): ReplyPipeline {
  return repliesWith({
    cache,
    caching: { ...PLAIN_RULES, isExtraType: () => true, negativeTtlSeconds: 5 },
    replies: {
      stopsRebind: true,
      allowsLocalhostRebind: false,
      rebindDomains: { domains: [encodeKey('ok.example')], isUnqualified: true },
      bogusNxdomain: [parseAddressRange('192.0.2.128/25')],
      ignoredAddresses: [parseAddressRange('2a00::1')],
      aliases: [
        parseAlias(['198.18.0.0-198.18.0.9', '198.18.1.0', '255.255.255.0']),
        parseAlias(['198.18.2.1', '192.0.2.129']),
        parseAlias(['192.0.2.130', '198.18.3.1']),
      ],
    },
    filteredTypes: [TYPE.TXT, TYPE.ANY],
    maxTtlSeconds: 60,
    hasName: true,
    routes,
  });
}

/** Removes records of type TXT. */
function withoutTexts(): ReplyPipeline {
  const cache = new AnswerCache({ maxRecords: 50 });
  return repliesWith({ cache, filteredTypes: [TYPE.TXT], routes });
}

/** A TXT record, and behind it an address of another name, of 16 bytes. */
const WITH_HIDDEN_TEXT: Response = {
  answers: [{ type: 'TXT', ttl: 9, data: 'x' }],
  additionals: [{ name: 'a.example', type: 'AAAA', ttl: 9, data: '2a00::1' }],
};

const whole = encodeReply(encodeQuery({ name: 'a.example', ednsBytes: 1232 }), {
  answers: [
    { type: 'CNAME', ttl: 300, data: 'b.example' },
    { name: 'b.example', type: 'TXT', ttl: 300, data: 'x' },
    { name: 'b.example', type: 'A', ttl: 300, data: '198.18.0.1' },
    { name: 'c.b.example', type: 'AAAA', ttl: 300, data: '2a00::2' },
  ],
});

describe('a reply on its way to the clients', () => {
  it('loses filtered records, without damage to names that pointed there', () => {
    const { texts, ttls, answers } = decodeMessage(everyRule().take(Buffer.from(whole), true)!);
    expect(texts).toEqual(['CNAME b.example', 'A 198.18.1.1', 'AAAA 2a00::2']);
    expect(answers.map(({ name }) => name)).toEqual(['a.example', 'b.example', 'c.b.example']);
    expect(ttls).toEqual([60, 60, 60]);
  });

  it.each([
    ['one label, which is exempt', 'host', ['A 10.0.0.1']],
    ['an exempt domain', 'a.ok.example', ['A 10.0.0.1']],
    ['a domain with servers of its own', 'A.stub.test', ['A 10.0.0.1']],
    ['a domain with the default servers', 'a.back.stub.test', []],
    ['any other name', 'a.example', []],
  ])('with a private address: %s', (_what, name, texts) => {
    const reply = encodeReply(encodeQuery({ name }), { answers: addressRecords(30, '10.0.0.1') });
    expect(decodeMessage(everyRule().take(reply, true)!).texts).toEqual(texts);
  });

  it.each([
    ['198.18.2.1', 'NXDOMAIN', []],
    ['192.0.2.130', 'NOERROR', ['A 198.18.3.1']],
  ])('has its addresses replaced before they are checked: %s', (address, rcode, texts) => {
    const reply = encodeReply(encodeQuery({ name: 'a.example' }), {
      answers: addressRecords(9, address),
    });
    expect(decodeMessage(everyRule().take(reply, true)!)).toMatchObject({ rcode, texts });
  });

  it('is the same object where nothing is to be changed', () => {
    const reply = encodeReply(encodeQuery({ name: 'a.example' }), {
      answers: addressRecords(9, '192.0.2.1'),
    });
    expect(withoutTexts().take(reply, true)).toBe(reply);
  });

  it.each([
    [
      'an owner that is none',
      (reply: Buffer) => reply.fill(0xff, reply.length - 28, reply.length - 26),
    ],
    ['data that is none', (reply: Buffer) => reply.writeUInt16BE(3, reply.length - 18)],
  ])('is SERVFAIL when a record is removed and another has %s', (_what, damage) => {
    const reply = encodeReply(encodeQuery({ name: 'a.example' }), WITH_HIDDEN_TEXT);
    damage(reply);
    const taken = withoutTexts().take(reply, true)!;
    expect(decodeMessage(taken)).toMatchObject({ rcode: 'SERVFAIL', answers: [], additionals: [] });
  });

  it('is SERVFAIL when a record is removed and the uncompressed others are too large', () => {
    const name = `${'x'.repeat(60)}.`.repeat(3);
    const hidden = { ...WITH_HIDDEN_TEXT, additionals: [] };
    const plain = encodeReply(encodeQuery({ name: `${name}example` }), hidden);
    // NS records whose owner name and data are the name of the question, compressed.
    const authority = Buffer.from('c00c00020001000000090002c00c', 'hex');
    const reply = Buffer.concat([plain, ...Array.from({ length: 500 }, () => authority)]);
    reply.writeUInt16BE(500, 8);
    expect(reply.length).toBeLessThan(16_000);
    const taken = withoutTexts().take(reply, true)!;
    expect(decodeMessage(taken)).toMatchObject({ rcode: 'SERVFAIL', answers: [], authorities: [] });
  });

  it('has private addresses only where it has addresses', () => {
    const reply = encodeReply(encodeQuery({ name: 'a.example' }), {
      answers: addressRecords(9, '10.0.0.1'),
    });
    reply[reply.length - 13] = TYPE.NSEC; // in place of A
    expect(everyRule().take(reply, false)).toBe(reply);
  });

  it('has its OPT and options when it is emptied', () => {
    const query = readQuery(encodeQuery({ name: 'a.example', ednsBytes: 1232 }));
    const reply = encodeReply(query, { answers: addressRecords(30, '192.0.2.200') });
    const { rcode, additionals } = decodeMessage(everyRule().take(reply, true)!);
    expect(rcode).toBe('NXDOMAIN');
    expect(additionals).toMatchObject([{ options: [{ code: 15, data: Buffer.from([0, 15]) }] }]);
  });

  it('has its first OPT and no second one when it is emptied', () => {
    const query = readQuery(encodeQuery({ name: 'a.example', ednsBytes: 1232 }));
    const reply = encodeReply(query, { answers: addressRecords(30, '192.0.2.200') });
    const second = Buffer.from('00002904d000000000000006000f00020006', 'hex');
    reply.writeUInt16BE(2, 10);
    const both = Buffer.concat([reply, second]);
    const { additionals } = decodeMessage(everyRule().take(both, true)!);
    expect(additionals).toMatchObject([{ options: [{ code: 15, data: Buffer.from([0, 15]) }] }]);
  });

  it.each([RCODE.SERVFAIL, RCODE.REFUSED, RCODE.NOTIMP])('is left alone with rcode %d', (rcode) => {
    const reply = encodeReply(encodeQuery({ name: 'a' }), {
      rcode,
      answers: addressRecords(30, '10.0.0.1'),
    });
    const before = Buffer.from(reply);
    expect(everyRule().take(reply, true)).toEqual(before);
  });

  it('can be anything: nothing is thrown, and the cache has only what can be read', () => {
    const edit = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
    const mutated = fc.array(edit, { minLength: 1, maxLength: 10 }).map((edits) => {
      const message = Buffer.from(whole);
      for (const [at, byte] of edits) message[at] = byte;
      return message;
    });
    const cut = fc
      .integer({ min: 12, max: whole.length })
      .map((end) => Buffer.from(whole.subarray(0, end)));
    const random = fc
      .uint8Array({ minLength: 12, maxLength: 300 })
      .map((bytes) => Buffer.from(bytes));
    const cache = new AnswerCache({ maxRecords: 50 });
    const replies = everyRule(cache);
    fc.assert(
      fc.property(fc.oneof(mutated, cut, random), (message) => {
        const taken = replies.take(message, true);
        expect(taken === null || taken.length >= 12).toBe(true);
      }),
      { numRuns: 5_000 },
    );
    expect(cache.recordCount).toBeLessThanOrEqual(50);
    for (const { message } of cache.answers()) expect(() => decodeMessage(message)).not.toThrow();
  });
});
