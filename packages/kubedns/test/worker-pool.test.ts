import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { FlagValues } from '@kube-dns/daemon';
import { chooseUdpEngine, exchange } from '@kube-dns/transport';
import { ClusterState } from '../src/cluster/cluster-state.js';
import { ObjectStore } from '../src/cluster/object-store.js';
import { KUBEDNS_FLAGS, type KubednsFlags } from '../src/config/flags.js';
import type { Facts } from '../src/workers/worker-messages.js';
import { ZoneFeed } from '../src/workers/zone-feed.js';
import { ZoneWorkers, type ZoneWorkersOptions } from '../src/workers/zone-workers.js';
import { ClusterZone } from '../src/zone/cluster-zone.js';
import { freePort } from './support/bound-port.js';
import { type KeptLog, keptLog } from './support/kept-log.js';
import { queryBytes, readAnswer } from './support/messages.js';
import { serviceObject } from './support/objects.js';
import { until } from './support/until.js';

const SCRIPT = fileURLToPath(new URL('../dist/kubedns.cjs', import.meta.url));
const FLAGS = Object.fromEntries(
  Object.entries(KUBEDNS_FLAGS).map(([name, { initial }]) => [name, initial]),
) as unknown as FlagValues<typeof KUBEDNS_FLAGS> & KubednsFlags;
const FACTS: Facts = {
  isSynced: true,
  knowsNamespaces: true,
  servers: { defaults: [], stubs: [] },
  federations: new Map(),
  locality: undefined,
};
const WEB = 'web.default.svc.cluster.local';

let pool: ZoneWorkers | undefined;
let log: KeptLog;
let port: number;
let services: ObjectStore<never, never>;
beforeEach(async () => {
  log = keptLog();
  port = await freePort();
});
afterEach(async () => {
  await pool?.close();
  pool = undefined;
});

/** Two workers without a leader that serves. */
async function start(options: Partial<ZoneWorkersOptions> = {}): Promise<ZoneWorkers> {
  const { engine } = await chooseUdpEngine('auto');
  const zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  const feed = new ZoneFeed(zone);
  const sink = new ClusterState({ keeper: feed }).services;
  services = new ObjectStore(sink, () => undefined) as never;
  services.put(serviceObject() as never);
  pool = await ZoneWorkers.start({
    count: 2,
    script: SCRIPT,
    start: {
      flags: FLAGS,
      version: '1.2.3',
      engine: engine.name,
      address: '127.0.0.1',
      port,
      maxInFlight: 10,
    },
    feed,
    facts: () => FACTS,
    serial: () => zone.serial,
    closeLeft: (descriptor) => engine.closeLeft(descriptor),
    log,
    pauseMs: 10,
    ...options,
  });
  return pool;
}

function ask(name: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const server = { address: '127.0.0.1', port };
    const query = queryBytes(name, 'A');
    exchange({ query, server, protocol: 'udp', timeoutMs: 10_000 }, (error, reply) =>
      reply === null ? reject(error!) : resolve(readAnswer(reply).answers),
    );
  });
}

async function askAll(name = WEB): Promise<void> {
  for (let i = 0; i < 60; i++) expect(await ask(name)).toHaveLength(1);
}

const counted = () =>
  pool!.figures.map((figures) => figures?.listener.udpQueries ?? 0).reduce((a, b) => a + b);

describe('a worker that ends', () => {
  it('gets no questions any more, is replaced, and its counts stay', async () => {
    const { threads } = await start();
    await askAll();
    await until('counted', () => counted() === 60);
    await threads[0]!.kill();
    expect(counted()).toBe(60);
    await askAll();
    await until('replaced', () => pool!.threads.every(({ isServing }) => isServing));
    expect(pool!.threads[0]).not.toBe(threads[0]);
    expect(pool!.restarts).toBe(1);
    await askAll();
    await until('counted', () => counted() === 180);
    expect(pool!.figures.every((figures) => figures!.listener.udpQueries > 0)).toBe(true);
    expect(log.lines).toEqual([
      'E worker 1 has ended: killed; another one in 10 ms',
      'I worker 1: serving again',
    ]);
  });

  it('leaves no socket behind that swallows questions while nobody replaces it', async () => {
    const { threads } = await start({ pauseMs: 1_000_000 });
    await threads[1]!.kill();
    await askAll();
  });

  it('is replaced by one that knows what came meanwhile', async () => {
    const { threads } = await start();
    const killed = threads.map((thread) => thread.kill());
    services.put(serviceObject({ name: 'new' }) as never);
    await Promise.all(killed);
    services.put(serviceObject({ name: 'newer' }) as never);
    await until('replaced', () => pool!.threads.every(({ isServing }) => isServing));
    await askAll('new.default.svc.cluster.local');
    await askAll('newer.default.svc.cluster.local');
  });

  it('is waited for longer each time', async () => {
    await start();
    for (const line of [1, 3, 5]) {
      await until('serving', () => pool!.threads[0]!.isServing);
      await pool!.threads[0]!.kill();
      await until('the line', () => log.lines.length >= line);
    }
    const pauses = log.lines.flatMap((line) => /in (\d+) ms/.exec(line)?.[1] ?? []);
    expect(pauses).toEqual(['10', '20', '40']);
  });
});

describe('the start of workers', () => {
  it('fails with the reason when they cannot have the port', async () => {
    const first = await start();
    const failed = start({ start: { ...FIRST(), address: '192.0.2.1' } });
    await expect(failed).rejects.toThrow(/worker \d: cannot listen on 192\.0\.2\.1:\d+ over UDP/);
    await first.close();
  });

  it('fails when the script ends', async () => {
    const script = fileURLToPath(new URL('no-such-script.cjs', import.meta.url));
    await expect(start({ script })).rejects.toThrow(/worker \d: .*Cannot find module/);
  });

  it('leaves nothing open after close, which may come twice', async () => {
    const { threads } = await start();
    await pool!.close();
    await pool!.close();
    expect(threads.some(({ isServing }) => isServing)).toBe(false);
    expect(log.lines).toEqual([]);
  });
});

const FIRST = () => ({
  flags: FLAGS,
  version: '1.2.3',
  engine: 'dgram' as const,
  port,
  maxInFlight: 10,
});
