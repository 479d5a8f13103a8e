import { RCODE_MASK, readUint16 } from '@kube-dns/wire';
import { queriesFor, replySeeds } from '../dns-seeds.js';
import type { FuzzTarget } from '../fuzz-target.js';
import { MESSAGE_MUTATIONS } from '../message-mutations.js';
import { checkAnswer } from './checked-answer.js';
import { startKubedns } from './kubedns-testbed.js';
import { replyWith, strangeReply } from './upstream-reply.js';

/** The questions: a name that is forwarded, and one that is a CNAME of a name outside the cluster. */
const QUERIES = ['n0.ok', 'out.default.svc.cluster.local'].flatMap((name) =>
  ['A', 'SRV', 'MX', 'ANY', 'CNAME', 'TXT'].flatMap((type) => queriesFor(name, type).slice(0, 2)),
);

/** Replies of an upstream server to a whole kubedns, to a forwarded question and to the end of a CNAME chain. */
export async function createKubednsReplies(): Promise<FuzzTarget> {
  const testbed = await startKubedns();
  return {
    seeds: replySeeds('ok'),
    tokens: ['\x02ok\0', '\xc0\x0c', '\xc0\x00'].map((text) => Buffer.from(text, 'latin1')),
    mutations: MESSAGE_MUTATIONS,
    maxBytes: 4_096,
    run: (input) => {
      const query = QUERIES[input.length % QUERIES.length]!;
      testbed.deliver(query);
      const { answers, sent } = testbed.engine;
      // A server that may not know EDNS is asked again without it.
      for (let asked = sent.pop(); asked; asked = sent.pop()) {
        // As it came first, with an ID that no question has; then with what only the server knows.
        asked.owner.onDatagram(strangeReply(asked.query, input), asked.from);
        asked.owner.onDatagram(replyWith(asked.query, input), asked.from);
      }
      if (answers.length !== 1) throw new Error(`${answers.length} answers to one question`);
      for (const answer of answers) checkAnswer(answer, readUint16(query, 0));
      return (answers[0]![3]! & RCODE_MASK) === 0;
    },
    close: () => testbed.close(),
  };
}
