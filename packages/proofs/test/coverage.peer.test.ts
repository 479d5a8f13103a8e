import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { ask, type Dnsmasq, freePort, type Kubedns, untilEqual } from '@kube-dns/testkit';
import { namespace, service } from '../src/fixtures/change-objects.js';
import { startDnsmasq, startKubedns } from '../src/fixtures/pod-containers.js';

const NAMES = 60;
const nameOf = (i: number) => `web-${i}.shop.svc.cluster.local`;

let api: ApiServer;
let processes: Kubedns[];
let dnsmasq: Dnsmasq;

beforeAll(async () => {
  api = await createApiServer();
  const services = Array.from({ length: NAMES }, (_, i) => service(`web-${i}`, `10.96.1.${i}`));
  await api.apply([namespace('shop'), ...services]);
  const port = await freePort();
  const start = async () => {
    const flags = [`--kube-master-url=${api.url}`, '--reuse-port'];
    const kubedns = await startKubedns({ flags, ports: { dns: port } });
    await kubedns.ready();
    return kubedns;
  };
  processes = [await start(), await start()];
  dnsmasq = await startDnsmasq({
    args: ['--cache-size=1000', `--server=/cluster.local/127.0.0.1#${port}`],
  });
  await dnsmasq.ready();
  await dnsmasq.subscribed();
});
afterAll(async () => {
  await dnsmasq.close();
  for (const kubedns of processes) await kubedns.close();
  await api.close();
});

/** Asks all names; says how many answers of the zone are cached, and which share of them is pinned. */
async function covered(): Promise<string> {
  await Promise.all(Array.from({ length: NAMES }, (_, i) => ask(dnsmasq.ports.dns, nameOf(i))));
  const metrics = await dnsmasq.metrics();
  const [count, share] = ['zone_answers', 'coverage_ratio'].map((name) =>
    metrics.sum(`dnsmasq_subscription_${name}`),
  );
  return `${share} of ${count}`;
}

it('all answers of two kubedns behind one address are pinned, by a subscription to one of them', async () => {
  expect((await dnsmasq.metrics()).sum('dnsmasq_subscription_live')).toBe(1);
  await untilEqual(`1 of ${NAMES}`, covered);
  // Of the one that is left, whichever it is.
  await processes.shift()!.close();
  await untilEqual(`1 of ${NAMES}`, covered);
});
