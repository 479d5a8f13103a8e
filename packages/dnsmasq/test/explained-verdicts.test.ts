import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { verdictDifference } from '@kube-dns/telemetry';
import { until } from '@kube-dns/testkit';
import { ExplainedServer, type Explained } from './explained-server.js';
import {
  GENERATED_OPTIONS,
  generatedQuestion,
  generatedReply,
  type GeneratedQuestion,
} from './explained-names.js';
import { FakeUpstream } from './fake-upstream.js';

const COUNT = 10_000;
/** A failure is remembered for a second (RFC 9520 section 3.2): what is asked before is not sent again. */
const FORGOTTEN_MS = 1_100;
/** The page explains eight at a time. */
const AT_A_TIME = 8;

let upstream: FakeUpstream;
let server: ExplainedServer;

beforeAll(async () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  // Both the explanation and the client have asked until the reply comes: they get the same one.
  upstream = await FakeUpstream.start(async (_query, { name }) => {
    await turn();
    await turn();
    return generatedReply(name);
  });
  server = await ExplainedServer.start(
    '--no-hosts',
    ...GENERATED_OPTIONS,
    `--server=${upstream.text}`,
    `--server=/corp.x/${upstream.text}`,
  );
});

afterAll(async () => {
  await server.close();
  await upstream.close();
});

/** What is explained, and what a client gets who asks at the same time. */
async function both(name: string, type: string): Promise<[Explained, Buffer]> {
  const answered = server.ask(name, type);
  return [await server.explain(name, type), await answered];
}

function hasTimedOut({ verdict }: Explained): boolean {
  return verdict.rcode === 'SERVFAIL' && JSON.stringify(verdict).includes('timeout');
}

/** No server answers it. */
function isSilent(name: string): boolean {
  return /^silent/i.test(name);
}

/** Both, once a server that answers has done so in time: on a busy machine it may be too late. */
function inTime(name: string, type: string): Promise<[Explained, Buffer]> {
  const find = async () => {
    const [explained, answer] = await both(name, type);
    return (
      (isSilent(name) || !hasTimedOut(explained)) && ([explained, answer] as [Explained, Buffer])
    );
  };
  return until(`a reply for ${name}`, find, { stepMs: FORGOTTEN_MS });
}

async function compare(
  questions: readonly GeneratedQuestion[],
  note: (explained: Explained) => void,
): Promise<void> {
  for (let at = 0; at < questions.length; at += AT_A_TIME) {
    const asked = questions.slice(at, at + AT_A_TIME).map(async ({ name, type }) => {
      const [explained, answer] = await inTime(name, type);
      note(explained);
      // A second may end between the two: what is cached counts down.
      const hasTtls = explained.verdict.source === 'local';
      const difference = verdictDifference(explained.verdict, answer, { hasTtls });
      expect({ name, type, difference }).toEqual({ name, type, difference: '' });
    });
    await Promise.all(asked);
  }
}

it('is the verdict that a client gets: for ten thousand names, and again for those that are cached', async () => {
  const questions = Array.from({ length: COUNT }, (_, i) => generatedQuestion(i));
  // Those that time out do so together.
  questions.sort((one, other) => Number(isSilent(one.name)) - Number(isSilent(other.name)));
  const sources = new Map<string, number>();
  const steps = new Map<string, number>();
  const note = ({ verdict, steps: all }: Explained) => {
    sources.set(verdict.source, (sources.get(verdict.source) ?? 0) + 1);
    for (const { step } of all) steps.set(step, (steps.get(step) ?? 0) + 1);
    const kinds = all.map(({ step }) => step);
    const isLocal = verdict.source === 'local';
    const first = kinds[0] === 'local' && kinds.length === 2;
    expect(isLocal).toBe(first || kinds.includes('rule'));
  };
  await compare(questions, note);
  expect(sources.get('upstream')).toBeGreaterThan(7_000);
  expect(sources.get('local')).toBeGreaterThan(1_000);
  for (const step of ['local', 'cache', 'rule', 'route', 'server', 'filter', 'outcome']) {
    expect([step, steps.get(step)]).toEqual([step, expect.any(Number)]);
  }
  const cached = questions.filter((_, i) => i % 10 === 3);
  sources.clear();
  await compare(cached, note);
  expect(sources.get('cache')).toBeGreaterThan(250);
}, 120_000);
