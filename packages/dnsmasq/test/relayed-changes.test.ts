import { networkInterfaces } from 'node:os';
import { afterEach, expect, it } from '@jest/globals';
import { ask, Dnsmasq, ownedBy, unless, until, untilEqual } from '@kube-dns/testkit';
import { ZonePublisher } from './zone-publisher.js';

const own = ownedBy(afterEach);
const WEB = 'web.ns.svc.zone.test';
const LIVE = /announces the changes of zone.test/;

async function startDnsmasq(...args: string[]): Promise<Dnsmasq> {
  const dnsmasq = own(await Dnsmasq.start({ args }));
  await dnsmasq.ready();
  return dnsmasq;
}

/** A cache in front of a cache in front of a server that announces changes. */
async function startHops(publisher: ZonePublisher, ...args: string[]): Promise<[Dnsmasq, Dnsmasq]> {
  const first = await startDnsmasq(publisher.option, ...args);
  await first.server.waitForLine(LIVE);
  const second = await startDnsmasq(`--server=/zone.test/127.0.0.1#${first.ports.dns}`);
  return [first, second];
}

/** An address of this machine that is not on loopback. */
const outside = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

async function answerOf({ ports }: Dnsmasq, name = WEB): Promise<string> {
  const { rcode, texts } = await ask(ports.dns, name);
  return texts.join() || rcode;
}

it('a change is visible behind two caches at once, and until then both keep their answers', async () => {
  // No test waits for the end of this TTL.
  const publisher = own(await ZonePublisher.start({ ttl: 3_600 }));
  publisher.set(WEB, '10.0.0.1');
  const [first, second] = await startHops(publisher);
  await second.server.waitForLine(LIVE);
  expect([await answerOf(second), await answerOf(second)]).toEqual(['A 10.0.0.1', 'A 10.0.0.1']);
  expect(await answerOf(second, 'new.ns.svc.zone.test')).toBe('NXDOMAIN');
  expect(await answerOf(second, 'new.ns.svc.zone.test')).toBe('NXDOMAIN');
  expect(publisher.asked).toEqual([WEB, 'new.ns.svc.zone.test']);
  const kept = async (of: Dnsmasq) => (await of.metrics()).sum('dnsmasq_subscription_kept_answers');
  expect([await kept(first), await kept(second)]).toEqual([2, 2]);
  publisher.set(WEB, '10.0.0.2');
  await untilEqual('A 10.0.0.2', () => answerOf(second));
  publisher.set('new.ns.svc.zone.test', '10.0.0.3');
  await untilEqual('A 10.0.0.3', () => answerOf(second, 'new.ns.svc.zone.test'));
  // What the first cache has already is as good for another one as what it asks for.
  const third = await startDnsmasq(`--server=/zone.test/127.0.0.1#${first.ports.dns}`);
  await third.server.waitForLine(LIVE);
  const askedBefore = publisher.asked.length;
  expect(await answerOf(third)).toBe('A 10.0.0.2');
  expect([publisher.asked.length, await kept(third)]).toEqual([askedBefore, 1]);
  expect((await first.metrics()).sum('dnsmasq_subscribers')).toBe(2);
  publisher.set(WEB, undefined);
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

it('all cached answers of a zone are kept while its server announces changes, and none without', async () => {
  const publisher = own(await ZonePublisher.start({ ttl: 3_600 }));
  publisher.set(WEB, '10.0.0.1');
  const other = own(await ZonePublisher.start({ ttl: 3_600 }));
  const elsewhere = `--server=/elsewhere.test/127.0.0.1#${other.port}`;
  const dnsmasq = await startDnsmasq(publisher.option, elsewhere);
  await dnsmasq.server.waitForLine(LIVE);
  for (const name of [WEB, 'new.ns.svc.zone.test', 'new.elsewhere.test'])
    await answerOf(dnsmasq, name);
  const server = `127.0.0.1#${publisher.port}`;
  const counts = async () => {
    const metrics = await dnsmasq.metrics();
    return ['kept_answers', 'zone_answers', 'coverage_ratio'].map((name) =>
      metrics.sum(`dnsmasq_subscription_${name}`, { server }),
    );
  };
  expect(await counts()).toEqual([2, 2, 1]);
  await publisher.close();
  await dnsmasq.server.waitForLine(/announces no changes any more/);
  expect(await counts()).toEqual([0, 2, 0]);
  const page = await fetch(`http://127.0.0.1:${dnsmasq.ports.metrics}/subscriptions`);
  const { subscriptions } = (await page.json()) as { subscriptions: object[] };
  expect(subscriptions).toContainEqual(
    expect.objectContaining({ server, state: 'down', zoneAnswers: 2, coverage: 0 }),
  );
});

it('a cache says that its server has enough subscribers, in its log and as a problem', async () => {
  const publisher = own(await ZonePublisher.start({ limit: 1 }));
  const first = await startDnsmasq(publisher.option);
  await first.server.waitForLine(LIVE);
  const second = await startDnsmasq(publisher.option);
  await second.server.waitForLine(
    /takes no subscription to zone.test \(SERVFAIL: it has as many subscribers as it may, or/,
  );
  const page = await fetch(`http://127.0.0.1:${second.ports.metrics}/status`, {
    headers: { accept: 'application/json' },
  });
  const { problems } = (await page.json()) as { problems: string[] };
  expect(problems).toEqual([
    expect.stringMatching(/announces no changes of zone.test now \(SERVFAIL: it has as many/),
  ]);
});

it('answers expire by their TTLs behind a cache that does not pass changes on', async () => {
  const publisher = own(await ZonePublisher.start());
  const [, second] = await startHops(publisher, '--no-announce-changes');
  await second.server.waitForLine(/does not announce changes of zone.test/);
});

unless(outside === undefined ? 'no IPv4 address but loopback' : undefined, it)(
  'attack 24: --subscribers has other clients REFUSED, and those of this machine subscribed',
  async () => {
    const publisher = own(await ZonePublisher.start({ ttl: 3_600 }));
    const args = ['--subscribers=203.0.113.77', `--listen-address=${outside!}`];
    const [first, second] = await startHops(publisher, ...args);
    await second.server.waitForLine(LIVE);
    const other = await startDnsmasq(`--server=/zone.test/${outside!}#${first.ports.dns}`);
    await other.server.waitForLine(
      /does not announce changes of zone.test .*REFUSED: this client may not subscribe/,
    );
    await first.server.waitForLine(`${outside!} may not subscribe to changes`);
    expect((await first.metrics()).sum('dnsmasq_subscribers')).toBe(1);
  },
);
