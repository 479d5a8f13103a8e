import { afterEach, describe, expect, it } from '@jest/globals';
import { ask, askTcp, exchangeUdp } from '@kube-dns/resolver/testing';
import {
  againIfStalled,
  ownedBy,
  type ReplyRecord,
  type Response,
  type Script,
  until,
} from '@kube-dns/testkit';
import { EDNS_OPTION, FLAG, readUint16 } from '@kube-dns/wire';
import { CLUSTER, Testbed, WORLD } from './support/testbed.js';

const opened = ownedBy(afterEach);
const EDNS_BYTES = 1232;

const address = (ttl: number): Response => ({
  isAuthoritative: true,
  answers: [{ type: 'A', ttl, data: '10.0.0.1' }],
});
const soa = (ttl: number, minimum: number): ReplyRecord => ({
  name: 'cluster.local',
  type: 'SOA',
  ttl,
  data: {
    mname: 'ns.cluster.local',
    rname: 'root.cluster.local',
    serial: 1,
    refresh: 2,
    retry: 3,
    expire: 4,
    minimum,
  },
});
const denial = (ttl: number, minimum = ttl): Response => ({
  rcode: 'NXDOMAIN',
  authorities: [soa(ttl, minimum)],
});

const start = async (script: Script, corefile = CLUSTER + WORLD) => {
  const testbed = opened(await Testbed.create(script));
  await testbed.serve(corefile);
  return testbed;
};
const ttlsOf = ({ answers, authorities }: Awaited<ReturnType<typeof ask>>) =>
  [...answers, ...authorities].map((record) => ('ttl' in record ? record.ttl : undefined));
const reasonOf = ({ additionals }: Awaited<ReturnType<typeof ask>>) => {
  const options = additionals.flatMap((record) => (record.type === 'OPT' ? record.options : []));
  const error = options.find(({ code }) => (code as number) === EDNS_OPTION.EXTENDED_ERROR);
  return error === undefined || !('data' in error) ? -1 : readUint16(error.data!, 0);
};

describe('an answer of node-cache', () => {
  it.each([
    ['3,600 s', address(3_600), [30]],
    ['20 s', address(20), [20]],
    ['2 s, which is raised to the floor', address(2), [5]],
    [
      'several, the least of all sections',
      { ...address(300), authorities: [{ ...soa(7, 900) }] },
      [7, 7],
    ],
  ])('has the TTL of the message within the bounds: %s', async (_what, response, expected) => {
    // Within one second.
    await againIfStalled(async () => {
      const testbed = await start(() => response);
      const miss = await ask(testbed.port, 'a.cluster.local');
      expect(ttlsOf(miss)).toEqual(expected);
      const hit = await ask(testbed.port, 'a.cluster.local');
      expect(ttlsOf(hit)[0]).toBe(expected[0]);
      expect(testbed.asked).toHaveLength(1);
    });
  });

  it.each([
    ['in the cluster', 'a.cluster.local', denial(30), 5],
    [
      'elsewhere',
      'a.example',
      { ...denial(30), authorities: [{ ...soa(300, 30), name: 'example' }] },
      30,
    ],
    [
      'with a short minimum',
      'b.example',
      { ...denial(30), authorities: [{ ...soa(300, 9), name: 'example' }] },
      9,
    ],
  ])('is denied %s with a TTL of its own', async (_where, name, response, ttl) => {
    await againIfStalled(async () => {
      const testbed = await start(() => response);
      for (let i = 0; i < 2; i++) {
        const answer = await ask(testbed.port, name);
        expect(answer.rcode).toBe('NXDOMAIN');
        expect(ttlsOf(answer)).toEqual([ttl]);
      }
      expect(testbed.asked).toHaveLength(1);
    });
  });

  it('has AA as the server said, also from the cache', async () => {
    const { port } = await start(() => address(30));
    for (let i = 0; i < 2; i++) {
      const { bytes } = await ask(port, 'a.cluster.local');
      expect(readUint16(bytes, 2) & FLAG.AA).toBe(FLAG.AA);
    }
  });

  it('is asked for over TCP where the Corefile says so, over UDP elsewhere', async () => {
    const testbed = await start(() => address(30));
    await ask(testbed.port, 'a.cluster.local');
    await ask(testbed.port, 'a.example');
    await askTcp(testbed.port, { name: 'b.example' });
    expect(testbed.asked.map(({ protocol }) => protocol)).toEqual(['tcp', 'udp', 'tcp']);
  });

  it('is of types that dnsmasq does not cache, too, and not of questions with DO', async () => {
    const testbed = await start(() => ({
      answers: [{ type: 'TXT', ttl: 30, data: 'x' }],
    }));
    for (let i = 0; i < 2; i++) await ask(testbed.port, { name: 'a.example', type: 'TXT' });
    expect(testbed.asked).toHaveLength(1);
    const dnssec = { name: 'a.example', type: 'TXT', ednsBytes: EDNS_BYTES, isDnssecOk: true };
    for (let i = 0; i < 2; i++) await ask(testbed.port, dnssec);
    expect(testbed.asked).toHaveLength(3);
  });

  it('is REFUSED with a reason for a name of no block, and for class CHAOS', async () => {
    const testbed = await start(() => address(30), CLUSTER);
    const edns = { ednsBytes: EDNS_BYTES };
    const other = await ask(testbed.port, { name: 'a.example', ...edns });
    expect([other.rcode, reasonOf(other)]).toEqual(['REFUSED', 20]);
    const chaos = await ask(testbed.port, {
      name: 'a.cluster.local',
      type: 'TXT',
      class: 'CH',
      ...edns,
    });
    expect([chaos.rcode, reasonOf(chaos)]).toEqual(['REFUSED', 21]);
    expect(testbed.asked).toHaveLength(0);
  });

  it('is SERVFAIL with a reason while the address of the cluster’s DNS is not known', async () => {
    const testbed = opened(await Testbed.create(() => address(30)));
    testbed.isClusterKnown = false;
    await testbed.serve(CLUSTER.replace('UPSTREAM', '<nil>'));
    const answer = await ask(testbed.port, { name: 'a.cluster.local', ednsBytes: EDNS_BYTES });
    expect([answer.rcode, reasonOf(answer)]).toEqual(['SERVFAIL', 14]);
    expect(testbed.server.isReady).toBe(false);
  });

  it('of a CNAME says nothing of questions for its target', async () => {
    const testbed = await start(({ question }) => ({
      answers:
        question.name === 'alias.example'
          ? [
              { type: 'CNAME', ttl: 30, data: 'host.example' },
              { type: 'A', name: 'host.example', ttl: 30, data: '10.6.6.6' },
            ]
          : [{ type: 'A', ttl: 30, data: '10.0.0.1' }],
    }));
    expect((await ask(testbed.port, 'alias.example')).texts).toContain('A 10.6.6.6');
    expect((await ask(testbed.port, 'host.example')).texts).toEqual(['A 10.0.0.1']);
  });

  it('comes before clients give up where a server is silent for one name only', async () => {
    const testbed = await start(({ question }) =>
      question.name.startsWith('lost') ? null : address(30),
    );
    await againIfStalled(async () => {
      const lost = ask(testbed.port, { name: `lost${Math.random()}`, ednsBytes: EDNS_BYTES });
      const asking = setInterval(() => void ask(testbed.port, `${Math.random()}.example`), 100);
      const answer = await lost.finally(() => clearInterval(asking));
      expect([answer.rcode, reasonOf(answer)]).toEqual(['SERVFAIL', 22]);
    });
  });

  it('is not forwarded for names of except', async () => {
    const block = WORLD.replace('forward . UPSTREAM', 'forward . UPSTREAM {\n except internal\n }');
    const { port } = await start(() => address(30), block);
    expect((await ask(port, 'a.example')).rcode).toBe('NOERROR');
    expect((await ask(port, 'a.internal')).rcode).toBe('SERVFAIL');
  });

  it('is from hosts before all else, and the other names go on', async () => {
    const hosts = 'hosts {\n 192.0.2.7 www.example\n 2001:db8::7 www.example\n fallthrough\n }\n';
    const testbed = await start(() => address(30), WORLD.replace('errors', hosts));
    expect((await ask(testbed.port, 'www.example')).texts).toEqual(['A 192.0.2.7']);
    expect((await ask(testbed.port, { name: 'www.example', type: 'AAAA' })).texts).toEqual([
      'AAAA 2001:db8::7',
    ]);
    expect((await ask(testbed.port, { name: 'www.example', type: 'MX' })).rcode).toBe('NOERROR');
    const reverse = { name: '7.2.0.192.in-addr.arpa', type: 'PTR' };
    expect((await ask(testbed.port, reverse)).texts).toEqual(['PTR www.example']);
    expect(testbed.asked).toHaveLength(0);
    expect((await ask(testbed.port, 'a.example')).texts).toEqual(['A 10.0.0.1']);
  });
});

