import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { StatusFacts, StatusSource } from '@kube-dns/daemon';
import { Telemetry } from '@kube-dns/telemetry';
import { ask, ownedBy, type Response, type Script, until } from '@kube-dns/testkit';
import type { AppliedCorefile } from '../src/config/corefile-source.js';
import { readServerBlocks } from '../src/corefile/read-server-blocks.js';
import { nodeCacheStatus } from '../src/status.js';
import { holdTime } from './support/held-time.js';
import { CLUSTER, Testbed, WORLD } from './support/testbed.js';

const opened = ownedBy(afterEach);
holdTime();

const address: Response = { answers: [{ type: 'A', ttl: 20, data: '10.0.0.1' }] };
const NETWORK = {
  tool: 'nft',
  reason: 'kube-proxy has a table',
  hasInterface: true,
  hasRules: false,
} as const;

async function start(script: Script, corefile = CLUSTER + WORLD) {
  const testbed = opened(await Testbed.create(script));
  await testbed.serve(corefile);
  const text = corefile.replaceAll('PORT', '53').replaceAll('UPSTREAM', '192.0.2.1');
  const applied: AppliedCorefile = {
    text,
    blocks: readServerBlocks(text, 'Corefile'),
    atMs: 1_000,
    version: 'abc',
  };
  const refused = { atMs: 2_000, reasons: ['line 3: unknown directive'] };
  const status = nodeCacheStatus({
    server: testbed.server,
    corefile: '/etc/Corefile',
    telemetry: new Telemetry(),
    source: { applied, refused, warnings: [] },
    network: { state: NETWORK },
  });
  return { testbed, status };
}

async function rowsOf(status: StatusSource, title: string): Promise<readonly StatusFacts[]> {
  const section = (await status.sections())[title]!;
  return Array.isArray(section) ? (section as StatusFacts[]) : [section as StatusFacts];
}

describe('the status page of node-cache', () => {
  it('shows servers, server blocks, zones, and the cache of each block', async () => {
    const { testbed, status } = await start(() => address);
    for (const name of ['a.cluster.local', 'a.cluster.local', 'b.example']) {
      await ask(testbed.port, name);
    }
    const { port } = testbed;
    const upstream = `127.0.0.1#${testbed.upstream.port}`;
    const cluster = `cluster.local:${port}`;
    expect(await rowsOf(status, 'Servers')).toMatchObject([
      { server: `tcp://${upstream}`, protocol: 'tcp', state: 'up' },
      { server: upstream, protocol: 'udp', state: 'up' },
    ]);
    expect(await rowsOf(status, 'Server blocks')).toMatchObject([
      {
        zones: cluster,
        line: 2,
        addresses: '127.0.0.1',
        isOfCluster: true,
        hosts: null,
        forwardsTo: `${upstream} force_tcp`,
        cache: 'success 9984 30 s, denial 9984 5 s',
      },
      { zones: `.:${port}`, forwardsTo: upstream },
    ]);
    expect(await rowsOf(status, 'Zones')).toMatchObject([{ zone: 'cluster.local' }]);
    expect(await rowsOf(status, 'Cache by zone')).toMatchObject([
      { zones: cluster, entries: 1, capacity: 19_968, hits: 1, misses: 1, evictions: 0 },
      { zones: `.:${port}`, entries: 1, hits: 0, misses: 1 },
    ]);
    expect(await rowsOf(status, 'Questions in flight')).toMatchObject([
      { zones: cluster, inFlight: 0, maxInFlight: 1_000, forwarded: 1 },
      { forwarded: 1 },
    ]);
    expect(await rowsOf(status, 'Node')).toEqual([
      { rulesBy: 'nft', because: 'kube-proxy has a table', hasInterface: true, hasRules: false },
    ]);
  });

  it('shows every domain of a server that a block of several zones forwards to', async () => {
    const block = CLUSTER.replace('cluster.local:PORT', 'cluster.local:PORT in-addr.arpa:PORT');
    const { status } = await start(() => address, block);
    expect(await rowsOf(status, 'Servers')).toMatchObject([
      { domains: 'cluster.local in-addr.arpa' },
    ]);
  });

  it('shows the Corefile, each block as it is written, and why the last one was refused', async () => {
    const { status } = await start(() => address);
    expect(status.configuration?.()).toMatchObject({
      source: '/etc/Corefile',
      version: 'abc',
      appliedMs: 1_000,
      refused: { atMs: 2_000, reasons: ['line 3: unknown directive'] },
      settings: [
        {
          setting: 'block cluster.local:53',
          value:
            'errors; cache {; success 9984 30; denial 9984 5; forward . 192.0.2.1 {; force_tcp',
          from: 'line 2 of /etc/Corefile',
        },
        { setting: 'block .:53', value: 'errors; cache 30; forward . 192.0.2.1' },
      ],
    });
  });

  it('says which servers do not reply, and why it is not ready', async () => {
    const { testbed, status } = await start(() => address, WORLD);
    await testbed.upstream.close();
    let isAnswered = false;
    const asked = ask(testbed.port, 'a.example').finally(() => (isAnswered = true));
    // Probes find out that its port is closed.
    await until(async () => {
      await jest.advanceTimersByTimeAsync(100);
      return isAnswered && status.problems?.().length === 1;
    });
    await asked;
    expect(status.problems?.()).toEqual([
      expect.stringMatching(/^no server for names of no other domain replies: 127\.0\.0\.1#\d+ \(/),
    ]);
    expect(status.notReady?.()).toEqual([]);
    const early = await Testbed.create(() => address);
    opened(early);
    const own = nodeCacheStatus({
      server: early.server,
      corefile: '',
      telemetry: new Telemetry(),
      source: { applied: undefined, refused: undefined, warnings: [] },
      network: { state: NETWORK },
    });
    expect(own.notReady?.()).toEqual([
      'it has not answered its own question yet, or is about to end',
    ]);
    expect(own.configuration?.()).toBeUndefined();
  });
});
