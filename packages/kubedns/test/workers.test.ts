import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { freePort } from './support/bound-port.js';
import { endAll, type KubednsProcess, startKubedns } from './support/kubedns-process.js';
import { NameServer } from './support/name-server.js';
import { HEADLESS, namespaceObject, serviceObject, sliceObject } from './support/objects.js';
import { until } from './support/until.js';

const PORTS = [{ name: 'http', port: 80 }];
const WEB = 'web.default.svc.cluster.local';
/** Each question comes from a port of its own: of so many, no thread of three is left out. */
const MANY = 90;

let api: ApiServer;
let upstream: NameServer;
let metricsPort: number;
beforeEach(async () => {
  api = await createApiServer();
  upstream = await new NameServer().start();
  await api.apply([serviceObject({ clusterIPs: ['10.96.0.20'], ports: PORTS })]);
  metricsPort = await freePort();
});
afterEach(async () => {
  await endAll();
  await upstream.close();
  await api.close();
});

/** Starts with three threads and waits until all of them know the cluster. */
async function start(...args: string[]): Promise<KubednsProcess> {
  const env = { PROMETHEUS_PORT: String(metricsPort) };
  const kubedns = startKubedns(api, upstream, ['--workers=3', ...args], env);
  await until('ready', async () => (await kubedns.get('/readiness'))[0] === 200);
  return kubedns;
}

/** The values of a metric, in the order of its series. */
async function values(metric: string): Promise<number[]> {
  const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith(metric));
  return lines.map((line) => Number(line.split(' ').at(-1)));
}

/** What many clients are told, each other answer once. */
async function answersOf(kubedns: KubednsProcess, name: string, count = MANY): Promise<string[]> {
  const seen = new Set<string>();
  for (let i = 0; i < count; i += 10) {
    const some = Array.from({ length: 10 }, () => kubedns.ask(name, 'A'));
    for (const { rcode, answers } of await Promise.all(some)) {
      seen.add(answers.length === 0 ? rcode : answers.toSorted().join());
    }
  }
  return [...seen];
}

describe.each(['auto', 'dgram'])('the threads of --workers=3 with the engine %s', (engine) => {
  it('all answer, rightly, and what they count adds up', async () => {
    const kubedns = await start(`--udp-engine=${engine}`);
    expect(kubedns.stderr).toMatch(/\] 3 threads serve the UDP port$/m);
    expect(await answersOf(kubedns, WEB)).toEqual([`${WEB} A 10.96.0.20`]);
    expect(await answersOf(kubedns, 'no.such.name.example')).toEqual(['NXDOMAIN']);
    expect((await kubedns.ask(WEB, 'A', { isOverTcp: true })).answers).toHaveLength(1);
    const messages = () => values('kubedns_worker_messages_total{');
    const sum = (all: number[]) => all.reduce((total, one) => total + one, 0);
    await until('all counted', async () => sum(await messages()) === 2 * MANY);
    const byThread = await messages();
    expect(byThread).toHaveLength(3);
    expect(Math.min(...byThread)).toBeGreaterThan(0);
    expect(await values('kubedns_messages_total{protocol="udp"}')).toEqual([2 * MANY]);
    expect(await values('kubedns_messages_total{protocol="tcp"}')).toEqual([1]);
    expect(await values('skydns_skydns_dns_request_count_total{system="auth"}')).toEqual([
      MANY + 1,
    ]);
    const recursive = 'dns_request_count_total{system="recursive"}';
    expect(await values(`skydns_skydns_${recursive}`)).toEqual([MANY]);
    const sizes = 'skydns_skydns_dns_response_size_bytes_count{system="auth"}';
    expect(await values(sizes)).toEqual([MANY + 1]);
    const denied = 'dns_error_count_total{cause="nxdomain",system="recursive"}';
    expect(await values(`skydns_skydns_${denied}`)).toEqual([MANY]);
    expect(await values('kubedns_upstream_queries_total')).toEqual([MANY]);
    expect(await values('kubedns_upstream_in_flight')).toEqual([0]);
    expect(upstream.asked).toHaveLength(MANY);
  });

  it('answer everything that comes until the drain time is over', async () => {
    const kubedns = await start(`--udp-engine=${engine}`, '--drain-time=1s');
    await kubedns.port();
    const startedMs = performance.now();
    kubedns.child.kill('SIGTERM');
    let asked = 0;
    for (; performance.now() < startedMs + 700; asked += 10) {
      expect(await answersOf(kubedns, WEB, 10)).toEqual([`${WEB} A 10.96.0.20`]);
    }
    expect(asked).toBeGreaterThan(0);
    expect(await kubedns.exit).toBe(0);
    expect(kubedns.stderr).not.toMatch(/^E|worker \d has ended/m);
  });
});

