import {
  AnswerFacts,
  JsonLines,
  LineWriter,
  MAX_LINE_BYTES,
  ObservedAnswer,
  putTextLine,
} from '@kube-dns/telemetry/internal';
import { HEADER_BYTES, SAFE_UDP_BYTES } from '@kube-dns/wire';
import { queriesFor } from '../dns-seeds.js';
import type { FuzzTarget } from '../fuzz-target.js';
import { MESSAGE_MUTATIONS } from '../message-mutations.js';

const PRINTABLE = /^[\x20-\x7e]+\n$/;
/** Both lines as text, and what JSON makes of one. */
const ALLOWANCE = 64 * 1024;

/** The lines of the query log for any query; its answer has the same bytes, so that it is any message, too. */
export function createQueryLogLines(): FuzzTarget {
  const answer = new ObservedAnswer();
  const facts = new AnswerFacts();
  const line = new LineWriter();
  const json = new JsonLines();
  const bytes = new Uint8Array(MAX_LINE_BYTES);
  const lineOf = (put: () => void): string => {
    line.start(bytes, 0);
    put();
    const text = Buffer.from(bytes.subarray(0, line.at)).toString('latin1');
    if (line.at > bytes.length || !PRINTABLE.test(text)) throw new Error(`not a line: ${text}`);
    return text;
  };
  return {
    seeds: [
      ...queriesFor('a.example.com', 'A'),
      ...queriesFor('a\\"\\\\\\000\\255.example.com', 'TXT'),
      ...queriesFor('version.bind', 'TXT', 'CH'),
    ],
    tokens: [Buffer.from([0, 15, 0, 2, 0, 22]), Buffer.from('"\\\n'), Buffer.from([0, 0, 41])],
    mutations: MESSAGE_MUTATIONS,
    maxBytes: 2_048,
    allowance: () => ALLOWANCE,
    run: (input) => {
      const isAnswered = answer.query.read(input, input.length, false, SAFE_UDP_BYTES) === 'answer';
      answer.addressBytes = 16;
      answer.message = input;
      answer.length = input.length;
      if (!isAnswered || input.length < HEADER_BYTES) return false;
      facts.read(input, input.length);
      lineOf(() => putTextLine(line, answer, facts));
      const { qname } = JSON.parse(lineOf(() => json.put(line, answer, facts, 0))) as {
        qname: unknown;
      };
      if (typeof qname !== 'string') throw new Error('a line has no name');
      return true;
    },
  };
}
