import { describe, expect, it } from '@jest/globals';
import { encodeQuery } from '@kube-dns/testkit';
import { decodeMessage, FLAG, readQuery, readUint16 } from '@kube-dns/wire';
import fc from 'fast-check';
import {
  addressOf,
  type AskingClient,
  ForwarderModel,
  type How,
  NAMES,
  type OwnQuestion,
  type Step,
} from '../../test/forwarder-model.js';

const name = fc.nat(NAMES.length - 1);
const ask = fc.record({
  ask: name,
  isMixed: fc.boolean(),
  variant: fc.oneof(fc.constant(0), fc.nat(9)),
  isStale: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
});
const how = fc.constantFrom<How>(
  'good',
  'good',
  'good',
  'servfail',
  'cut',
  'twice',
  'lost',
  'closed',
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: ask },
  { weight: 5, arbitrary: fc.record({ reply: fc.nat(), how }) },
  { weight: 1, arbitrary: fc.record({ back: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ again: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ prefetch: name }) },
  { weight: 1, arbitrary: fc.record({ own: name, then: name }) },
  { weight: 1, arbitrary: fc.record({ wait: fc.constantFrom(50, 600, 2_000, 4_500) }) },
  { weight: 1, arbitrary: fc.record({ forget: fc.constant(true as const) }) },
);

const servers = fc.constantFrom(1, 2);

function checkClient({ asked, got, message }: AskingClient): void {
  expect(got.length).toBeGreaterThan(0);
  // A client that asks again is another one where servers may have changed meanwhile.
  expect(got.length).toBeLessThanOrEqual(asked);
  for (const answer of got) {
    expect(readUint16(answer, 0)).toBe(readUint16(message, 0));
    // In the client's own spelling.
    const end = readQuery(message).questionEnd;
    expect(answer.subarray(12, end)).toEqual(message.subarray(12, end));
    checkRecords(answer, message);
  }
}

function checkOwn({ name: text, replies }: OwnQuestion): void {
  expect(replies).toHaveLength(1);
  if (replies[0] !== null) checkRecords(replies[0]!, encodeQuery({ name: text }));
}

function checkRecords(answer: Buffer, query: Buffer): void {
  const { questions, answers, rcode } = decodeMessage(answer);
  const isCut = (readUint16(answer, 2) & FLAG.TC) !== 0;
  const asked = readQuery(query).name;
  const [question] = decodeMessage(query).questions;
  expect(questions[0]!.name.toLowerCase()).toBe(question!.name.toLowerCase());
  expect(answers).toHaveLength(rcode === 'NOERROR' && !isCut ? 1 : 0);
  for (const record of answers) expect(record).toMatchObject({ type: 'A', data: addressOf(asked) });
}

describe('upstream queries that are used again', () => {
  it('give every client the answer to its own question, once, and no slot is lost, whatever happens to others', async () => {
    await fc.assert(
      fc.asyncProperty(
        servers,
        fc.array(step, { minLength: 20, maxLength: 150 }),
        async (count, steps) => {
          const model = new ForwarderModel(count);
          try {
            for (const each of steps) model.do(each);
            await model.end();
            for (const client of model.clients) checkClient(client);
            for (const own of model.own) checkOwn(own);
            const { forwarder, group } = model;
            expect(forwarder).toMatchObject({ inFlight: 0, remembered: 0 });
            expect(group.load).toMatchObject({ questions: 0, joiners: 0 });
            const { fresh, failed, dropped } = forwarder.prefetches;
            expect(fresh + failed + dropped).toBe(model.prefetches);
          } finally {
            model.close();
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  const PLAIN = { isMixed: false, variant: 0, isStale: false };
  const GOOD = { reply: 0, how: 'good' } as const;

  it('are none that a probe for a loop was for, which may come back later', async () => {
    const model = new ForwarderModel(1);
    for (const each of [{ ask: 0, ...PLAIN }, { ask: 0, ...PLAIN }, { wait: 600 }, GOOD])
      model.do(each);
    expect(model.sent).toHaveLength(1);
    model.do({ ask: 1, ...PLAIN });
    model.do({ back: 0 });
    model.do({ reply: 1, how: 'good' });
    await model.end();
    model.close();
    const rcodes = model.clients.map(({ got }) => decodeMessage(got[0]!).rcode);
    expect(rcodes).toEqual(['NOERROR', 'NOERROR', 'NOERROR', 'SERVFAIL']);
  });
});