describe('the threads of --workers=3', () => {
  it('know nothing that is wrong while services come, change and go', async () => {
    const kubedns = await start();
    const names = ['s1', 's2', 's3', 's4', 's5', 's6'];
    const nameOf = (service: string) => `${service}.default.svc.cluster.local`;
    /**
     * By service: not to exist, which comes between two of its states, and what it was so far. Slices come
     * by another stream, so a service can be seen with endpoints of any round.
     */
    const possible = new Map(names.map((name) => [name, new Set(['NXDOMAIN'])]));
    const last = new Map<string, string>();
    const change = async (name: string, round: number) => {
      const number = Number(name.slice(1));
      const addresses = {
        endpoint: `10.1.${round}.${number}`,
        cluster: `10.96.${round}.${number}`,
      };
      if (api.get('Service', 'default', name) !== undefined) {
        api.delete('Service', 'default', name);
      }
      last.set(name, 'NXDOMAIN');
      const kind = (round + number) % 4;
      if (kind === 0) return;
      for (const one of Object.values(addresses))
        possible.get(name)!.add(`${nameOf(name)} A ${one}`);
      const { endpoint, cluster } = addresses;
      last.set(name, `${nameOf(name)} A ${kind === 1 ? endpoint : cluster}`);
      await api.apply([sliceObject({ name, service: name, endpoints: [endpoint] })]);
      const own = kind === 1 ? HEADLESS : { clusterIPs: [cluster] };
      await api.apply([serviceObject({ name, ports: PORTS, ...own })]);
    };
    for (let round = 1; round <= 25; round++) {
      for (const name of names) {
        // The questions meet the change on its way to the threads.
        await change(name, round);
        const answers = await answersOf(kubedns, nameOf(name), 10);
        for (const answer of answers) expect([...possible.get(name)!]).toContain(answer);
      }
    }
    for (const name of names) {
      const told = [last.get(name)];
      await until('the last state', async () => {
        return (await answersOf(kubedns, nameOf(name), 10)).join() === told.join();
      });
      expect(await answersOf(kubedns, nameOf(name))).toEqual(told);
    }
  });

  it('know of namespaces', async () => {
    await api.apply([namespaceObject('shop')]);
    const kubedns = await start();
    expect(await answersOf(kubedns, '10-0-0-1.shop.pod.cluster.local')).toEqual([
      '10-0-0-1.shop.pod.cluster.local A 10.0.0.1',
    ]);
    expect(await answersOf(kubedns, '10-0-0-1.none.pod.cluster.local')).toEqual(['NXDOMAIN']);
  });

  it('all say SERVFAIL until the cluster was seen', async () => {
    api.hang();
    const kubedns = startKubedns(api, upstream, ['--workers=3']);
    await kubedns.says(/3 threads serve/);
    expect(await answersOf(kubedns, WEB)).toEqual(['SERVFAIL']);
    expect((await kubedns.get('/readiness'))[0]).toBe(503);
    api.unhang();
    await until('ready', async () => (await kubedns.get('/readiness'))[0] === 200);
    expect(await answersOf(kubedns, WEB)).toEqual([`${WEB} A 10.96.0.20`]);
  });

  it('all obey a new configuration, also after SIGHUP', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kubedns-'));
    const stub = await new NameServer().start();
    const [name, data] = ['db.acme.local', '192.0.2.7'];
    stub.says(`${name} A`, { answers: [{ type: 'A', name, ttl: 60, data }] });
    const put = (key: string, value: unknown) =>
      writeFile(join(folder, key), JSON.stringify(value));
    try {
      await put('upstreamNameservers', [upstream.address]);
      const kubedns = await start(`--config-dir=${folder}`, '--config-period=100ms');
      expect(await answersOf(kubedns, name)).toEqual(['NXDOMAIN']);
      await put('stubDomains', { 'acme.local': [stub.address] });
      const told = [`${name} A ${data}`];
      await until('the change', async () => {
        const answers = await answersOf(kubedns, name, 20);
        return answers.join() === told.join();
      });
      kubedns.child.kill('SIGHUP');
      await kubedns.says(/(?:name servers: .*\n[^]*){3}/);
      expect(await answersOf(kubedns, name)).toEqual(told);
    } finally {
      await endAll();
      await stub.close();
      await rm(folder, { recursive: true });
    }
  });

  it('end with SIGINT at once', async () => {
    const kubedns = await start('--drain-time=1h');
    kubedns.child.kill('SIGINT');
    expect(await kubedns.exit).toBe(0);
  });
});

describe('--workers', () => {
  it.each(['0', '-1', '65', 'x', '1.5'])('refuses %s with 2', async (text) => {
    const kubedns = startKubedns(api, upstream, [`--workers=${text}`]);
    expect(await kubedns.exit).toBe(2);
    expect(kubedns.lastWords.join()).toMatch(/--?workers/);
  });

  it('is one thread by default, which shares its port with nobody', async () => {
    const one = startKubedns(api, upstream);
    const port = await one.port();
    expect(one.stderr).not.toMatch(/threads/);
    const other = startKubedns(api, upstream, ['--workers=2', `--dns-port=${port}`]);
    expect(await other.exit).toBe(1);
    expect(other.lastWords.join()).toMatch(/over UDP: address already in use/);
  });

  it('shares its port with no other process', async () => {
    const port = await (await start()).port();
    const other = startKubedns(api, upstream, ['--workers=2', `--dns-port=${port}`]);
    expect(await other.exit).toBe(1);
    expect(other.lastWords.join()).toMatch(/over TCP: address already in use/);
  });
});
