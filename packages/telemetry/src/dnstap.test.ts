import { expect, it } from '@jest/globals';
import protobuf from 'protobufjs';
import { parseDnstapTarget } from './dnstap-target.js';
import { Dnstap } from './dnstap.js';

/** The schema in the words of protobuf, as far as the messages have its fields. */
const { root } = protobuf.parse(`
syntax = "proto2";
message Dnstap {
  enum Type { MESSAGE = 1; }
  optional bytes identity = 1;
  optional bytes version = 2;
  optional Message message = 14;
  required Type type = 15;
}
enum SocketFamily { INET = 1; INET6 = 2; }
enum SocketProtocol { UDP = 1; TCP = 2; DOT = 3; DOH = 4; }
message Message {
  enum Type { AUTH_QUERY = 1; CLIENT_QUERY = 5; FORWARDER_QUERY = 7; FORWARDER_RESPONSE = 8; }
  required Type type = 1;
  optional SocketFamily socket_family = 2;
  optional SocketProtocol socket_protocol = 3;
  optional bytes query_address = 4;
  optional bytes response_address = 5;
  optional uint32 query_port = 6;
  optional uint32 response_port = 7;
  optional uint64 query_time_sec = 8;
  optional fixed32 query_time_nsec = 9;
  optional bytes query_message = 10;
  optional uint64 response_time_sec = 12;
  optional fixed32 response_time_nsec = 13;
  optional bytes response_message = 14;
}
`);
const schema = root.lookupType('Dnstap');
const TLS = { protocol: 'tls', name: 'dns.example', path: '' } as const;
const HTTPS = { protocol: 'https', name: 'dns.example', path: '/dns-query' } as const;

it('a message about a server has its address, the way it is asked, and both times', async () => {
  const target = parseDnstapTarget('file:/dev/null,identity=pod');
  const log = { info: () => undefined, warn: () => undefined };
  const served = { address: '', port: 53 };
  const dnstap = await Dnstap.open(target, { role: 'resolver', program: 'test', served, log });
  const frames: Uint8Array[] = [];
  dnstap.stream.send = (frame) => frames.push(Buffer.from(frame));
  const [query, reply] = [Uint8Array.of(1, 2, 3), new Uint8Array(300).fill(7)];
  const at = { address: '192.0.2.1', port: 853 };
  dnstap.sent({ address: 'fd00::53', port: 53 }, query, false);
  dnstap.sent({ address: '192.0.2.1', port: 53, keepsTcp: true }, query, false);
  dnstap.sent({ ...at, encryption: TLS }, query, false);
  const beforeMs = Date.now();
  dnstap.replied({ ...at, encryption: HTTPS }, query, reply, false, 250);
  await dnstap.close();

  const shown = frames.map((frame) => {
    const { identity, version, type, message } = schema.toObject(schema.decode(frame), {
      enums: String,
      longs: Number,
      bytes: Array,
    }) as Record<string, unknown> & { message: Record<string, unknown>; version: number[] };
    expect([type, identity]).toEqual(['MESSAGE', [...Buffer.from('pod')]]);
    expect(Buffer.from(version).toString()).toMatch(/^test ./);
    return message;
  });
  const ways = shown.map(({ socketFamily, socketProtocol }) => [socketFamily, socketProtocol]);
  expect(ways).toEqual([
    ['INET6', 'UDP'],
    ['INET', 'TCP'],
    ['INET', 'DOT'],
    ['INET', 'DOH'],
  ]);
  expect(shown[0]).toMatchObject({
    type: 'FORWARDER_QUERY',
    responseAddress: [0xfd, ...Array<number>(13).fill(0), 0, 0x53],
    responsePort: 53,
    queryMessage: [...query],
  });
  expect(shown[0]).not.toHaveProperty('queryAddress');
  const last = shown[3]!;
  expect(last).toMatchObject({ type: 'FORWARDER_RESPONSE', responseMessage: [...reply] });
  const msOf = (of: string) =>
    Number(last[`${of}TimeSec`]) * 1_000 + Number(last[`${of}TimeNsec`]) / 1_000_000;
  expect(msOf('response') - msOf('query')).toBeCloseTo(250, 3);
  expect(msOf('response')).toBeGreaterThanOrEqual(beforeMs);
});
