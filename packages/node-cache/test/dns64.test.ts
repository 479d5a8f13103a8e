import { afterEach, expect, it } from '@jest/globals';
import { addressRecords, ask, ownedBy, soaRecord } from '@kube-dns/testkit';
import { holdTime } from './support/held-time.js';
import { Testbed } from './support/testbed.js';

const opened = ownedBy(afterEach);
holdTime();

const ALLOWED = 'dns64 { \nallow_ipv4\n}';
const made = ['AAAA 64:ff9b::c000:201'];

/** A server with the zone `plugins` in a block, whose names have an A record and no AAAA. */
async function start(...plugins: string[]) {
  const testbed = opened(
    await Testbed.create(({ name, type }) => {
      if (type === 'A') return { answers: addressRecords(60, '192.0.2.1') };
      if (type !== 'PTR') return { authorities: [soaRecord(30)] };
      return { answers: [{ type: 'PTR', ttl: 60, data: `of.${name}` }] };
    }),
  );
  await testbed.serve(
    `.:PORT {\n${plugins.join('\n')}\ncache\nforward . UPSTREAM\n}\n` +
      'in-addr.arpa:PORT {\nforward . UPSTREAM\n}\n' +
      `cluster.local:PORT {\n${ALLOWED}\ncache\nforward . UPSTREAM\n}\n`,
  );
  return testbed;
}

it('dns64 makes AAAA records of A records, once', async () => {
  const testbed = await start(ALLOWED);
  for (let i = 0; i < 2; i++) {
    const { texts, ttls } = await ask(testbed.port, { name: 'a.example', type: 'AAAA' });
    expect([texts, ttls]).toEqual([made, [30]]);
  }
  expect(testbed.asked.map(({ type }) => type)).toEqual(['AAAA', 'A']);
});

it('dns64 makes none of names of the cluster', async () => {
  const { port } = await start(ALLOWED);
  expect((await ask(port, { name: 'a.cluster.local', type: 'AAAA' })).texts).toEqual([]);
});

it('dns64 makes none for clients over IPv4 unless they are allowed', async () => {
  const testbed = await start('dns64');
  expect((await ask(testbed.port, { name: 'a.example', type: 'AAAA' })).texts).toEqual([]);
  expect(testbed.asked.map(({ type }) => type)).toEqual(['AAAA']);
});

it('dns64 makes them of hosts, too, and of rewritten names', async () => {
  const { port } = await start(
    ALLOWED,
    'rewrite name exact old.example new.example',
    'hosts /dev/null { \n192.0.2.1 h.example\nfallthrough\n}',
  );
  for (const name of ['h.example', 'old.example']) {
    const { texts, answers } = await ask(port, { name, type: 'AAAA' });
    expect([texts, answers[0]?.name]).toEqual([made, name]);
  }
});

it('dns64 answers reverse names below its prefix by those of another block', async () => {
  const testbed = await start('dns64 { \nprefix 2001:db8::/32\nallow_ipv4\n}');
  const name = `${'0.'.repeat(16)}1.0.2.0.0.0.0.c.8.b.d.0.1.0.0.2.ip6.arpa`;
  const { texts } = await ask(testbed.port, { name, type: 'PTR' });
  expect(texts).toEqual(['CNAME 1.2.0.192.in-addr.arpa', 'PTR of.1.2.0.192.in-addr.arpa']);
  expect(testbed.asked.map((each) => each.name)).toEqual(['1.2.0.192.in-addr.arpa']);
});

it('dns64 has no NXDOMAIN for a name above the reverse names that it answers', async () => {
  const testbed = opened(
    await Testbed.create(() => ({ rcode: 'NXDOMAIN', authorities: [soaRecord(30, 'ip6.arpa')] })),
  );
  await testbed.serve(`.:PORT {\n${ALLOWED}\ncache\nforward . UPSTREAM\n}\n`);
  for (const [labels, rcode] of [
    ['b.9.f.f.4.6.0.0', 'NOERROR'],
    ['c.9.f.f.4.6.0.0', 'NXDOMAIN'],
  ] as const) {
    for (let i = 0; i < 2; i++) {
      const answer = await ask(testbed.port, { name: `${labels}.ip6.arpa`, type: 'PTR' });
      expect(answer).toMatchObject({ rcode, authorities: [{ name: 'ip6.arpa' }] });
    }
  }
  expect(testbed.asked).toHaveLength(2);
});
