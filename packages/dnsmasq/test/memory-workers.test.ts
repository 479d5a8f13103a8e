import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chooseUdpEngine, type UdpEngine } from '@kube-dns/transport';
import { AnswerCache } from '../src/cache/answer-cache.js';
import { cacheOptions } from '../src/cache/answer-cache-options.js';
import { openListeners, type ServedPort } from '../src/listeners.js';
import { parseOptions } from '../src/options/parse-options.js';
import { MemoryWorkers, type MemoryWorkersOptions } from '../src/workers/memory-workers.js';
import { storeReply } from './cached-answers.js';
import { ask } from './client.js';
import { addressRecords, responseTo } from './messages.js';
import { PROGRAM } from './processes.js';
import { type RecordedLog, recordedLog } from './recorded-log.js';
import { until } from './until.js';

/** What the leader answers; a client of whatever thread may hear it. */
const LEADER = 'A 10.9.9.9';
const COPY = 'A 10.0.0.1';

let log: RecordedLog;
let engine: UdpEngine;
let cache: AnswerCache;
let served: ServedPort | undefined;
let workers: MemoryWorkers;
beforeEach(async () => {
  log = recordedLog();
  ({ engine } = await chooseUdpEngine('auto'));
  served = undefined;
});
afterEach(async () => {
  await workers.close();
  await served?.close();
  cache.close();
});

/** A leader that knows nothing but one answer, and workers beside it. */
async function start(others: Partial<MemoryWorkersOptions> = {}): Promise<void> {
  const options = parseOptions(['--no-hosts', '--workers=3', '--cache-size=1000']);
  cache = new AnswerCache(cacheOptions(options));
  const answerer: MemoryWorkersOptions['answerer'] = {
    answer(query, out) {
      const message = responseTo(query, { answers: addressRecords(30, '10.9.9.9') });
      out.set(message);
      return message.length;
    },
  };
  workers = new MemoryWorkers({
    options,
    cache,
    answerer,
    interfaces: {},
    engine,
    served: () => served,
    log,
    pauseMs: 10,
    ...others,
  });
  served = await openListeners({
    answerer,
    addresses: ['127.0.0.1'],
    port: 0,
    engine,
    sharesPort: true,
    onFailure: (error) => log.error(String(error)),
  });
  await workers.start(PROGRAM);
}

/** How often many clients heard each answer. */
async function askAll(name: string): Promise<Map<string, number>> {
  const heard = new Map<string, number>();
  for (let i = 0; i < 90; i++) {
    const text = (await ask(served!.port, name)).texts.join();
    heard.set(text, (heard.get(text) ?? 0) + 1);
  }
  return heard;
}

const counted = () =>
  workers.figures.map((figures) => figures?.listener.udpQueries ?? 0).reduce((a, b) => a + b);
const isServing = () => workers.threads.every((thread) => thread.isServing);
const store = (name: string) =>
  storeReply(cache, { name }, { answers: addressRecords(30, '10.0.0.1') });

describe('the workers of a leader', () => {
  it('answer what it has stored, and leave it the rest', async () => {
    await start();
    store('a.example');
    await until(async () => (await askAll('a.example')).get(COPY)! > 30);
    expect([...(await askAll('b.example')).keys()]).toEqual([LEADER]);
    expect(workers.handed).toBeGreaterThan(0);
  });

  it('are told what was stored before they came', async () => {
    await start();
    for (let i = 0; i < 600; i++) store(`n${i}.example`);
    const [first] = workers.threads;
    await Promise.all(workers.threads.map((thread) => thread.kill()));
    await until(() => isServing() && workers.threads[0] !== first);
    const { handed } = workers;
    const heard = await askAll('n599.example');
    // The leader of this test answers clients of its own socket otherwise, and nobody else.
    expect(heard.get(COPY)).toBeGreaterThan(30);
    expect(workers.handed).toBe(handed);
  });

  it('get no queries any more when they have ended, are replaced, and their counts stay', async () => {
    await start();
    store('a.example');
    await askAll('a.example');
    await until(() => counted() > 30);
    const [killed] = workers.threads;
    await killed!.kill();
    const before = counted();
    expect([...(await askAll('a.example')).keys()].sort()).toEqual([COPY, LEADER]);
    await until(() => isServing() && workers.threads[0] !== killed);
    await askAll('a.example');
    await until(() => counted() > before + 30);
    expect(workers.restarts).toBe(1);
    expect(log.messages).toEqual([
      '3 threads serve the UDP port',
      'worker 1 has ended: killed; another one in 10 ms',
      'worker 1: serving again',
    ]);
  });

  it('know nothing that the leader has forgotten, from that moment on', async () => {
    await start();
    for (let round = 0; round < 20; round++) {
      store('a.example');
      await ask(served!.port, 'a.example');
      cache.clear();
      for (let i = 0; i < 5; i++) {
        expect((await ask(served!.port, 'a.example')).texts).toEqual([LEADER]);
      }
    }
  });

  it('end the start with a reason when one cannot serve', async () => {
    const elsewhere: ServedPort = {
      port: 53_535,
      addresses: ['192.0.2.1'],
      listeners: [],
      close: () => Promise.resolve(),
    };
    await expect(start({ served: () => elsewhere })).rejects.toMatchObject({
      message: expect.stringMatching(/^worker \d: cannot listen on 192\.0\.2\.1:53535 over UDP/),
      exitCode: 2,
    });
    const script = fileURLToPath(new URL('no-such-script.cjs', import.meta.url));
    await expect(workers.start(script)).rejects.toThrow(/worker \d: .*Cannot find module/);
  });

  it('leave nothing open after close, which may come twice', async () => {
    await start();
    await workers.close();
    await workers.close();
    expect(workers.threads.some((thread) => thread.isServing)).toBe(false);
    expect([...(await askAll('a.example')).keys()]).toEqual([LEADER]);
  });
});
