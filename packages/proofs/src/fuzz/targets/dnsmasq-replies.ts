import { CLASS, QUESTION_OFFSET, readUint16, skipName } from '@kube-dns/wire';
import { queriesFor, replySeeds } from '../dns-seeds.js';
import type { FuzzTarget } from '../fuzz-target.js';
import { MESSAGE_MUTATIONS } from '../message-mutations.js';
import { checkAnswer } from './checked-answer.js';
import { startDnsmasq } from './dnsmasq-testbed.js';
import { plainReply, replyWith, strangeReply } from './upstream-reply.js';

const DOMAIN = 'ok';
/** This many names are asked for in turn: a cached reply would answer the same question again. */
const NAMES = 5_000;

/**
 * Replies of an upstream server to a whole dnsmasq: each is what comes to a question of a client, with
 * its ID and question, which only the server that was asked knows.
 */
export async function createDnsmasqReplies(): Promise<FuzzTarget> {
  const testbeds = [await startDnsmasq(false), await startDnsmasq(true)];
  const [plain, withEdns] = queriesFor(`n00000.${DOMAIN}`, 'A');
  let count = 0;
  return {
    seeds: replySeeds(DOMAIN),
    tokens: [`\x02${DOMAIN}\0`, '\xc0\x0c', '\xc0\x00'].map((text) => Buffer.from(text, 'latin1')),
    mutations: MESSAGE_MUTATIONS,
    maxBytes: 4_096,
    run: (input) => {
      const { engine, log } = testbeds[input.length & 1]!;
      const query = (input.length & 2) === 0 ? plain! : withEdns!;
      count = (count + 1) % NAMES;
      query.write(String(count).padStart(5, '0'), QUESTION_OFFSET + 2, 'latin1');
      copyType(input, query);
      engine.deliver(query);
      const answers = [...engine.answers];
      let isAccepted = false;
      for (let sent = engine.sent.pop(); sent; sent = engine.sent.pop()) {
        engine.answers.length = 0;
        // As it came first, with an ID that no question has; then with what only the server knows.
        sent.owner.onDatagram(strangeReply(sent.query, input), sent.from);
        sent.owner.onDatagram(replyWith(sent.query, input), sent.from);
        isAccepted = engine.answers.length > 0;
        if (!isAccepted) sent.owner.onDatagram(plainReply(sent), sent.from);
        answers.push(...engine.answers);
      }
      log.check();
      if (answers.length !== 1) throw new Error(`${answers.length} answers to one question`);
      for (const answer of answers) checkAnswer(answer, readUint16(query, 0));
      return isAccepted;
    },
    close: async () => {
      for (const testbed of testbeds) await testbed.close();
    },
  };
}

/** The question takes its type from the reply, so that the reply's records match it. */
function copyType(reply: Buffer, query: Buffer): void {
  const replyEnd = skipName(reply, QUESTION_OFFSET, reply.length);
  if (replyEnd < 0 || replyEnd + 2 > reply.length) return;
  const queryEnd = skipName(query, QUESTION_OFFSET, query.length);
  reply.copy(query, queryEnd, replyEnd, replyEnd + 2);
  query.writeUInt16BE(CLASS.IN, queryEnd + 2);
}
