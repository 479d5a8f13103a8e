import { afterEach, expect, it } from '@jest/globals';
import {
  addressRecords,
  Dnsmasq,
  encodeQuery,
  ownedBy,
  rcodeOf,
  ScriptedNameServer,
  UdpClient,
  until,
} from '@kube-dns/testkit';

const opened = ownedBy(afterEach);
const SLOW = 1_500;
const NEW = 40;

const startUpstream = async () =>
  opened(
    await ScriptedNameServer.start(({ question }) =>
      question.name.startsWith('slow') ? null : { answers: addressRecords(300, '10.0.0.1') },
    ),
  );

it('answers 40 of 40 new names of a client while 1,500 slow questions of another one wait', async () => {
  const upstream = await startUpstream();
  const dnsmasq = opened(await Dnsmasq.start({ args: [`--server=${upstream.text}`] }));
  await dnsmasq.ready();
  const inFlight = async () => (await dnsmasq.metrics()).sum('dnsmasq_upstream_in_flight');
  const [many, few] = [
    opened(await UdpClient.connect(dnsmasq.ports.dns)),
    opened(await UdpClient.connect(dnsmasq.ports.dns, '127.0.0.1', '127.0.0.2')),
  ];
  for (let i = 0; i < SLOW + 100; i++) {
    many.send(encodeQuery({ id: i, name: `slow${i}.example`, type: 'A' }));
    if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await until('all places are taken', async () => (await inFlight()) === SLOW);
  for (let i = 0; i < NEW; i++) {
    const answer = await few.ask(encodeQuery({ id: i, name: `new${i}.example`, type: 'A' }));
    expect(rcodeOf(answer)).toBe('NOERROR');
  }
  // The last ones and, for the other client, the oldest.
  const refused = await many.inbox.take(100 + 1);
  expect(new Set(refused.map(rcodeOf))).toEqual(new Set(['REFUSED']));
}, 60_000);

it('answers known names, and refuses new ones, while ten clients have all places', async () => {
  const upstream = await startUpstream();
  const args = [`--server=${upstream.text}`, '--query-timeout=60000'];
  const dnsmasq = opened(await Dnsmasq.start({ args }));
  await dnsmasq.ready();
  const client = opened(await UdpClient.connect(dnsmasq.ports.dns));
  const rcode = async (name: string) => rcodeOf(await client.ask(encodeQuery({ name, type: 'A' })));
  expect(await rcode('known.example')).toBe('NOERROR');
  for (let at = 0; at < 10; at++) {
    const many = opened(
      await UdpClient.connect(dnsmasq.ports.dns, '127.0.0.1', `127.0.0.${at + 2}`),
    );
    for (let i = 0; i < SLOW / 10; i++) {
      many.send(encodeQuery({ id: i, name: `slow${at}-${i}.example`, type: 'A' }));
      if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
  await until(
    'all places are taken',
    async () => (await dnsmasq.metrics()).sum('dnsmasq_upstream_in_flight') === SLOW,
  );
  expect(await rcode('new.example')).toBe('REFUSED');
  expect(await rcode('known.example')).toBe('NOERROR');
}, 60_000);
