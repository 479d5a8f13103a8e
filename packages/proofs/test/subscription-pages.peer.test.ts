import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { ask, type Dnsmasq, type Kubedns, until } from '@kube-dns/testkit';
import { ManifestPod } from '../src/fixtures/pod-containers.js';
import { namespace, service } from '../src/fixtures/change-objects.js';

const ZONES = ['cluster.local', 'in-addr.arpa', 'ip6.arpa'];
const NAME = 'web.shop.svc.cluster.local';

let api: ApiServer;
let pod: ManifestPod;
let kubedns: Kubedns;
let dnsmasq: Dnsmasq;

beforeEach(async () => {
  api = await createApiServer();
  await api.apply([namespace('shop'), service('web', '10.96.1.1')]);
  pod = await ManifestPod.start({ apiUrl: api.url, hasNoSidecar: true });
  ({ kubedns, dnsmasq } = pod);
  await pod.ready();
  await dnsmasq.subscribed();
});
afterEach(async () => {
  await pod.close();
  await api.close();
});

async function page(port: number, path: string): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}/${path}`);
  return response.json();
}

async function statistics(): Promise<string> {
  const question = { name: 'subscriptions.bind', type: 'TXT', class: 'CH' } as const;
  const { answers } = await ask(dnsmasq.ports.dns, question);
  return answers.map((record) => (record.type === 'TXT' ? String(record.data) : '')).join();
}

it('what is live, kept and dropped is in the pages, metrics and statistics of both', async () => {
  const here = { server: `127.0.0.1#${kubedns.ports.dns}` };
  const pageOf = (row: object) => ({ subscriptions: [{ ...here, zones: ZONES, ...row }] });
  await ask(dnsmasq.ports.dns, NAME);
  expect(await page(dnsmasq.ports.metrics, 'subscriptions')).toMatchObject(
    pageOf({ state: 'live', pinnedAnswers: 1, droppedAnswers: 0 }),
  );
  expect(await page(kubedns.ports.readiness, 'subscribers')).toMatchObject({
    subscribers: [{ unreadBytes: 0 }],
  });
  expect(await statistics()).toBe('live 3,down 0');

  await api.apply([service('new', '10.96.1.2')]);
  api.delete('Service', 'shop', 'web');
  const dropped = 'dnsmasq_subscription_dropped_answers_total';
  await until('dropped', async () => (await dnsmasq.metrics()).sum(dropped, here) === 1);
  const lag = 'kubedns_subscription_lag_seconds_count';
  expect((await kubedns.metrics()).sum(lag)).toBeGreaterThan(0);

  kubedns.server.signal('SIGKILL');
  await dnsmasq.server.waitForLine(/announces no changes any more/);
  expect(await page(dnsmasq.ports.metrics, 'subscriptions')).toMatchObject(
    pageOf({ state: 'down', pinnedAnswers: 0, events: { started: 1, lost: 1 } }),
  );
  const live = { ...here, zone: 'cluster.local' };
  expect((await dnsmasq.metrics()).sum('dnsmasq_subscription_live', live)).toBe(0);
  expect(await statistics()).toBe('live 0,down 3');
});
