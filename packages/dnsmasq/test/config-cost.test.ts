import { afterEach, expect, it } from '@jest/globals';
import { parseDnsConfig } from '@kube-dns/daemon';
import { ServerStatistics } from '@kube-dns/resolver';
import { ownedBy } from '@kube-dns/testkit';
import { UpstreamServers, UpstreamSockets } from '@kube-dns/transport';
import { Router } from '../src/routing/router.js';
import { recordedLog } from './recorded-log.js';

const own = ownedBy(afterEach);

/** As many labels as names may have that take 49,152 characters together. */
const LABELS = '.a'.repeat(5);

/** How often servers are looked up, and compared with the addresses of this machine, for a ConfigMap of so many domains. */
function stepsFor(count: number): { lookups: number; comparisons: number } {
  const steps = { lookups: 0, comparisons: 0 };
  const sockets = new UpstreamSockets();
  const upstreams = new UpstreamServers(sockets, new ServerStatistics());
  const at = upstreams.at.bind(upstreams);
  upstreams.at = (...address) => {
    steps.lookups++;
    return at(...address);
  };
  const router = new Router({
    rules: [],
    log: recordedLog(),
    upstreams,
    own: {
      get ownAddresses() {
        steps.comparisons++;
        return [{ address: '::', port: 53 }];
      },
    },
  });
  own({
    close: () => {
      router.close();
      sockets.close();
      return Promise.resolve();
    },
  });
  router.load();
  for (const round of [1, 2]) {
    // Each domain has another server than before.
    const domains = Array.from({ length: count }, (_, i) => [
      `d${i}${LABELS}.example`,
      [`10.${round}.${i >> 8}.${i & 255}`],
    ]);
    const stubDomains = JSON.stringify(Object.fromEntries(domains));
    router.configure(parseDnsConfig(new Map([['stubDomains', stubDomains]])));
  }
  return steps;
}

it('a ConfigMap of 2,048 stub domains takes twice the steps of one with half as many', () => {
  const [half, whole] = [stepsFor(1_024), stepsFor(2_048)];
  expect(whole.lookups).toBeGreaterThanOrEqual(2 * 2_048);
  expect(whole.lookups).toBeLessThanOrEqual(2.5 * half.lookups);
  expect(whole.comparisons).toBeLessThanOrEqual(2.5 * half.comparisons);
});
