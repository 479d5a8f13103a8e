import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { ask, type Dnsmasq, until } from '@kube-dns/testkit';
import { ManifestPod } from '../src/fixtures/pod-containers.js';
import { namespace, service } from '../src/fixtures/change-objects.js';

const SERVICES = 10_000;
const ASKED = 200;
/** For what ten thousand services take on a busy machine. */
const LIMIT_MS = 180_000;

let api: ApiServer;
let pod: ManifestPod;
let dnsmasq: Dnsmasq;

const name = (i: number) => `s${i}.shop.svc.cluster.local`;
const address = (i: number, round: number) => `10.${100 + round}.${i >> 8}.${i & 0xff}`;
const services = (round: number) =>
  Array.from({ length: SERVICES }, (_, i) => service(`s${i}`, address(i, round)));

async function addressOf(i: number): Promise<string | undefined> {
  const { answers } = await ask(dnsmasq.ports.dns, name(i));
  const [first] = answers;
  return first?.type === 'A' ? first.data : undefined;
}

/** Asks for some of the services until each has the address of a round. */
async function seen(round: number): Promise<void> {
  for (let i = 0; i < ASKED; i++) {
    await until(name(i), async () => (await addressOf(i)) === address(i, round));
  }
}

beforeAll(async () => {
  api = await createApiServer();
  api.objects.load([namespace('shop'), ...services(0)]);
  const dnsmasqArgs = ['--cache-size=10000'];
  pod = await ManifestPod.start({ apiUrl: api.url, hasNoSidecar: true, dnsmasqArgs });
  ({ dnsmasq } = pod);
  await pod.ready();
  await dnsmasq.subscribed();
}, LIMIT_MS);
afterAll(async () => {
  await pod.close();
  await api.close();
});

describe('10,000 services that change at once', () => {
  it(
    'are told by few messages, and no old answer is left',
    async () => {
      await seen(0);
      api.objects.load(services(1));
      await until(
        'the last change',
        async () => (await addressOf(SERVICES - 1)) === address(SERVICES - 1, 1),
      );
      await seen(1);
      const flushes = (await dnsmasq.metrics()).sum('dnsmasq_subscription_flushes_total', {
        reason: 'by-server',
      });
      expect(flushes).toBeGreaterThan(0);
      const names = (await dnsmasq.metrics()).sum('dnsmasq_subscription_events_total', {
        event: 'changed',
      });
      // One by one they would be three each: its name, and the reverse ones of both addresses. A slow machine reads them in more parts.
      expect(names).toBeLessThan(3 * SERVICES);
    },
    LIMIT_MS,
  );

  it(
    'are told to a dnsmasq that was reloaded, too',
    async () => {
      dnsmasq.server.signal('SIGHUP');
      await seen(1);
      api.objects.load(services(2));
      await seen(2);
      const zone = { zone: 'cluster.local' };
      await until('a live subscription', async () => {
        return (await dnsmasq.metrics()).sum('dnsmasq_subscription_live', zone) === 1;
      });
    },
    LIMIT_MS,
  );
});
