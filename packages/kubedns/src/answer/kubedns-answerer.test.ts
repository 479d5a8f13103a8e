import { beforeEach, describe, expect, it } from '@jest/globals';
import { CLASS, EXTENDED_ERROR, readUint16, TYPE } from '@kube-dns/wire';
import { reverseOf } from '../../test/model/expected-records.js';
import { Answers } from '../../test/support/answers.js';
import { FakeClient, readAnswer, readQuery } from '../../test/support/messages.js';
import {
  HEADLESS,
  namespaceObject,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';
import { hashLabel } from '../../test/support/hash-label.js';

const SOA = 'cluster.local SOA ns.dns.cluster.local hostmaster.cluster.local 5';
const ZONE = 'svc.cluster.local';
const WEB = `web.default.${ZONE}`;
const DB = `db.default.${ZONE}`;

let answers: Answers;
beforeEach(() => {
  answers = new Answers();
  const { services, endpointSlices, namespaces } = answers.cluster;
  for (const name of ['default', 'empty']) namespaces.put(namespaceObject(name));
  answers.cluster.zone.knowsNamespaces = true;
  const ports = [{ name: 'http', port: 80, protocol: 'TCP' }];
  services.put(serviceObject({ ports }));
  services.put(serviceObject({ name: 'six', clusterIPs: ['fd00::6'] }));
  services.put(serviceObject({ name: 'db', ...HEADLESS }));
  services.put(serviceObject({ name: 'idle', ...HEADLESS }));
  services.put(serviceObject({ name: 'lit', externalName: '192.0.2.7' }));
  endpointSlices.put(
    sliceObject({
      name: 'db-1',
      service: 'db',
      endpoints: [
        { addresses: ['10.1.0.1'], hostname: 'db-0' },
        { addresses: ['10.1.0.2'], hostname: 'db-1' },
      ],
      ports,
    }),
  );
});

describe('a positive answer', () => {
  it('is authoritative, offers recursion, and echoes the question as it was spelt', async () => {
    expect(await answers.ask('Web.DEFAULT.svc.Cluster.local', 'A')).toEqual({
      rcode: 'NOERROR',
      flags: 'aa ra rd',
      question: 'Web.DEFAULT.svc.Cluster.local A',
      answers: ['Web.DEFAULT.svc.Cluster.local A 10.0.0.1'],
      authorities: [],
      additionals: [],
      ttls: [30],
      hasOpt: false,
      extendedError: -1,
    });
  });

  it('has OPT for a client that sent one, and no other', async () => {
    expect((await answers.ask(WEB, 'A', { hasEdns: true })).hasOpt).toBe(true);
    expect((await answers.ask(`no.${WEB}`, 'A', { hasEdns: true })).hasOpt).toBe(true);
  });

  it.each([
    [WEB, 'A', [`${WEB} A 10.0.0.1`]],
    [`six.default.${ZONE}`, 'AAAA', [`six.default.${ZONE} AAAA fd00::6`]],
    [`db-0.${DB}`, 'A', [`db-0.${DB} A 10.1.0.1`]],
    [`lit.default.${ZONE}`, 'A', [`lit.default.${ZONE} A 192.0.2.7`]],
    ['1.0.0.10.in-addr.arpa', 'PTR', [`1.0.0.10.in-addr.arpa PTR ${WEB}`]],
    ['2.0.1.10.in-addr.arpa', 'PTR', [`2.0.1.10.in-addr.arpa PTR db-1.${DB}`]],
    ['dns-version.cluster.local', 'TXT', ['dns-version.cluster.local TXT 1.1.0']],
    ['cluster.local', 'SOA', [SOA]],
  ])('to %s %s has what is there', async (name, type, expected) => {
    const answer = await answers.ask(name, type);
    expect(answer).toMatchObject({ rcode: 'NOERROR', flags: 'aa ra rd', answers: expected });
    expect(answer.ttls).toEqual(expected.map(() => 30));
    expect(answer.authorities).toEqual([]);
  });

  it('to SRV has the addresses of the targets besides', async () => {
    const answer = await answers.ask(`_http._tcp.${DB}`, 'SRV');
    expect([...answer.answers].sort()).toEqual([
      `_http._tcp.${DB} SRV 10 50 80 db-0.${DB}`,
      `_http._tcp.${DB} SRV 10 50 80 db-1.${DB}`,
    ]);
    expect([...answer.additionals].sort()).toEqual([
      `db-0.${DB} A 10.1.0.1`,
      `db-1.${DB} A 10.1.0.2`,
    ]);
  });

  it('has addresses in an order that changes', async () => {
    const orders = new Set<string>();
    for (let i = 0; i < 100; i++) orders.add((await answers.ask(DB, 'A')).answers.join());
    expect(orders.size).toBe(2);
  });

  it('to ANY has one RRset', async () => {
    expect((await answers.ask(WEB, 'ANY')).answers).toEqual([`${WEB} A 10.0.0.1`]);
    expect((await answers.ask('cluster.local', 'ANY')).answers).toEqual([SOA]);
    expect((await answers.ask('1-2-3-4.default.pod.cluster.local', 'ANY')).answers).toEqual([
      '1-2-3-4.default.pod.cluster.local A 1.2.3.4',
    ]);
  });

  it.each(['10.0.0.1', 'fd00::1'])(
    'to ANY has the names of an address that it knows: %s',
    async (ip) => {
      answers.cluster.services.put(
        serviceObject({ name: 'both', clusterIPs: ['10.0.0.7', 'fd00::1'] }),
      );
      const name = reverseOf(ip);
      const { answers: records } = await answers.ask(name, 'ANY');
      expect(records).toEqual((await answers.ask(name, 'PTR')).answers);
      expect(records).toHaveLength(1);
    },
  );

  it('to class ANY is that to class IN', async () => {
    expect((await answers.ask(WEB, 'A', { class: CLASS.ANY })).answers).toEqual([
      `${WEB} A 10.0.0.1`,
    ]);
  });

  it('has several names for one address, in an order that does not change', async () => {
    const { services, endpointSlices } = answers.cluster;
    services.put(serviceObject({ name: 'aaa', ...HEADLESS }));
    const generated = sliceObject({ name: 'a-1', service: 'aaa', endpoints: ['10.1.0.1'] });
    endpointSlices.put(generated);
    for (let i = 0; i < 20; i++) {
      expect((await answers.ask('1.0.1.10.in-addr.arpa', 'PTR')).answers).toEqual([
        `1.0.1.10.in-addr.arpa PTR db-0.${DB}`,
        `1.0.1.10.in-addr.arpa PTR ${hashLabel('10.1.0.1')}.aaa.default.${ZONE}`,
      ]);
    }
  });
});

describe('the names of one address', () => {
  const PTR = '1.0.1.10.in-addr.arpa';
  const shared = (...names: string[]) => {
    for (const name of names) {
      answers.cluster.services.put(serviceObject({ name, ...HEADLESS }));
      answers.cluster.endpointSlices.put(
        sliceObject({ name: `${name}-1`, service: name, endpoints: ['10.1.0.1'] }),
      );
    }
  };

  it('are one where only the first is wanted', async () => {
    answers = new Answers({ ptr: 'first' });
    shared('zzz', 'aaa');
    answers.cluster.services.put(serviceObject({ name: 'own', clusterIPs: ['10.1.0.1'] }));
    expect((await answers.ask(PTR, 'PTR')).answers).toEqual([`${PTR} PTR own.default.${ZONE}`]);
  });

  it('are no more than an answer has room for', async () => {
    shared(...Array.from({ length: 300 }, (_, i) => `s${i}`));
    const whole = await answers.ask(PTR, 'PTR', { isOverTcp: true });
    expect(new Set(whole.answers).size).toBe(256);
    expect((await answers.ask(PTR, 'PTR')).flags).toBe('aa ra rd tc');
  });

  it('are those of services first, then hostnames, whatever their letters', async () => {
    shared('aaa');
    answers.cluster.services.put(serviceObject({ name: 'zzzzz', clusterIPs: ['10.1.0.1'] }));
    const endpoints = [{ addresses: ['10.1.0.1'], hostname: 'h'.repeat(30) }];
    answers.cluster.endpointSlices.put(sliceObject({ name: 'aaa-2', service: 'aaa', endpoints }));
    const { answers: records } = await answers.ask(PTR, 'PTR', { isOverTcp: true });
    expect(records.map((text) => text.replace(`${PTR} PTR `, ''))).toEqual([
      `zzzzz.default.${ZONE}`,
      `db-0.${DB}`,
      `${'h'.repeat(30)}.aaa.default.${ZONE}`,
      `${hashLabel('10.1.0.1')}.aaa.default.${ZONE}`,
    ]);
  });

  it('are every hostname that one slice gives it, up to the same limit', async () => {
    const slice = (count: number) =>
      sliceObject({
        service: 'many',
        endpoints: Array.from({ length: count }, (_, i) => ({
          addresses: ['10.1.0.9'],
          hostname: `h${i}`,
        })),
      });
    const names = async () =>
      (await answers.ask('9.0.1.10.in-addr.arpa', 'PTR', { isOverTcp: true })).answers.length;
    answers.cluster.services.put(serviceObject({ name: 'many', ...HEADLESS }));
    answers.cluster.endpointSlices.put(slice(3));
    expect(await names()).toBe(3);
    answers.cluster.endpointSlices.put(slice(300));
    expect(await names()).toBe(256);
  });

  it('are found without delay where slices have it a hundred thousand times', async () => {
    answers.cluster.services.put(serviceObject({ name: 'same', ...HEADLESS }));
    const endpoints = Array.from({ length: 1_000 }, () => '10.1.0.8');
    for (let i = 0; i < 100; i++) {
      answers.cluster.endpointSlices.put(
        sliceObject({ name: `same-${i}`, service: 'same', endpoints }),
      );
    }
    const startedMs = performance.now();
    const { answers: records } = await answers.ask('8.0.1.10.in-addr.arpa', 'PTR');
    expect(records).toHaveLength(1);
    // To look through all of them once for each took minutes.
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  it('are not those of an IPv4 address with the same first bytes', async () => {
    const endpoints = [
      { addresses: ['fd00::1'], hostname: 'six' },
      { addresses: ['253.0.0.0'], hostname: 'four' },
    ];
    answers.cluster.services.put(serviceObject({ name: 'two', ...HEADLESS }));
    answers.cluster.endpointSlices.put(sliceObject({ service: 'two', endpoints }));
    const name = `1.${'0.'.repeat(27)}0.0.d.f.ip6.arpa`;
    expect((await answers.ask(name, 'PTR')).answers).toEqual([
      `${name} PTR six.two.default.${ZONE}`,
    ]);
  });

  it('are told apart from those of an IPv4 address in IPv6', async () => {
    const mapped = '1.0.0.0.0.0.a.0.f.f.f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa';
    expect(await answers.ask(mapped, 'PTR')).toMatchObject({ rcode: 'SERVFAIL', answers: [] });
  });
});

describe('a denial', () => {
  const NODATA = 'NOERROR';
  it.each([
    ['a service that is not there', `no.default.${ZONE}`, 'A', 'NXDOMAIN'],
    ['AAAA of an IPv4 service', WEB, 'AAAA', NODATA],
    ['A of an IPv6 service', `six.default.${ZONE}`, 'A', NODATA],
    ['TXT of a service', WEB, 'TXT', NODATA],
    ['MX of a service', WEB, 'MX', NODATA],
    ['CNAME of a service that is no alias', WEB, 'CNAME', NODATA],
    ['CNAME of an ExternalName that is an address', `lit.default.${ZONE}`, 'CNAME', NODATA],
    ['NS of a service', WEB, 'NS', NODATA],
    ['NS of a name that is not there', `no.default.${ZONE}`, 'NS', 'NXDOMAIN'],
    ['A of a port name', `_http._tcp.${WEB}`, 'A', NODATA],
    ['AAAA of a port name of a headless service', `_http._tcp.${DB}`, 'AAAA', NODATA],
    ['a headless service without endpoints', `idle.default.${ZONE}`, 'A', 'NXDOMAIN'],
    ['SRV of a headless service without endpoints', `idle.default.${ZONE}`, 'SRV', 'NXDOMAIN'],
    ['an unknown endpoint', `no.${DB}`, 'A', 'NXDOMAIN'],
    ['an unknown port', `_no._tcp.${WEB}`, 'SRV', 'NXDOMAIN'],
    ['a namespace with services', `default.${ZONE}`, 'A', NODATA],
    ['a namespace without services', `empty.${ZONE}`, 'A', NODATA],
    ['a missing namespace', `no.${ZONE}`, 'A', 'NXDOMAIN'],
    ['svc', ZONE, 'A', NODATA],
    ['pod', 'pod.cluster.local', 'A', NODATA],
    ['a protocol of a service', `_tcp.${WEB}`, 'SRV', NODATA],
    ['an unknown protocol', `_udp.${WEB}`, 'SRV', 'NXDOMAIN'],
    ['A of the apex', 'cluster.local', 'A', NODATA],
    ['SRV of the apex', 'cluster.local', 'SRV', NODATA],
    ['SOA below the apex', WEB, 'SOA', NODATA],
    ['an unknown third label', 'x.y.foo.cluster.local', 'A', 'NXDOMAIN'],
    ['a type nobody knows', WEB, 65_280, NODATA],
    ['ANY of a missing name', `no.default.${ZONE}`, 'ANY', 'NXDOMAIN'],
    ['ANY of a name without records', ZONE, 'ANY', NODATA],
  ])('of %s is %4$s', async (_what, name, type, rcode) => {
    expect(await answers.ask(name, type)).toMatchObject({
      rcode,
      flags: 'aa ra rd',
      answers: [],
      authorities: [SOA],
      ttls: [5],
      extendedError: -1,
    });
  });

  it('keeps to names that end where a label does', async () => {
    expect((await answers.ask('xcluster.local', 'A')).flags).toBe('ra rd');
  });
});

describe('a transfer', () => {
  it.each(['AXFR', 'IXFR'])('by %s is refused', async (type) => {
    for (const name of ['cluster.local', WEB, `no.${WEB}`]) {
      expect(await answers.ask(name, type)).toMatchObject({ rcode: 'REFUSED', answers: [] });
    }
  });
});

describe('a pod name', () => {
  const pod = (label: string, namespace = 'default') => `${label}.${namespace}.pod.cluster.local`;

  it.each([
    ['1-2-3-4', 'A', 'A 1.2.3.4'],
    ['fd00--1', 'AAAA', 'AAAA fd00::1'],
    ['FD00--A', 'AAAA', 'AAAA fd00::a'],
  ])('that spells an address has it: %s', async (label, type, record) => {
    const answer = await answers.ask(pod(label), type);
    expect(answer).toMatchObject({ rcode: 'NOERROR', flags: 'aa ra rd', ttls: [30] });
    expect(answer.answers).toEqual([`${pod(label)} ${record}`]);
  });

  it.each([
    ['1-2-3-4', 'AAAA'],
    ['1-2-3-4', 'SRV'],
    ['1-2-3-4', 'CNAME'],
    ['1-2-3-4', TYPE.SOA],
    ['fd00--1', 'A'],
  ])('that spells an address has nothing else: %s %s', async (label, type) => {
    const answer = await answers.ask(pod(label), type);
    expect(answer).toMatchObject({ rcode: 'NOERROR', answers: [], authorities: [SOA] });
  });

  it.each([
    pod('foo'),
    pod('256-2-3-4'),
    pod('01-2-3-4'),
    pod('1-2-3-4', 'no'),
    `x.${pod('1-2-3-4')}`,
    `1.2.3.4.default.pod.cluster.local`,
    'no.pod.cluster.local',
    '1-2-3-4.pod.cluster.local',
  ])('that makes no sense does not exist: %s', async (name) => {
    expect(await answers.ask(name, 'A')).toMatchObject({ rcode: 'NXDOMAIN', authorities: [SOA] });
  });

  it('does not exist where pods have no names', async () => {
    answers = new Answers({ pods: 'disabled' });
    answers.cluster.namespaces.put(namespaceObject('default'));
    for (const name of [pod('1-2-3-4'), 'default.pod.cluster.local', 'pod.cluster.local']) {
      expect(await answers.ask(name, 'A')).toMatchObject({ rcode: 'NXDOMAIN', authorities: [SOA] });
    }
  });

  it('needs no namespace where namespaces cannot be seen, and all of them may have pods', async () => {
    answers.cluster.zone.knowsNamespaces = false;
    expect((await answers.ask(pod('1-2-3-4', 'no'), 'A')).answers).toHaveLength(1);
    expect((await answers.ask('no.pod.cluster.local', 'A')).rcode).toBe('NOERROR');
    expect((await answers.ask(`no.${ZONE}`, 'A')).rcode).toBe('NXDOMAIN');
    expect((await answers.ask(pod('foo', 'no'), 'A')).rcode).toBe('NXDOMAIN');
  });
});

describe('before the cluster is known', () => {
  beforeEach(() => {
    answers.isSynced = false;
  });

  it.each([
    [WEB, 'A'],
    [`no.${WEB}`, 'A'],
    ['cluster.local', 'SOA'],
    ['1-2-3-4.default.pod.cluster.local', 'A'],
    ['1.0.0.10.in-addr.arpa', 'PTR'],
    ['9.9.9.9.in-addr.arpa', 'PTR'],
    [`8.b.d.0.1.0.0.2.ip6.arpa`, 'PTR'],
  ])('%s %s is SERVFAIL', async (name, type) => {
    expect(await answers.ask(name, type, { hasEdns: true })).toMatchObject({
      rcode: 'SERVFAIL',
      flags: 'ra rd',
      answers: [],
      authorities: [],
      hasOpt: true,
      extendedError: EXTENDED_ERROR.NOT_READY,
    });
    expect(await answers.ask(name, type)).toMatchObject({ rcode: 'SERVFAIL', hasOpt: false });
  });
});

describe('a question that is not the zone’s', () => {
  it.each([
    ['example.com', 'A'],
    ['9.9.9.9.in-addr.arpa', 'PTR'],
    ['1.0.0.10.in-addr.arpa', 'A'],
    ['xcluster.local', 'A'],
  ])('is SERVFAIL when there is nobody to ask: %s %s', async (name, type) => {
    expect(await answers.ask(name, type)).toMatchObject({ rcode: 'SERVFAIL', flags: 'ra rd' });
  });

  it('is refused for a class that is not served', async () => {
    const HESIOD = 4;
    expect(await answers.ask(WEB, 'A', { class: HESIOD })).toMatchObject({ rcode: 'REFUSED' });
  });
});

describe('a question of class CHAOS', () => {
  const CHAOS = { class: CLASS.CH };

  it.each([
    ['version.bind', 'kube-dns 1.2.3'],
    ['Version.Server', 'kube-dns 1.2.3'],
    ['hostname.bind', 'pod-a'],
    ['id.server', 'pod-a'],
  ])('for %s has the text', (name, text) => {
    const query = readQuery(name, 'TXT', CHAOS);
    const out = new Uint8Array(512);
    const length = answers.answerer.answer(query, out, new FakeClient());
    expect(readAnswer(out.subarray(0, length))).toMatchObject({
      rcode: 'NOERROR',
      flags: 'aa ra rd',
      answers: [`${name} TXT ${text}`],
      ttls: [0],
    });
    // The class of the record: it stands behind the question, a pointer and the type.
    expect(readUint16(out, query.questionEnd + 4)).toBe(CLASS.CH);
  });

  it('for another type of these names has nothing', async () => {
    const answer = await answers.ask('version.bind', 'A', CHAOS);
    expect(answer).toMatchObject({ rcode: 'NOERROR', answers: [] });
  });

  it.each(['authors.bind', 'x.version.bind', WEB, 'cluster.local'])(
    'for %s is refused',
    async (name) => {
      expect(await answers.ask(name, 'TXT', CHAOS)).toMatchObject({ rcode: 'REFUSED' });
    },
  );
});

describe('the name server of the zone', () => {
  const NS = 'ns.dns.cluster.local';

  it('is the service in front of it, with its addresses besides', async () => {
    const [name, namespace] = ['kube-dns', 'kube-system'];
    const clusterIPs = ['10.0.0.10', 'fd00::10'];
    answers.cluster.services.put(serviceObject({ name, namespace, clusterIPs }));
    const addresses = [`${NS} A 10.0.0.10`, `${NS} AAAA fd00::10`];
    expect(await answers.ask('cluster.local', 'NS')).toMatchObject({
      rcode: 'NOERROR',
      flags: 'aa ra rd',
      answers: [`cluster.local NS ${NS}`],
      additionals: addresses,
    });
    expect((await answers.ask(NS, 'A')).answers).toEqual(addresses.slice(0, 1));
    expect((await answers.ask(NS, 'AAAA')).answers).toEqual(addresses.slice(1));
    expect(await answers.ask(NS, 'TXT')).toMatchObject({ rcode: 'NOERROR', authorities: [SOA] });
  });

  it('is at the addresses of this server where there is no such service', async () => {
    answers = new Answers({ ownAddresses: [Uint8Array.of(10, 1, 0, 9)] });
    expect((await answers.ask('cluster.local', 'NS')).additionals).toEqual([`${NS} A 10.1.0.9`]);
    expect(await answers.ask(NS, 'AAAA')).toMatchObject({ rcode: 'NOERROR', answers: [] });
  });

  it.each([
    ['dns.cluster.local', 'NOERROR'],
    ['x.dns.cluster.local', 'NXDOMAIN'],
    ['x.ns.dns.cluster.local', 'NXDOMAIN'],
  ])('makes %s %s', async (name, rcode) => {
    expect(await answers.ask(name, 'A')).toMatchObject({ rcode, answers: [], authorities: [SOA] });
  });
});

describe('the counts of questions', () => {
  it('tell the zone, reverse names and the rest apart', async () => {
    await answers.ask(WEB, 'A');
    await answers.ask(WEB, 'A', { class: CLASS.CH });
    await answers.ask('1.0.0.10.in-addr.arpa', 'PTR');
    await answers.ask('9.9.9.9.in-addr.arpa', 'PTR');
    await answers.ask('1.ip6.arpa', 'A');
    await answers.ask('_services._dns-sd._udp.example.com', 'PTR');
    expect(answers.statistics.requests).toEqual({ auth: 2, reverse: 3, recursive: 1 });
  });

  it('have the size that the client takes, and say that it was too small', async () => {
    const endpoints = Array.from({ length: 100 }, (_, i) => `10.1.0.${i + 1}`);
    answers.cluster.services.put(serviceObject({ name: 'many', ...HEADLESS }));
    answers.cluster.endpointSlices.put(sliceObject({ service: 'many', endpoints }));
    const { flags } = await answers.ask('many.default.svc.cluster.local', 'A');
    expect(flags).toBe('aa ra rd tc');
    expect(answers.statistics.errors.auth.truncated).toBe(1);
    expect(answers.statistics.sizes.auth.sum).toBeLessThanOrEqual(512);
  });
});
