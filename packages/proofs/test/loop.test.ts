import { afterEach, describe, expect, it } from '@jest/globals';
import { ask, freePort, ownedBy, Remote, timed } from '@kube-dns/testkit';
import type { ApiServerMethods } from '../src/fixtures/api-server.js';
import { startDnsmasq, startKubedns } from '../src/fixtures/pod-containers.js';

const TIMEOUT_MS = 120_000;
/** kubedns gives a question up after 4 s, dnsmasq after 4.5 s. */
const QUERY_LIMIT_MS = 4_500;
const CLIENT_LIMIT_MS = 10_000;
/** What is on its way when the client has its answer comes to its end. */
const SETTLE_MS = 1_500;
const MAX_PACKETS = 20;

const own = ownedBy(afterEach);

/** The containers, each the only server of the other. */
async function startLoop() {
  const api = own(
    new Remote<ApiServerMethods>(
      'the API server',
      new URL('../dist/fixtures/api-server.js#ApiServerProgram', import.meta.url),
    ),
  );
  const url = await api.call('start', 1, 1);
  const port = await freePort();
  const kubedns = own(
    await startKubedns({ flags: [`--kube-master-url=${url}`, `--nameservers=127.0.0.1:${port}`] }),
  );
  const args = [`--server=127.0.0.1#${kubedns.ports.dns}`];
  const dnsmasq = own(await startDnsmasq({ args, ports: { dns: port } }));
  await Promise.all([kubedns.ready(), dnsmasq.ready()]);
  return { kubedns, dnsmasq };
}

describe('dnsmasq and kubedns that point at each other', () => {
  it.each(['dnsmasq', 'kubedns'] as const)(
    'make few packets of one query to %s, and say SERVFAIL in time',
    async (first) => {
      const loop = await startLoop();
      const port = loop[first].ports.dns;
      const asked = () => ask(port, 'in.a.loop.example', { limitMs: CLIENT_LIMIT_MS });
      const { result, runningMs } = await timed(asked);
      expect(runningMs).toBeLessThan(QUERY_LIMIT_MS);
      expect(result.rcode).toBe('SERVFAIL');
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
      const [dnsmasq, kubedns] = [await loop.dnsmasq.metrics(), await loop.kubedns.metrics()];
      const packets =
        dnsmasq.sum('dnsmasq_upstream_server_queries_total') +
        kubedns.sum('kubedns_upstream_server_queries_total');
      expect(packets).toBeGreaterThan(1);
      expect(packets).toBeLessThan(MAX_PACKETS);
    },
    TIMEOUT_MS,
  );
});
