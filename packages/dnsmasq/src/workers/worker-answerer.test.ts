import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ChangeQueue } from '@kube-dns/daemon';
import { encodeKey } from '@kube-dns/wire';
import { storeReply } from '../../test/cached-answers.js';
import { readAnswer } from '../../test/client.js';
import { addressRecords, queryFor, type Question } from '../../test/messages.js';
import { until } from '../../test/until.js';
import { WaitingClient } from '../../test/waiting-client.js';
import { servedNetworks } from '../answer/local-service.js';
import { AnswerCache } from '../cache/answer-cache.js';
import { cacheOptions } from '../cache/answer-cache-options.js';
import type { Interfaces } from '../listen-addresses.js';
import { parseOptions } from '../options/parse-options.js';
import { Epochs } from './epochs.js';
import { MemoryFeed } from './memory-feed.js';
import { MemoryReplica } from './memory-replica.js';
import { clockOffsetMs } from './thread-clock.js';
import { WorkerAnswerer } from './worker-answerer.js';
import type { Change } from './worker-messages.js';

const INTERFACES = {
  eth0: [{ address: '10.1.2.3', family: 'IPv4', cidr: '10.1.2.3/24' }],
} as unknown as Interfaces;
const out = new Uint8Array(65_535);

let folder: string;
let hosts: string;
let changes: Change[];
let cache: AnswerCache;
let feed: MemoryFeed;
let epochs: Epochs;
let replica: MemoryReplica;
let answerer: WorkerAnswerer;
let handed: number;
let addresses: readonly string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worker-'));
  hosts = join(folder, 'hosts');
  await writeFile(hosts, '10.5.0.1 host.test\n');
});
afterEach(async () => {
  replica.close();
  cache.close();
  await rm(folder, { recursive: true });
});

/** A worker that was told everything that there is. */
async function start(...argv: string[]): Promise<void> {
  const options = parseOptions(['--no-hosts', `--addn-hosts=${hosts}`, ...argv]);
  cache = new AnswerCache(cacheOptions(options));
  epochs = new Epochs();
  changes = [];
  handed = 0;
  feed = new MemoryFeed(cache, epochs, () => ['127.0.0.1']);
  feed.follow((change) => changes.push(change));
  const copied = { options: structuredClone(options), clockOffsetMs: clockOffsetMs() };
  replica = new MemoryReplica({ ...copied, epochs: epochs.memory }, (some) => (addresses = some));
  answerer = new WorkerAnswerer({
    replica,
    handOver: { ask: () => handed++ },
    networks: servedNetworks(options, INTERFACES),
    filteredTypes: options.filteredTypes,
    logsQueries: options.logsQueries !== 'no',
  });
  changes.push(...feed.snapshot());
  tell();
  await until(() => replica.isCurrent);
}

/** The worker hears of what has happened. */
function tell(): void {
  replica.take(structuredClone(changes.splice(0)));
}

/** Its answer, or `handed` or `silent`. */
function ask(question: Question | string, address = '10.1.2.9'): string {
  const before = handed;
  const query = queryFor(typeof question === 'string' ? { name: question } : question);
  const length = answerer.answer(query, out, new WaitingClient(4_000, address));
  if (length === 0) return handed > before ? 'handed' : 'silent';
  return readAnswer(Buffer.from(out.subarray(0, length))).texts.join();
}

function store(name: string, address: string, ttl = 30): void {
  storeReply(cache, { name }, { answers: addressRecords(ttl, address) });
}

