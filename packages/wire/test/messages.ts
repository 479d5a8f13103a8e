import packet from 'dns-packet';
import type { Answer, Packet } from 'dns-packet';
import { Query } from '../src/query.js';

/** An OPT record as a query or an answer has it. */
export function opt(
  fields: { size?: number; version?: number; isDnssecOk?: boolean } = {},
): Answer {
  return {
    type: 'OPT',
    name: '.',
    udpPayloadSize: fields.size ?? 1232,
    extendedRcode: 0,
    ednsVersion: fields.version ?? 0,
    flags: fields.isDnssecOk === true ? packet.DNSSEC_OK : 0,
    flag_do: fields.isDnssecOk === true,
    options: [],
  };
}

/** A query of one question, by dns-packet. */
export function queryBytes(name: string, fields: Packet = {}): Buffer {
  return packet.encode({
    type: 'query',
    id: 0x1234,
    flags: packet.RECURSION_DESIRED,
    questions: [{ name, type: 'A', class: 'IN' }],
    ...fields,
  });
}

/** A query that a listener has read; fails when it would not be answered. */
export function readQuery(name: string, fields: Packet = {}, isOverTcp = false): Query {
  const bytes = queryBytes(name, fields);
  const query = new Query();
  const verdict = query.read(bytes, bytes.length, isOverTcp, 4096);
  if (verdict !== 'answer') throw new Error(`the query is ${verdict}`);
  return query;
}

/** A response of one question, by dns-packet: no name in it is compressed. */
export function responseBytes(name: string, fields: Packet = {}): Buffer {
  return packet.encode({
    type: 'response',
    id: 0x1234,
    flags: packet.RECURSION_DESIRED | packet.RECURSION_AVAILABLE,
    questions: [{ name, type: 'A', class: 'IN' }],
    ...fields,
  });
}

/** `count` address records of one owner, 10.0.0.0 and on. */
export function addressRecords(name: string, count: number, ttl = 30): Answer[] {
  return Array.from({ length: count }, (_, i) => ({
    type: 'A',
    name,
    ttl,
    class: 'IN',
    data: `10.0.${i >> 8}.${i & 0xff}`,
  }));
}

/** Bytes as one writes them down: numbers, and text for its ASCII. */
export function bytesOf(...parts: readonly (number | string)[]): Uint8Array {
  return new Uint8Array(
    Buffer.concat(
      parts.map((part) => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part))),
    ),
  );
}
