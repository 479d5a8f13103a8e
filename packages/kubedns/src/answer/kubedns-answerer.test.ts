import { beforeEach, describe, expect, it } from '@jest/globals';
import { CLASS, EXTENDED_ERROR, TYPE } from '@kube-dns/wire';
import { reverseOf } from '../../test/model/expected-records.js';
import { Answers } from '../../test/support/answers.js';
import {
  HEADLESS,
  namespaceObject,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';
import { hashLabel } from '../../test/support/hash-label.js';
import { DB, filledAnswers, SOA, ZONE } from '../../test/support/filled-answers.js';
import { WEB } from '../../test/support/web-service.js';

let answers: Answers;
beforeEach(() => {
  answers = filledAnswers();
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
      reason: '',
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
  ])('to %s %s has the existing records', async (name, type, expected) => {
    const answer = await answers.ask(name, type);
    expect(answer).toMatchObject({ rcode: 'NOERROR', flags: 'aa ra rd', answers: expected });
    expect(answer.ttls).toEqual(expected.map(() => 30));
    expect(answer.authorities).toEqual([]);
  });

  it('to SRV also has the addresses of the targets', async () => {
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
    const six = `six.default.${ZONE}`;
    expect((await answers.ask(six, 'ANY')).answers).toEqual([`${six} AAAA fd00::6`]);
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

describe('a negative answer', () => {
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
    ['an unknown type', WEB, 65_280, NODATA],
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
      reason: '',
    });
  });

  it('contains only names that end at a label boundary', async () => {
    expect((await answers.ask('xcluster.local', 'A')).flags).toBe('ra rd');
  });
});

describe('a transfer', () => {
  it.each(['AXFR', 'IXFR'])('by %s is refused', async (type) => {
    for (const name of ['cluster.local', WEB, `no.${WEB}`]) {
      expect(await answers.ask(name, type)).toMatchObject({
        rcode: 'REFUSED',
        answers: [],
      });
    }
    const { extendedError } = await answers.ask(WEB, type, { hasEdns: true });
    expect(extendedError).toBe(EXTENDED_ERROR.NOT_SUPPORTED);
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
    const { extendedError } = await answers.ask(pod(label), type, { hasEdns: true });
    expect(extendedError).toBe(EXTENDED_ERROR.SYNTHESIZED);
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
    answers.cluster.zone.hasAllNamespaces = false;
    expect((await answers.ask(pod('1-2-3-4', 'no'), 'A')).answers).toHaveLength(1);
    expect((await answers.ask('no.pod.cluster.local', 'A')).rcode).toBe('NOERROR');
    expect((await answers.ask(`no.${ZONE}`, 'A')).rcode).toBe('NXDOMAIN');
    expect((await answers.ask(pod('foo', 'no'), 'A')).rcode).toBe('NXDOMAIN');
  });
});

describe('before the cluster is listed', () => {
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
    ['9.0.0.10.in-addr.arpa', 'A'],
    ['xcluster.local', 'A'],
  ])('is SERVFAIL without an upstream server: %s %s', async (name, type) => {
    expect(await answers.ask(name, type)).toMatchObject({ rcode: 'SERVFAIL', flags: 'ra rd' });
  });

  it('is refused for a class that is not served', async () => {
    const HESIOD = 4;
    expect(await answers.ask(WEB, 'A', { class: HESIOD })).toMatchObject({ rcode: 'REFUSED' });
  });
});
