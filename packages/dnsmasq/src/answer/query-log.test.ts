import { beforeEach, describe, expect, it } from '@jest/globals';
import { encodeQuery, encodeReply, type Response } from '@kube-dns/testkit';
import { buildQuery, encodeName, RCODE, readQuery, TYPE, writeUint16 } from '@kube-dns/wire';
import fc from 'fast-check';
import { type RecordedLog, recordedLog } from '../../test/recorded-log.js';
import { QueryLog } from './query-log.js';

let log: RecordedLog;
let queryLog: QueryLog;

beforeEach(() => {
  log = recordedLog();
  queryLog = new QueryLog(log, false);
});

const FROM = { address: '10.1.2.3', port: 4321 };
const CLIENT = {
  ...FROM,
  answersFrom: () => undefined,
  defer: () => ({ ...FROM, send: () => undefined, abandon: () => undefined }),
};
const cname = { type: 'CNAME', ttl: 30, data: 'b.example' } as const;

function linesOf(response: Response, type = 'A', name = 'a.example'): readonly string[] {
  queryLog.reply(encodeReply(encodeQuery({ name, type }), response), undefined);
  return log.messages;
}

describe('the log of queries', () => {
  it('has a line for a query and one for the server that is asked', () => {
    const query = readQuery(encodeQuery({ name: 'A.example', type: 'SRV' }));
    queryLog.query(query, CLIENT);
    queryLog.forwarded(query, { address: '10.0.0.1', port: 53 });
    queryLog.forwarded(query, { address: '10.0.0.1', port: 5353 });
    expect(log.messages).toEqual([
      'query[SRV] A.example from 10.1.2.3',
      'forwarded A.example to 10.0.0.1',
      'forwarded A.example to 10.0.0.1#5353',
    ]);
  });

  it.each([
    ['servfail', 'SERVFAIL'],
    ['refusal', 'REFUSED'],
    ['timeout', 'time-out'],
    ['unreachable', 'unreachable'],
  ] as const)('has a line for a server that had no answer: %s', (reason, text) => {
    const { bytes } = readQuery(encodeQuery({ name: 'a.example' }));
    queryLog.failed({ address: '10.0.0.1', port: 53 }, bytes, reason);
    expect(log.messages).toEqual([`reply error is ${text} (a.example from 10.0.0.1#53)`]);
  });

  it('numbers queries and names clients where that is asked for', () => {
    queryLog = new QueryLog(log, true);
    queryLog.query(readQuery(encodeQuery({ name: 'a' })), CLIENT);
    const { tag } = queryLog;
    queryLog.query(readQuery(encodeQuery({ name: 'b' })), CLIENT);
    queryLog.reply(encodeReply(encodeQuery({ name: 'a' }), {}), tag);
    expect(log.messages).toEqual([
      '1 10.1.2.3/4321 query[A] a from 10.1.2.3',
      '2 10.1.2.3/4321 query[A] b from 10.1.2.3',
      '1 10.1.2.3/4321 reply a is NODATA-IPv4',
    ]);
  });

  it('says where lines are numbered that a query joined another', () => {
    queryLog.duplicate();
    expect(log.messages).toEqual([]);
    queryLog = new QueryLog(log, true);
    queryLog.query(readQuery(encodeQuery({ name: 'a' })), CLIENT);
    queryLog.duplicate();
    expect(log.messages.at(-1)).toBe('1 10.1.2.3/4321 reply query is duplicate');
  });

  it('shows of a reply what leads from the question to its end, and of other types the type', () => {
    const answers = [
      { name: 'other.example', type: 'A', ttl: 1, data: '10.0.0.1' },
      { type: 'TXT', ttl: 1, data: 'hello' },
    ] as const;
    expect(linesOf({ answers })).toEqual([
      'reply a.example is <TXT>',
      'reply a.example is NODATA-IPv4',
    ]);
  });

  it.each<[string, Response, string[], string?, string?]>([
    [
      'an address behind a CNAME',
      { answers: [cname, { name: 'b.example', type: 'A', ttl: 1, data: '10.0.0.1' }] },
      ['reply a.example is <CNAME>', 'reply b.example is 10.0.0.1'],
    ],
    [
      'an IPv6 address',
      { answers: [{ type: 'AAAA', ttl: 1, data: 'fd00::1' }] },
      ['reply a.example is fd00::1'],
      'AAAA',
    ],
    [
      'a reverse name as its address',
      { answers: [{ type: 'PTR', ttl: 1, data: 'a.example' }] },
      ['reply 10.0.0.1 is a.example'],
      'PTR',
      '1.0.0.10.in-addr.arpa',
    ],
    [
      'a text',
      { answers: [{ type: 'TXT', ttl: 1, data: 'hello' }] },
      ['reply a.example is hello'],
      'TXT',
    ],
    ['no such name', { rcode: RCODE.NXDOMAIN }, ['reply a.example is NXDOMAIN']],
    [
      'no such name behind a CNAME',
      { rcode: RCODE.NXDOMAIN, answers: [cname] },
      ['reply a.example is <CNAME>', 'reply b.example is NXDOMAIN'],
    ],
    ['no IPv6 address', {}, ['reply a.example is NODATA-IPv6'], 'AAAA'],
    ['no other data', {}, ['reply a.example is NODATA'], 'MX'],
    ['SERVFAIL', { rcode: RCODE.SERVFAIL }, ['reply error is SERVFAIL']],
    ['REFUSED', { rcode: RCODE.REFUSED }, ['reply error is REFUSED']],
    ['NOTIMP', { rcode: RCODE.NOTIMP }, ['reply error is not implemented']],
    ['another error', { rcode: 9 }, ['reply error is 9']],
    ['a cut reply', { isTruncated: true }, ['reply is truncated']],
  ])('says %s', (...[, response, lines, type, name]) => {
    expect(linesOf(response, type, name)).toEqual(lines);
  });

  it('does not show names that could break a line', () => {
    const query = readQuery(buildQuery(encodeName('a\\010b.example'), TYPE.A));
    queryLog.query(query, CLIENT);
    expect(log.messages).toEqual(['query[A] <name unprintable> from 10.1.2.3']);
  });

  it('names unknown types by number', () => {
    const query = readQuery(encodeQuery({ name: 'a' }));
    query.type = 65_279;
    queryLog.query(query, CLIENT);
    expect(log.messages).toEqual(['query[type=65279] a from 10.1.2.3']);
  });

  it('shows a hundred records of a message and no more', () => {
    const answers = Array.from(
      { length: 300 },
      () => ({ type: 'A', ttl: 1, data: '10.0.0.1' }) as const,
    );
    expect(linesOf({ answers })).toHaveLength(100);
  });

  it('takes any message', () => {
    const whole = encodeReply(encodeQuery({ name: 'a.example' }), { answers: [cname] });
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 100 }),
      fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 8 }).map((edits) => {
        const message = Buffer.from(whole);
        for (const [at, byte] of edits) message[at] = byte;
        return message;
      }),
    );
    fc.assert(
      fc.property(bytes, (message) => queryLog.reply(message, undefined)),
      { numRuns: 500 },
    );
    const cut = Buffer.from(whole);
    writeUint16(cut, 6, 99);
    queryLog.reply(cut, undefined);
    expect(log.messages.every((line) => !/[\n\r]/.test(line))).toBe(true);
  });
});
