import { expect } from '@jest/globals';
import packet from 'dns-packet';
import type { Answer, DecodedPacket } from 'dns-packet';
import { AnswerWriter } from '../src/answer-writer.js';
import { encodeName } from '../src/name.js';
import { encodeRdata } from '../src/packet.js';
import { TYPE } from '../src/protocol.js';
import type { Query } from '../src/query.js';
import { SECTION, type Section } from '../src/record-cursor.js';

export interface Written {
  readonly bytes: Buffer;
  readonly decoded: DecodedPacket;
}

/** Writes one answer into `size` bytes and takes it apart with dns-packet. */
export function write(query: Query, fill: (writer: AnswerWriter) => void, size = 65_535): Written {
  const out = new Uint8Array(size).fill(0xee);
  const writer = new AnswerWriter();
  writer.begin(query, out);
  fill(writer);
  const length = writer.finish();
  expect(length).toBeLessThanOrEqual(size);
  const bytes = Buffer.from(out.subarray(0, length));
  return { bytes, decoded: packet.decode(bytes) };
}

/** Adds a record as dns-packet has it. */
export function add(
  writer: AnswerWriter,
  record: Answer,
  section: Section = SECTION.ANSWER,
): boolean {
  const type = TYPE[record.type as keyof typeof TYPE];
  const ttl = (record as { ttl?: number }).ttl ?? 30;
  return writer.add(section, encodeName(record.name), type, ttl, encodeRdata(record));
}

export const address = (name: string, data: string): Answer => ({ type: 'A', name, data, ttl: 30 });
export const srv = (name: string, target: string): Answer => ({
  type: 'SRV',
  name,
  ttl: 30,
  data: { priority: 10, weight: 50, port: 80, target },
});
