import { afterEach, expect, it } from '@jest/globals';
import { ask, Dnsmasq, ownedBy, until, untilEqual } from '@kube-dns/testkit';
import { ZoneTeller } from './zone-teller.js';

const own = ownedBy(afterEach);
const WEB = 'web.ns.svc.zone.test';
const LIVE = /tells the changes of zone.test/;
const LOST = /tells no changes any more/;

async function startDnsmasq(...args: string[]): Promise<Dnsmasq> {
  const dnsmasq = own(await Dnsmasq.start({ args }));
  await dnsmasq.ready();
  return dnsmasq;
}

/** A cache in front of a cache in front of a server that tells changes. */
async function startHops(teller: ZoneTeller, ...args: string[]): Promise<[Dnsmasq, Dnsmasq]> {
  const first = await startDnsmasq(teller.option, ...args);
  await first.server.waitForLine(LIVE);
  const second = await startDnsmasq(`--server=/zone.test/127.0.0.1#${first.ports.dns}`);
  return [first, second];
}

async function answerOf({ ports }: Dnsmasq, name = WEB): Promise<string> {
  const { rcode, texts } = await ask(ports.dns, name);
  return texts.join() || rcode;
}

it('a change is visible behind two caches at once, and until then both keep their answers', async () => {
  // No test waits for the end of this TTL.
  const teller = own(await ZoneTeller.start({ ttl: 3_600 }));
  teller.set(WEB, '10.0.0.1');
  const [first, second] = await startHops(teller);
  await second.server.waitForLine(LIVE);
  expect([await answerOf(second), await answerOf(second)]).toEqual(['A 10.0.0.1', 'A 10.0.0.1']);
  expect(await answerOf(second, 'new.ns.svc.zone.test')).toBe('NXDOMAIN');
  expect(await answerOf(second, 'new.ns.svc.zone.test')).toBe('NXDOMAIN');
  expect(teller.asked).toEqual([WEB, 'new.ns.svc.zone.test']);
  const kept = async (of: Dnsmasq) => (await of.metrics()).sum('dnsmasq_subscription_kept_answers');
  expect([await kept(first), await kept(second)]).toEqual([2, 2]);
  teller.set(WEB, '10.0.0.2');
  await untilEqual('A 10.0.0.2', () => answerOf(second));
  teller.set('new.ns.svc.zone.test', '10.0.0.3');
  await untilEqual('A 10.0.0.3', () => answerOf(second, 'new.ns.svc.zone.test'));
  // What the first cache has already is as good for another one as what it asks for.
  const third = await startDnsmasq(`--server=/zone.test/127.0.0.1#${first.ports.dns}`);
  await third.server.waitForLine(LIVE);
  const askedBefore = teller.asked.length;
  expect(await answerOf(third)).toBe('A 10.0.0.2');
  expect([teller.asked.length, await kept(third)]).toEqual([askedBefore, 1]);
  expect((await first.metrics()).sum('dnsmasq_subscribers')).toBe(2);
  teller.set(WEB, undefined);
  await untilEqual('NXDOMAIN', () => answerOf(third));
  first.server.signal('SIGHUP');
  const flushes = async () =>
    (await first.metrics()).sum('dnsmasq_subscribers_flushes_total', { reason: 'configuration' });
  await until(
    'subscribers know that local answers may be others',
    async () => (await flushes()) > 0,
  );
  await until(async () => (await kept(third)) === 0);
});

it('TTLs rule behind both caches when the server is gone, until it is back', async () => {
  const teller = await ZoneTeller.start({ ttl: 1 });
  teller.set(WEB, '10.0.0.1');
  const [first, second] = await startHops(teller);
  await second.server.waitForLine(LIVE);
  expect(await answerOf(second)).toBe('A 10.0.0.1');
  const { port } = teller;
  await teller.close();
  await Promise.all([first, second].map(({ server }) => server.waitForLine(LOST)));
  await untilEqual('SERVFAIL', () => answerOf(second));
  const other = own(await ZoneTeller.start({ port }));
  other.set(WEB, '10.0.0.9');
  await untilEqual('A 10.0.0.9', () => answerOf(second));
  await until(() => second.server.output.split('tells the changes of').length === 3);
  expect(await answerOf(second)).toBe('A 10.0.0.9');
  other.set(WEB, '10.0.0.8');
  await untilEqual('A 10.0.0.8', () => answerOf(second));
});

it('TTLs rule behind a cache that does not tell what it is told', async () => {
  const teller = own(await ZoneTeller.start());
  const [, second] = await startHops(teller, '--no-tell-changes');
  await second.server.waitForLine(/does not tell changes of zone.test/);
});