describe('a worker', () => {
  it('answers from hosts and from the cache, and hands over what it does not know', async () => {
    await start('--host-record=record.test,10.6.0.1');
    store('a.example', '10.0.0.1');
    expect(ask('a.example')).toBe('handed');
    tell();
    expect(ask('a.example')).toBe('A 10.0.0.1');
    expect(ask('HOST.test')).toBe('A 10.5.0.1');
    expect(ask('record.test')).toBe('A 10.6.0.1');
    expect(ask('b.example')).toBe('handed');
    expect(answerer.hits).toBe(3);
    expect(addresses).toEqual(['127.0.0.1']);
  });

  it.each<[string, Question]>([
    ['without RD', { name: 'a.example', isRecursionDesired: false }],
    ['with DO', { name: 'a.example', ednsBytes: 1232, isDnssecOk: true }],
    ['of class CH', { name: 'hits.bind', type: 'TXT', class: 'CH' }],
    ['of a type that nobody asked for', { name: 'a.example', type: 'AAAA' }],
  ])('hands over queries %s', async (_what, question) => {
    await start();
    store('a.example', '10.0.0.1');
    tell();
    expect(ask(question)).toBe('handed');
    expect(ask('a.example')).toBe('A 10.0.0.1');
  });

  it.each(['--log-queries', '--filter-A'])(
    'leaves kept answers to the leader: %s',
    async (flag) => {
      await start(flag);
      store('a.example', '10.0.0.1');
      tell();
      expect(ask('a.example')).toBe('handed');
    },
  );

  it('leaves what is past its time to the leader, who asks again', async () => {
    await start('--use-stale-cache');
    const past = { nowSeconds: () => performance.now() / 1_000 - 60 };
    const old = new AnswerCache({ maxRecords: 10, ...past });
    old.follower = { ...silentFollower, onStored: (packed) => replica.cache.storeCopy(packed) };
    storeReply(old, { name: 'a.example' }, { answers: addressRecords(30, '10.0.0.1') });
    expect(ask('a.example')).toBe('handed');
    expect(replica.cache.recordCount).toBe(1);
  });

  it('ignores clients of other networks, and shows the leader the first', async () => {
    await start('--local-service');
    expect(ask('host.test', '192.0.2.1')).toBe('handed');
    expect(ask('host.test', '192.0.2.2')).toBe('silent');
    expect(ask('host.test', '10.1.2.99')).toBe('A 10.5.0.1');
  });
});

describe('the copy of a worker', () => {
  it.each<[string, () => void]>([
    ['the cache is emptied', () => cache.clear()],
    ['a domain is dropped', () => cache.dropBelow(encodeKey('example'))],
  ])('is not answered from, as soon as %s', async (_what, forget) => {
    await start();
    store('a.example', '10.0.0.1');
    store('a.other', '10.0.0.2');
    tell();
    forget();
    expect([ask('a.example'), ask('a.other'), ask('host.test')]).toEqual(Array(3).fill('handed'));
    tell();
    expect([ask('a.example'), ask('host.test')]).toEqual(['handed', 'A 10.5.0.1']);
  });

  it('is not answered from while other hosts are in force and were not read yet', async () => {
    await start();
    await writeFile(hosts, '10.5.0.2 host.test\n');
    feed.tellHosts();
    expect(ask('host.test')).toBe('handed');
    tell();
    expect(ask('host.test')).toBe('handed');
    await until(() => replica.isCurrent);
    expect(ask('host.test')).toBe('A 10.5.0.2');
  });

  it('shows no TTL that has grown where the leader’s clock is ahead', async () => {
    await start();
    const ahead = { nowSeconds: () => performance.now() / 1_000 + 0.5 };
    const leader = new AnswerCache({ maxRecords: 10, ...ahead });
    leader.follower = { ...silentFollower, onStored: (packed) => replica.cache.storeCopy(packed) };
    storeReply(leader, { name: 'a.example' }, { answers: addressRecords(30, '10.0.0.1') });
    const length = answerer.answer(queryFor({ name: 'a.example' }), out, new WaitingClient());
    expect(readAnswer(Buffer.from(out.subarray(0, length))).ttls).toEqual([30]);
  });

  it('goes by the leader’s clock', async () => {
    await start();
    store('a.example', '10.0.0.1', 1);
    tell();
    expect(ask('a.example')).toBe('A 10.0.0.1');
    await until(() => ask('a.example') === 'handed');
    expect(cache.answer(queryFor({ name: 'a.example' }), out)).toBe(0);
  });

  it('begins again with all that there is when it has fallen far behind', async () => {
    await start('--cache-size=1000000');
    const queue = new ChangeQueue(feed, () => undefined);
    const take = () => {
      while (!queue.isEmpty) replica.take(structuredClone(queue.take()));
    };
    take();
    const many = addressRecords(30, ...Array.from({ length: 70 }, (_, i) => `10.0.0.${i}`));
    for (let i = 0; i < 8_000; i++) storeReply(cache, { name: `n${i}.example` }, { answers: many });
    expect(ask('n0.example')).toBe('handed');
    take();
    expect(replica.cache.entryCount).toBe(8_000);
    await until(() => replica.isCurrent);
    expect(ask('n0.example')).toContain('A 10.0.0.69');
    queue.close();
  });
});

const silentFollower = {
  onStored: () => undefined,
  onDropped: () => undefined,
  onCleared: () => undefined,
};
