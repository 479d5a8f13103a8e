import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import { monotonicMs, until } from '@kube-dns/testkit';
import { type AnswerFigures, AnswerLog, CheckingClient, Judge } from './checking-client.js';
import { Schedule, serviceState } from './cluster-state.js';
import { askAddress, askStub } from './questions.js';

it('each count is returned once, with the wrong answers first', () => {
  const log = new AnswerLog();
  for (let ms = 1; ms <= 100; ms++) {
    log.asked();
    log.answered(ms, false);
  }
  log.answered(5_000, true);
  log.firstTryLost();
  log.lost('a.example');
  log.wrong('NXDOMAIN', 'b.example');
  expect(log.take()).toMatchObject({
    asked: 100,
    right: 101,
    wrong: 1,
    firstTryLost: 1,
    lost: 1,
    p50Ms: 50,
    p99Ms: 99,
    maxMs: 100,
    examples: ['b.example', 'no answer: a.example'],
  });
  expect(log.take()).toMatchObject({ asked: 0, right: 0, wrong: 0, lost: 0, p99Ms: Number.NaN });
});

/** One service, changed each 10 s. */
const PLAN = { startMs: 10_000, changesPerSecond: 0.1, churned: 1, settled: 1, configMs: 10_000 };
const judge = new Judge(new Schedule(PLAN), { settleMs: 1_000, cacheMs: 4_000 });
const question = askAddress(0);

function at(ms: number, isCached = false): readonly string[] {
  return judge.rightAnswers(question, isCached, ms, ms);
}

describe('the right answers', () => {
  it('are the one of the version that has settled', () => {
    expect(at(5_000)).toEqual([question.expected(0)]);
    expect(at(45_500)).toEqual([question.expected(4)]);
    expect(question.expected(3)).toBe('NXDOMAIN');
  });

  it('are the old and the new one while a change settles, and longer where a cache may have it', () => {
    expect(at(40_500)).toEqual([question.expected(4), question.expected(3)]);
    expect(at(41_500)).toEqual([question.expected(4)]);
    expect(at(44_500, true)).toEqual([question.expected(4), question.expected(3)]);
    expect(at(45_500, true)).toEqual([question.expected(4)]);
  });

  it('include that of a change while the query was in flight', () => {
    expect(judge.rightAnswers(question, false, 38_000, 40_001)).toEqual([
      question.expected(4),
      question.expected(3),
    ]);
  });

  it('come from no cache after the configuration names another server', () => {
    const stub = askStub('a', 'corp.test');
    expect(judge.rightAnswers(stub, true, 21_500, 21_500)).toEqual([stub.expected(1)]);
    expect(stub.expected(1)).not.toBe(stub.expected(0));
  });

  it('never change for a settled service', () => {
    const settled = askAddress(1);
    expect(judge.rightAnswers(settled, true, 99_000, 99_000)).toEqual([settled.expected(0)]);
    expect(settled.expected(0)).toContain(serviceState(1, 0).ready[0]!.address);
  });
});

const NXDOMAIN = 0x8183;
const open: { close(): unknown }[] = [];

afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

/** A server that ignores the first try of a query and answers the second with NXDOMAIN. */
async function forgetful(): Promise<number> {
  const socket = createSocket('udp4');
  open.push(socket);
  const seen = new Set<string>();
  socket.on('message', (query, { port, address }) => {
    const question = query.toString('latin1', 12);
    if (!seen.has(question)) {
      seen.add(question);
      return;
    }
    query.writeUInt16BE(NXDOMAIN, 2);
    query.writeUInt16BE(0, 10);
    socket.send(query, port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return socket.address().port;
}

async function ask(retries: number): Promise<AnswerFigures> {
  const port = await forgetful();
  const asker = new CheckingClient();
  const plan = { startMs: 0, changesPerSecond: 0, churned: 0, settled: 10, configMs: 0 };
  await asker.start({
    plan: { ...plan, startMs: monotonicMs() },
    window: { settleMs: 0, cacheMs: 0 },
    queriesPerSecond: 100,
    ports: { dnsmasq: port, kubedns: port },
    timeoutMs: 100,
    retries,
    sockets: 2,
  });
  const counts = { asked: 0, wrong: 0 };
  const all: AnswerFigures[] = [];
  // Until both kinds were drawn from the mix.
  await until('questions of both kinds', () => {
    const figures = asker.take();
    all.push(figures);
    counts.asked += figures.asked;
    counts.wrong += figures.wrong;
    return counts.asked >= 30 && (retries === 0 || counts.wrong > 0);
  });
  all.push(await asker.finish());
  const sum = (key: 'asked' | 'right' | 'wrong' | 'firstTryLost' | 'lost') =>
    all.reduce((total, figures) => total + figures[key], 0);
  return {
    ...all[0]!,
    asked: sum('asked'),
    right: sum('right'),
    wrong: sum('wrong'),
    firstTryLost: sum('firstTryLost'),
    lost: sum('lost'),
    examples: all.flatMap(({ examples }) => examples),
  };
}

describe('a client that checks its answers', () => {
  it('counts a lost query, and asks once more where one retry is set', async () => {
    const { asked, right, wrong, firstTryLost, lost } = await ask(1);
    expect(firstTryLost).toBeGreaterThan(0);
    expect(right + wrong + lost).toBe(asked);
    // No server listens for TCP: only those are lost twice.
    expect(lost).toBeLessThan(firstTryLost);
  });

  it('distinguishes wrong answers from right ones', async () => {
    const { wrong, examples } = await ask(1);
    expect(wrong).toBeGreaterThan(0);
    const [example = ''] = examples.filter((text) => !text.startsWith('no answer'));
    expect(example).toMatch(/: nxdomain; right is noerror/i);
  });

  it('counts the first loss as final where no retry is set', async () => {
    const { firstTryLost, lost } = await ask(0);
    expect(lost).toBe(firstTryLost);
    expect(lost).toBeGreaterThan(0);
  });
});
