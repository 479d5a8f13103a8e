import { stepsOf } from './support/steps.js';
import { expect, it } from '@jest/globals';
import { parseDnsConfig } from '@kube-dns/daemon';
import { UpstreamServers, UpstreamSockets } from '@kube-dns/transport';
import { Upstreams } from '../src/config/upstreams.js';
import { UpstreamStatistics } from '../src/metrics/upstream-statistics.js';
import { recordedLog } from './support/recorded-log.js';

/** As many stub domains as a ConfigMap may have. */
const DOMAINS = 2_048;
const MAX_STEPS_OF_DOMAIN = 500;
const MAX_GROWTH = 2.5;
/** As many labels as names may have that take 49,152 characters together. */
const LABELS = '.a'.repeat(5);

/** The steps of applying so many stub domains, of which each has another server. */
function stepsOfApplying(domains: number, serverOf: (i: number) => string): number {
  const sockets = new UpstreamSockets();
  const upstreams = new Upstreams({
    log: recordedLog(),
    servers: new UpstreamServers(sockets, new UpstreamStatistics()),
    domain: 'cluster.local.',
    resolveOwn: () => ({ addresses: ['10.0.0.10'], target: undefined, services: [] }),
    // As its servers: each of them is compared with the addresses of this machine.
    own: { ownAddresses: [{ address: '0.0.0.0', port: 53 }] },
  });
  const entries = Array.from({ length: domains }, (_, i) => [`d${i}${LABELS}.test`, [serverOf(i)]]);
  const stubDomains = JSON.stringify(Object.fromEntries(entries));
  const steps = stepsOf(() => {
    upstreams.apply(parseDnsConfig(new Map([['stubDomains', stubDomains]])));
  });
  upstreams.close();
  sockets.close();
  return steps;
}

it.each<[string, (i: number) => string]>([
  ['an address', (i) => `10.1.${i >> 8}.${i & 255}`],
  ['an IPv6 address', (i) => `2001:db8:1::${i + 1}`],
  ['a name of the cluster', (i) => `s${i}.ns.svc.cluster.local`],
  ['a name of elsewhere', (i) => `s${i}.example`],
])('a ConfigMap of 2,048 stub domains takes a few steps for each: %s', (_what, serverOf) => {
  const half = stepsOfApplying(DOMAINS / 2, serverOf);
  const whole = stepsOfApplying(DOMAINS, serverOf);
  expect(whole).toBeGreaterThan(DOMAINS);
  expect(whole).toBeLessThan(DOMAINS * MAX_STEPS_OF_DOMAIN);
  expect(whole).toBeLessThan(half * MAX_GROWTH);
});

it('outsider 2: 2,048 stub domains are applied in steps, and the old ones are in force until the last', () => {
  const sockets = new UpstreamSockets();
  const upstreams = new Upstreams({
    log: recordedLog(),
    servers: new UpstreamServers(sockets, new UpstreamStatistics()),
    domain: 'cluster.local.',
    resolveOwn: () => ({ addresses: [], target: undefined, services: [] }),
  });
  const config = (count: number, net: number) => {
    const entries = Array.from({ length: count }, (_, i) => [
      `d${i}`,
      [`10.${net}.${i >> 8}.${i & 255}`],
    ]);
    const stubDomains = JSON.stringify(Object.fromEntries(entries));
    return parseDnsConfig(new Map([['stubDomains', stubDomains]]));
  };
  upstreams.apply(config(1, 1));
  const used = () => upstreams.groups.slice(1).map(({ servers }) => servers[0]?.address);
  const work = upstreams.applying(config(DOMAINS, 2));
  const next = () => {
    let isOver: boolean | undefined;
    const steps = stepsOf(() => (isOver = work.next().done));
    return { isOver, steps };
  };
  let slices = 0;
  for (let slice = next(); slice.isOver !== true; slice = next()) {
    slices++;
    expect(slice.steps).toBeLessThan(64 * MAX_STEPS_OF_DOMAIN);
    expect(used()).toEqual(['10.1.0.0']);
    // What is made ready stays, whatever else changes meanwhile.
    upstreams.serviceChanged('ns/name');
  }
  expect(slices).toBe(DOMAINS / 64);
  expect(used()).toHaveLength(DOMAINS);
  expect(used()[5]).toBe('10.2.0.5');
  upstreams.close();
  sockets.close();
});
