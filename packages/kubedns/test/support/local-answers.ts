import { AnswerWriter, MAX_MESSAGE_BYTES } from '@kube-dns/wire';
import type { LocalNames } from '../../src/answer/local-names.js';
import { type Answer, readAnswer, readQuery } from './messages.js';

/** The answer of names beside the zone to one question; undefined where the name is not one of them. */
export function askLocal(names: LocalNames, name: string, type: string): Answer | undefined {
  const query = readQuery(name, type, { isOverTcp: true });
  if (!names.find(query.name, query.nameLength)) return undefined;
  const out = new Uint8Array(MAX_MESSAGE_BYTES);
  const writer = new AnswerWriter();
  writer.begin(query, out);
  names.answer(query.type, writer);
  return readAnswer(out.slice(0, writer.finish()));
}
