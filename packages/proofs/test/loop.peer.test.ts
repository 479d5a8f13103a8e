import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ask, type Dnsmasq, freePort, type Kubedns, Owned, Remote, until } from '@kube-dns/testkit';
import type { ApiServerMethods } from '../src/fixtures/api-server.js';
import { startDnsmasq, startKubedns } from '../src/fixtures/pod-containers.js';

const CLIENT_LIMIT_MS = 60_000;
/** dnsmasq gives a question up sooner than by default. */
const QUERY_TIMEOUT_MS = 2_000;
const MAX_PACKETS = 20;

const owned = new Owned();
let kubedns: Kubedns;
let dnsmasq: Dnsmasq;

/** The sum of a metric of both that counts what they ask upstream servers. */
async function sum(metric: string): Promise<number> {
  const pages = { dnsmasq: await dnsmasq.metrics(), kubedns: await kubedns.metrics() };
  return pages.dnsmasq.sum(`dnsmasq_${metric}`) + pages.kubedns.sum(`kubedns_${metric}`);
}

/** The containers, each the only server of the other. */
beforeAll(async () => {
  const api = owned.add(
    new Remote<ApiServerMethods>(
      'the API server',
      new URL('../dist/fixtures/api-server.js#ApiServerProgram', import.meta.url),
    ),
  );
  const url = await api.call('start', 1, 1);
  const port = await freePort();
  const flags = [`--kube-master-url=${url}`, `--nameservers=127.0.0.1:${port}`];
  kubedns = owned.add(await startKubedns({ flags }));
  const args = [`--server=127.0.0.1#${kubedns.ports.dns}`, `--query-timeout=${QUERY_TIMEOUT_MS}`];
  dnsmasq = owned.add(await startDnsmasq({ args, ports: { dns: port } }));
  await Promise.all([kubedns.ready(), dnsmasq.ready()]);
});
afterAll(() => owned.close());

describe('dnsmasq and kubedns that point at each other', () => {
  it.each(['dnsmasq', 'kubedns'] as const)(
    'make few packets of one query to %s, and say SERVFAIL',
    async (first) => {
      const { dns: port } = { dnsmasq, kubedns }[first].ports;
      const before = (await sum('upstream_server_queries_total')) || 0;
      const { rcode } = await ask(port, `${first}.loop.example`, { limitMs: CLIENT_LIMIT_MS });
      expect(rcode).toBe('SERVFAIL');
      await until(
        'the end of what is in flight',
        async () => (await sum('upstream_in_flight')) === 0,
      );
      const packets = (await sum('upstream_server_queries_total')) - before;
      expect(packets).toBeGreaterThan(1);
      expect(packets).toBeLessThan(MAX_PACKETS);
    },
  );
});
