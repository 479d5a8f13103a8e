import { createSocket } from 'node:dgram';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  ask,
  ownedBy,
  type ReplyRecord,
  type Response,
  type Script,
  until,
} from '@kube-dns/testkit';
import { EDNS_OPTION, FLAG, readUint16 } from '@kube-dns/wire';
import { holdTime } from './support/held-time.js';
import { CLUSTER, Testbed, WORLD } from './support/testbed.js';

const opened = ownedBy(afterEach);
holdTime();
const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

/** The longest that a question takes, and the time between two probes of its own. */
const TIMEOUT_MS = 4_500;
const PROBE_MS = 500;
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
    const testbed = await start(() => response);
    const miss = await ask(testbed.port, 'a.cluster.local');
    expect(ttlsOf(miss)).toEqual(expected);
    const hit = await ask(testbed.port, 'a.cluster.local');
    expect(ttlsOf(hit)[0]).toBe(expected[0]);
    await pass(2_000);
    const later = await ask(testbed.port, 'a.cluster.local');
    expect(ttlsOf(later)[0]).toBe(expected[0]! - 2);
    expect(testbed.asked).toHaveLength(1);
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
    const testbed = await start(() => response);
    for (let i = 0; i < 2; i++) {
      const answer = await ask(testbed.port, name);
      expect(answer.rcode).toBe('NXDOMAIN');
      expect(ttlsOf(answer)).toEqual([ttl]);
    }
    expect(testbed.asked).toHaveLength(1);
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
    await ask(testbed.port, { name: 'b.example' }, { isOverTcp: true });
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

  it('is NXDOMAIN for every type of a name, once a server said so for one', async () => {
    const testbed = await start(({ type }) => (type === 'AAAA' ? denial(30) : address(30)));
    const rcodes = [];
    for (const type of ['AAAA', 'A']) {
      rcodes.push((await ask(testbed.port, { name: 'half.cluster.local', type })).rcode);
    }
    expect(rcodes).toEqual(['NXDOMAIN', 'NXDOMAIN']);
    expect(testbed.asked).toHaveLength(1);
  });

  it('is compressed before it is cut, where a server over TCP did not', async () => {
    const answers = Array.from(
      { length: 25 },
      (_, i) => ({ type: 'A', ttl: 60, data: `10.0.0.${i}` }) as const,
    );
    const { port } = await start(() => ({ answers }));
    const answer = await ask(port, 'headless.default.svc.cluster.local');
    expect([answer.isTruncated, answer.answers.length]).toEqual([false, 25]);
    expect(answer.bytes.length).toBeLessThan(512);
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

  const EXCEPT = WORLD.replace(
    'forward . UPSTREAM',
    'forward . UPSTREAM {\n except cluster.local\n }',
  );
  it.each([
    ['the address of the cluster’s DNS is not known', CLUSTER.replace('UPSTREAM', '<nil>'), 14],
    ['forward has the name in its except', EXCEPT, 0],
    ['there is no forward', WORLD.replace('forward . UPSTREAM', ''), 0],
    ['hosts has no fallthrough', WORLD.replace('errors', 'hosts {\n 192.0.2.7 a.test\n}'), 0],
  ])(
    'is SERVFAIL with a reason where no server is to be asked: %s',
    async (_why, block, reason) => {
      const testbed = opened(await Testbed.create(() => address(30)));
      testbed.isClusterKnown = false;
      await testbed.serve(block);
      const question = { name: 'a.internal.cluster.local', ednsBytes: EDNS_BYTES };
      const answer = await ask(testbed.port, question);
      expect([answer.rcode, reasonOf(answer)]).toEqual(['SERVFAIL', reason]);
      expect(testbed.asked).toHaveLength(0);
    },
  );

  it('is forwarded for names that are not in except', async () => {
    const { port } = await start(() => address(30), EXCEPT);
    expect((await ask(port, 'a.example')).rcode).toBe('NOERROR');
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
    const lost = ask(testbed.port, { name: 'lost.example', ednsBytes: EDNS_BYTES });
    await until(() => testbed.asked.length === 1);
    for (let ms = 0; ms < TIMEOUT_MS; ms += PROBE_MS) {
      expect((await ask(testbed.port, `after${ms}.example`)).rcode).toBe('NOERROR');
      await pass(PROBE_MS);
    }
    const answer = await lost;
    expect([answer.rcode, reasonOf(answer)]).toEqual(['SERVFAIL', 22]);
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

it('while the DNS of the cluster is silent known names are answered with what has expired', async () => {
  let isSilent = false;
  const block = CLUSTER.replace('success 9984 30', 'success 9984 1 1').replace('force_tcp', '');
  const testbed = await start(() => (isSilent ? null : address(1)), block);
  const question = { name: 'a.cluster.local', ednsBytes: EDNS_BYTES };
  await ask(testbed.port, question);
  isSilent = true;
  await pass(1_001);
  const asking = ask(testbed.port, question);
  await until(() => testbed.asked.length === 2);
  await pass(80);
  const stale = await asking;
  expect([stale.texts, ttlsOf(stale), reasonOf(stale)]).toEqual([['A 10.0.0.1'], [5], 3]);
});

it('while the DNS of the cluster is silent no expired NXDOMAIN is given', async () => {
  let isSilent = false;
  const block = CLUSTER.replace('force_tcp', '');
  const testbed = await start(() => (isSilent ? null : denial(5)), block);
  const question = { name: 'a.cluster.local', ednsBytes: EDNS_BYTES };
  expect((await ask(testbed.port, question)).rcode).toBe('NXDOMAIN');
  isSilent = true;
  await pass(5_001);
  const asking = ask(testbed.port, question);
  await until(() => testbed.asked.length === 2);
  await pass(TIMEOUT_MS);
  const answer = await asking;
  expect([answer.rcode, reasonOf(answer)]).toEqual(['SERVFAIL', 22]);
});

/** Waits for the answer to the next probe of its own. */
async function untilProbed({ server: { probe } }: Testbed): Promise<void> {
  const { count } = probe.seconds;
  await pass(PROBE_MS);
  await until(() => probe.seconds.count > count);
}

it('the rules go in once it answers, and out before it ends', async () => {
  const testbed = await start(() => address(30));
  await until(async () => {
    await pass(PROBE_MS);
    return testbed.network.includes('add rules');
  });
  expect(testbed.server.isReady).toBe(true);
  await testbed.close();
  expect(testbed.network).toEqual(['add rules', 'remove rules', 'remove interface']);
  expect(testbed.server.isReady).toBe(false);
});

it('is not ready while the address of the cluster’s DNS is not known', async () => {
  const testbed = opened(await Testbed.create(() => address(30)));
  testbed.isClusterKnown = false;
  await testbed.serve(CLUSTER.replace('UPSTREAM', '<nil>'));
  await untilProbed(testbed);
  expect(testbed.server.isReady).toBe(false);
  testbed.isClusterKnown = true;
  await testbed.serve(CLUSTER);
  expect(testbed.server.isReady).toBe(true);
});

it('the rules wait for the first answer of the DNS of the cluster', async () => {
  let isSilent = true;
  const testbed = await start(() => (isSilent ? null : address(30)));
  await until(() => testbed.server.isReady);
  for (let i = 0; i < 3; i++) await untilProbed(testbed);
  expect(testbed.lines).toContain('rules wait for the DNS of the cluster to answer');
  expect(testbed.server.isReady).toBe(true);
  expect(testbed.network).toEqual([]);
  isSilent = false;
  await until(async () => {
    await pass(PROBE_MS);
    return testbed.network.includes('add rules');
  });
});

it('does not use a server that forwards to it, where the Corefile looks for loops', async () => {
  const socket = opened(createSocket('udp4'));
  const testbed = await start(
    ({ query, protocol }) => {
      // What it is asked over UDP it asks node-cache, as a resolver does whose only server is the node's.
      if (protocol === 'tcp') return address(30);
      socket.send(query, testbed.port, '127.0.0.1');
      return null;
    },
    WORLD.replace('errors', 'loop'),
  );
  await until(() => testbed.lines.some((line) => line.includes('query loop detected')));
  const answer = await ask(testbed.port, { name: 'a.example', ednsBytes: EDNS_BYTES });
  expect([answer.rcode, reasonOf(answer)]).toEqual(['SERVFAIL', 14]);
});
