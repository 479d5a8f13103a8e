import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import { monotonicMs, until } from '@kube-dns/testkit';
import type { AnswerFigures } from './answer-log.js';
import { CheckingClient } from './checking-client.js';

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
