import { AnswerWriter, MAX_MESSAGE_BYTES } from '@kube-dns/wire';
import { ZoneAnswerer } from '../../src/answer/zone-answerer.js';
import type { ClusterZone } from '../../src/zone/cluster-zone.js';
import { type Answer, readAnswer, readQuery } from './messages.js';

/** Used again for each answer, as a listener does: a new one for each costs most of a test with many. */
const out = new Uint8Array(MAX_MESSAGE_BYTES);

const TYPES = ['A', 'AAAA', 'SRV', 'CNAME', 'TXT'];

/** The answer of a zone to one question over TCP. */
export function answerFrom(zone: ClusterZone, name: string, type: string): Answer {
  const answerer = new ZoneAnswerer({ zone, ttlSeconds: 30, negativeTtlSeconds: 5 });
  const writer = new AnswerWriter();
  const query = readQuery(name, type, { isOverTcp: true });
  answerer.read(query.name, query.nameLength);
  writer.begin(query, out);
  answerer.answer(query, writer);
  return readAnswer(out.slice(0, writer.finish()));
}

/** `TYPE data` of the records that a zone has at a name; undefined when the name does not exist. */
export function textsAt(zone: ClusterZone, name: string): string[] | undefined {
  const texts: string[] = [];
  for (const type of TYPES) {
    const { rcode, answers } = answerFrom(zone, name, type);
    if (rcode === 'NXDOMAIN') return undefined;
    const own = answers.map((text) => text.slice(name.length + 1));
    texts.push(...own.filter((text) => text.startsWith(`${type} `)).sort());
  }
  return texts;
}
