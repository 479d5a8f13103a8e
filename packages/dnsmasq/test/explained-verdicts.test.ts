import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { verdictDifference } from '@kube-dns/telemetry';
import { ExplainedServer, type Explained } from './explained-server.js';
import {
  GENERATED_OPTIONS,
  generatedQuestion,
  generatedReply,
  type GeneratedQuestion,
} from './explained-names.js';
import { FakeUpstream } from './fake-upstream.js';

const COUNT = 600;
/** The page explains eight at a time. */
const AT_A_TIME = 8;

/** Resolves when both the explanation and the client have asked: they get the same reply. */
let haveAsked: Promise<unknown>;
let upstream: FakeUpstream;
let server: ExplainedServer;

beforeAll(async () => {
  upstream = await FakeUpstream.start(async (_query, { name }) => {
    await haveAsked;
    return generatedReply(name);
  });
  const servers = [`--server=${upstream.text}`, `--server=/corp.x/${upstream.text}`];
  server = await ExplainedServer.start('--no-hosts', ...GENERATED_OPTIONS, ...servers);
});

afterAll(async () => {
  await server.close();
  await upstream.close();
});

type Kinds = Map<string, number>;

function count(kinds: Kinds, kind: string): void {
  kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
}

/** Compares what is explained with what a client gets who asks at the same time. */
async function compare(
  questions: readonly GeneratedQuestion[],
  note: (explained: Explained) => void,
): Promise<void> {
  for (let at = 0; at < questions.length; at += AT_A_TIME) {
    const some = questions.slice(at, at + AT_A_TIME);
    const answers = some.map(({ name, type }) => server.ask(name, type));
    // The client's last question is read when the others were.
    haveAsked = server.ask('h.x', 'A');
    const explanations = some.map(({ name, type }) => server.explain(name, type));
    for (const [i, { name, type }] of some.entries()) {
      const [explained, answer] = [await explanations[i]!, await answers[i]!];
      note(explained);
      // A second may end between the two: what is cached counts down.
      const hasTtls = explained.verdict.source === 'local';
      const difference = verdictDifference(explained.verdict, answer, { hasTtls });
      expect({ name, type, difference }).toEqual({ name, type, difference: '' });
    }
  }
}

it('is the verdict that a client gets: for names of every kind, and again for those that are cached', async () => {
  const questions = Array.from({ length: COUNT }, (_, i) => generatedQuestion(i));
  const sources: Kinds = new Map();
  const steps: Kinds = new Map();
  const note = ({ verdict, steps: all }: Explained) => {
    count(sources, verdict.source);
    for (const { step } of all) count(steps, step);
    const kinds = all.map(({ step }) => step);
    const first = kinds[0] === 'local' && kinds.length === 2;
    expect(verdict.source === 'local').toBe(first || kinds.includes('rule'));
  };
  await compare(questions, note);
  expect(sources.get('upstream')).toBeGreaterThan(0.7 * COUNT);
  expect(sources.get('local')).toBeGreaterThan(0.1 * COUNT);
  for (const step of ['local', 'cache', 'rule', 'route', 'server', 'filter', 'outcome']) {
    expect([step, steps.get(step)]).toEqual([step, expect.any(Number)]);
  }
  sources.clear();
  // What failed is asked again, or not, by the clock.
  const isFailure = ({ name }: GeneratedQuestion) => /^(servfail|lame)/i.test(name);
  await compare(
    questions.filter((each, i) => i % 2 === 1 && !isFailure(each)),
    note,
  );
  expect(sources.get('cache')).toBeGreaterThan(0.05 * COUNT);
});

it('is the verdict that a client gets whose question has no reply', async () => {
  const silent = await FakeUpstream.start(() => null);
  const started = await ExplainedServer.start('--query-timeout=300', `--server=${silent.text}`);
  try {
    const answered = started.ask('silent.x', 'A');
    const { verdict } = await started.explain('silent.x', 'A');
    expect(verdict.rcode).toBe('SERVFAIL');
    expect(verdictDifference(verdict, await answered, { hasTtls: false })).toBe('');
  } finally {
    await started.close();
    await silent.close();
  }
});
