import { createSocket } from 'node:dgram';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  decodeMessage,
  encodeQuery,
  encodeReply,
  endPrograms,
  exchange,
  ScriptedNameServer,
  until,
} from '@kube-dns/testkit';
import { RCODE, readUint16, writeUint16 } from '@kube-dns/wire';
import fc from 'fast-check';
import { serve, type Serving } from './processes.js';

const NOTHING = 'nothing';

let upstream: ScriptedNameServer;
let server: Serving;

beforeAll(async () => {
  upstream = await ScriptedNameServer.start(() => ({
    answers: addressRecords(30, '10.0.0.1'),
  }));
  server = await serve([
    ...['-k', '--no-resolv', '--log-facility=-', '--cache-rr=ANY', '--neg-ttl=9'],
    ...['--stop-dns-rebind', '--rebind-domain-ok=/ok/', '--filter-rr=TXT', '--max-ttl=20'],
    ...['--cname=alias.x,host.x', '--host-record=host.x,10.1.1.1', '--query-timeout=500'],
    `--server=${upstream.text}`,
  ]);
});

afterAll(async () => {
  await endPrograms();
  await upstream.close();
});

const plain = () => encodeQuery({ name: 'a.ok', ednsBytes: 1232 });
const QUESTION_END = encodeQuery({ name: 'a.ok' }).length;

function changed(at: number, value: number): Buffer {
  const message = plain();
  writeUint16(message, at, value);
  return message;
}

/** A query with another name in wire form, and nothing behind the question. */
function named(...name: number[]): Buffer {
  const head = encodeQuery({ name: '.' }).subarray(0, 12);
  return Buffer.concat([head, Buffer.from([...name, 0, 1, 0, 1])]);
}

const OPT = plain().subarray(QUESTION_END);

/** The rcode of the answer; what gets none is followed by a query that gets one, which then comes first. */
async function outcome(message: Buffer, isAnswered: boolean): Promise<string> {
  const probe = encodeQuery({ name: 'host.x', id: 0x7777 });
  const answer = await exchange(server.port, message, isAnswered ? {} : { after: probe });
  if (answer.subarray(0, 2).equals(probe.subarray(0, 2))) return NOTHING;
  expect(readUint16(answer, 0)).toBe(readUint16(message, 0));
  return String(answer[3]! & 0xf);
}

describe('a query that is malformed', () => {
  it.each<[string, () => Buffer, number | typeof NOTHING]>([
    ['no bytes', () => Buffer.alloc(0), NOTHING],
    ['eleven bytes', () => plain().subarray(0, 11), NOTHING],
    ['a response', () => changed(2, 0x8100), NOTHING],
    ['a header alone', () => plain().subarray(0, 12), RCODE.FORMERR],
    ['no question', () => changed(4, 0), RCODE.FORMERR],
    ['two questions', () => changed(4, 2), RCODE.FORMERR],
    ['answers', () => changed(6, 9), RCODE.FORMERR],
    ['authorities', () => changed(8, 9), RCODE.FORMERR],
    ['another opcode', () => changed(2, 0x2100), RCODE.NOTIMP],
    ['a name that is cut', () => plain().subarray(0, QUESTION_END - 6), RCODE.FORMERR],
    ['a type that is cut', () => plain().subarray(0, QUESTION_END - 3), RCODE.FORMERR],
    ['a pointer as its name', () => named(0xc0, 12), RCODE.FORMERR],
    ['a label of unknown kind', () => named(0x41, 97, 0), RCODE.FORMERR],
    ['a label beyond its end', () => named(63, 97), RCODE.FORMERR],
    [
      'a name of 256 bytes',
      () => named(...Array.from({ length: 127 }, () => [1, 97]).flat(), 1, 97, 0),
      RCODE.FORMERR,
    ],
    ['an OPT that is cut', () => plain().subarray(0, -1), RCODE.FORMERR],
    ['two OPTs', () => Buffer.concat([changed(10, 2), OPT]), RCODE.FORMERR],
    ['options beyond the end', () => changed(QUESTION_END + 9, 4), RCODE.FORMERR],
    // BADVERS is 16: its upper bits are in OPT.
    ['another version of EDNS', () => changed(QUESTION_END + 5, 0x0001), RCODE.NOERROR],
    [
      'bytes behind its end, which count for nothing',
      () => Buffer.concat([plain(), Buffer.from([1, 2, 3])]),
      RCODE.NOERROR,
    ],
  ])('with %s', async (_what, message, expected) => {
    expect(await outcome(message(), expected !== NOTHING)).toBe(String(expected));
  });

  it('over TCP gets the same', async () => {
    expect((await exchange(server.port, changed(4, 2), { isOverTcp: true }))[3]! & 0xf).toBe(
      RCODE.FORMERR,
    );
  });

  it('in any other way, thousands of times, does no harm', async () => {
    const socket = createSocket('udp4');
    let answers = 0;
    socket.on('message', () => answers++);
    const edit = fc.tuple(fc.nat(OPT.length + QUESTION_END - 1), fc.nat(255));
    const messages = fc.sample(
      fc.oneof(
        fc.array(edit, { minLength: 1, maxLength: 6 }).map((edits) => {
          const message = plain();
          for (const [at, byte] of edits) message[at] = byte;
          return message;
        }),
        fc.uint8Array({ minLength: 12, maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
      ),
      3_000,
    );
    for (const [i, message] of messages.entries()) {
      socket.send(message, server.port, '127.0.0.1');
      if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => answers > 100);
    expect((await ask(server.port, 'alias.x')).texts).toEqual(['CNAME host.x', 'A 10.1.1.1']);
    socket.close();
    expect(server.process.stderr).not.toContain('answering:');
  });
});

describe('a reply that is malformed', () => {
  it('in any way, hundreds of times, is an answer that can be read as a message, or SERVFAIL', async () => {
    const script = upstream.script;
    const seeds = fc.sample(fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1 }), 300);
    upstream.script = ({ query, name, questionEnd: from }) => {
      const reply = encodeReply(query, {
        answers: [
          { type: 'CNAME', ttl: 30, data: 'b.ok' },
          { name: 'b.ok', type: 'A', ttl: 30, data: '10.0.0.1' },
          { name: 'b.ok', type: 'TXT', ttl: 30, data: 'x' },
        ],
        authorities: [{ name: 'ok', type: 'NS', ttl: 30, data: 'ns.ok' }],
      });
      // Behind ID and question, which identify it as the reply.
      for (const [at, byte] of seeds[Number(name.slice(1, name.indexOf('.')))] ?? []) {
        reply[from + (at % (reply.length - from))] = byte;
        if (byte % 5 === 0) reply[7] = byte;
      }
      return [reply];
    };
    const answers = await Promise.all(
      seeds.map((_seed, i) => exchange(server.port, encodeQuery({ name: `n${i}.ok` }))),
    );
    for (const answer of answers) {
      expect(answer.length).toBeGreaterThanOrEqual(12);
      if (readUint16(answer, 6) === 0) continue;
      expect([RCODE.NOERROR, RCODE.NXDOMAIN]).toContain(answer[3]! & 0xf);
    }
    upstream.script = script;
    expect(decodeMessage(await exchange(server.port, encodeQuery({ name: 'a.ok' }))).texts).toEqual(
      ['A 10.0.0.1'],
    );
    expect(server.process.stderr).not.toContain('answering:');
  });
});
