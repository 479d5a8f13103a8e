import { afterEach, expect, it } from '@jest/globals';
import { parseDnsConfig } from '@kube-dns/daemon';
import { ServerStatistics } from '@kube-dns/resolver';
import { ownedBy } from '@kube-dns/testkit';
import { UpstreamServers, UpstreamSockets } from '@kube-dns/transport';
import { Router, type RouterOptions } from '../src/routing/router.js';
import { recordedLog } from './recorded-log.js';

const own = ownedBy(afterEach);

/** As many labels as names may have that take 49,152 characters together. */
const LABELS = '.a'.repeat(5);

/** A router without rules, closed after the test. `onLookup` is called when a server is looked up. */
function loadedRouter(onLookup: () => void, listens?: RouterOptions['own']): Router {
  const sockets = new UpstreamSockets();
  const upstreams = new UpstreamServers(sockets, new ServerStatistics());
  const at = upstreams.at.bind(upstreams);
  upstreams.at = (...address) => {
    onLookup();
    return at(...address);
  };
  const router = new Router({
    rules: [],
    log: recordedLog(),
    upstreams,
    ...(listens !== undefined && { own: listens }),
  });
  own({
    close: () => {
      router.close();
      sockets.close();
      return Promise.resolve();
    },
  });
  router.load();
  return router;
}

/** How often servers are looked up, and compared with the addresses of this machine, for a ConfigMap of so many domains. */
function stepsFor(count: number): { lookups: number; comparisons: number } {
  const steps = { lookups: 0, comparisons: 0 };
  const router = loadedRouter(() => steps.lookups++, {
    get ownAddresses() {
      steps.comparisons++;
      return [{ address: '::', port: 53 }];
    },
  });
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

it('outsider 2: 2,048 stub domains are applied in steps of 64 servers, and the old ones are in force until the last', () => {
  let lookups = 0;
  const router = loadedRouter(() => lookups++);
  const old = router.routes;
  let mostDropped = 0;
  let dropped = 0;
  router.listen({
    onRulesRead: () => undefined,
    onRoutesChanged: () => undefined,
    onResolvFileChanged: () => undefined,
    onDomainsChanged: (domains) => {
      dropped += domains.length;
      mostDropped = Math.max(mostDropped, domains.length);
    },
  });
  const domains = Array.from({ length: 2_048 }, (_, i) => [`d${i}`, [`10.1.${i >> 8}.${i & 255}`]]);
  const stubDomains = JSON.stringify(Object.fromEntries(domains));
  const work = router.configuring(parseDnsConfig(new Map([['stubDomains', stubDomains]])));
  let stepsBefore = 0;
  for (let step = work.next(); step.done !== true; step = work.next()) {
    if (router.routes === old) {
      stepsBefore++;
      expect(lookups).toBeLessThanOrEqual(64);
    }
    lookups = 0;
  }
  expect(stepsBefore).toBe(32);
  expect(router.routes.routes).toHaveLength(2_049);
  expect([dropped, mostDropped]).toEqual([2_048, 128]);
});