describe('while the DNS of the cluster is silent', () => {
  it('known names are answered with what has expired, others soon with SERVFAIL, and then at once', async () => {
    let isSilent = false;
    const block = CLUSTER.replace('success 9984 30', 'success 9984 1 1').replace('force_tcp', '');
    const { port } = await start(() => (isSilent ? null : address(1)), block);
    await ask(port, 'a.cluster.local');
    isSilent = true;
    const edns = { name: 'a.cluster.local', ednsBytes: EDNS_BYTES };
    await until(async () => reasonOf(await ask(port, edns)) === 3);
    const stale = await ask(port, edns);
    expect([stale.texts, ttlsOf(stale)]).toEqual([['A 10.0.0.1'], [5]]);
    const unknown = { name: 'b.cluster.local', ednsBytes: EDNS_BYTES };
    const first = await ask(port, unknown);
    expect(first.rcode).toBe('SERVFAIL');
    expect([22, 23]).toContain(reasonOf(first));
  });
});

it('the rules go in once it answers, and out before it ends', async () => {
  const testbed = await start(() => address(30));
  await until(() => testbed.network.includes('add rules'));
  expect(testbed.server.isReady).toBe(true);
  await testbed.close();
  expect(testbed.network).toEqual(['add rules', 'remove rules', 'remove interface']);
  expect(testbed.server.isReady).toBe(false);
});

it('the rules wait for the first answer of the DNS of the cluster', async () => {
  let isSilent = true;
  const testbed = await start(() => (isSilent ? null : address(30)));
  await until(() => testbed.lines.includes('rules wait for the DNS of the cluster to answer'));
  expect(testbed.server.isReady).toBe(true);
  expect(testbed.network).toEqual([]);
  isSilent = false;
  await until(() => testbed.network.includes('add rules'));
});

it('does not use a server that forwards to it, where the Corefile looks for loops', async () => {
  const testbed = await start(
    async ({ query, protocol, send }) => {
      // What it is asked over UDP it asks node-cache, as a resolver does whose only server is the node's.
      if (protocol === 'tcp') return address(30);
      send(await exchangeUdp(testbed.port, query, { timeoutMs: 300 }).catch(() => query));
      return null;
    },
    WORLD.replace('errors', 'loop'),
  );
  await until(() => testbed.lines.some((line) => line.includes('query loop detected')));
  const answer = await ask(testbed.port, { name: 'a.example', ednsBytes: EDNS_BYTES });
  expect([answer.rcode, reasonOf(answer)]).toEqual(['SERVFAIL', 14]);
});
