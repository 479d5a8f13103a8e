import { beforeEach, describe, expect, it } from '@jest/globals';
import { Answers } from '../../test/support/answers.js';
import { hashLabel } from '../../test/support/hash-label.js';
import {
  type EndpointFields,
  HEADLESS,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';

const WEB = 'web.default.svc.cluster.local';
const TCP = { name: 'http', port: 80, protocol: 'TCP' };

type ServiceFields = Parameters<typeof serviceObject>[0];
type SliceFields = Parameters<typeof sliceObject>[0];

let answers: Answers;
beforeEach(() => {
  answers = new Answers();
});

/** Tells of the service `web` and its slices. */
function given(service: ServiceFields, ...slices: SliceFields[]): void {
  answers.cluster.services.put(serviceObject(service));
  slices.forEach((fields, i) => {
    answers.cluster.endpointSlices.put(sliceObject({ name: `web-${i}`, ...fields }));
  });
}

/** `TYPE data` of the records of a name, in alphabetical order. */
const at = (owner: string) => answers.records(owner);
const rcodeOf = async (name: string) => (await answers.ask(name, 'A')).rcode;
const hosts = (...endpoints: EndpointFields[]) => ({ endpoints });

describe('a service with a cluster address', () => {
  it('has an address record under its name and under the generated label, and a PTR', async () => {
    given({ clusterIPs: ['10.0.0.1'] });
    const generated = `${hashLabel('10.0.0.1')}.${WEB}`;
    expect(await at(WEB)).toEqual(['A 10.0.0.1', `SRV 10 100 0 ${WEB}`]);
    expect(await at(generated)).toEqual(['A 10.0.0.1', `SRV 10 100 0 ${generated}`]);
    expect(await at('1.0.0.10.in-addr.arpa')).toEqual([`PTR ${WEB}`]);
  });

  it('has AAAA in place of A when its address is IPv6', async () => {
    given({ clusterIPs: ['fd00::11'] });
    expect(await at(WEB)).toEqual(['AAAA fd00::11', `SRV 10 100 0 ${WEB}`]);
    const reverse = '1.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa';
    expect(await at(reverse)).toEqual([`PTR ${WEB}`]);
  });

  it('has the generated label of an address in its canonical text', async () => {
    given({ clusterIPs: ['FD00:0:0::0:11'] });
    expect(await at(`${hashLabel('fd00::11')}.${WEB}`)).toContain('AAAA fd00::11');
  });

  it('has addresses of both families and one SRV record of full weight when it is dual-stack', async () => {
    given({ clusterIPs: ['10.0.0.1', 'fd00::11'], ports: [TCP] });
    const srv = `SRV 10 100 80 ${WEB}`;
    expect(await at(WEB)).toEqual(['A 10.0.0.1', 'AAAA fd00::11', srv]);
    expect(await at(`_http._tcp.${WEB}`)).toEqual([srv]);
    const { additionals } = await answers.ask(`_http._tcp.${WEB}`, 'SRV');
    expect(additionals).toEqual([`${WEB} A 10.0.0.1`, `${WEB} AAAA fd00::11`]);
  });

  it('has SRV records for named ports, and every port under its own name', async () => {
    given({ ports: [TCP, { port: 9, protocol: 'TCP' }, { name: 'Admin', port: 8080 }] });
    expect(await at(`_http._tcp.${WEB}`)).toEqual([`SRV 10 100 80 ${WEB}`]);
    expect(await at(`_admin._tcp.${WEB}`)).toEqual([`SRV 10 100 8080 ${WEB}`]);
    expect((await at(WEB)).slice(1)).toEqual(
      [80, 8080, 9].map((port) => `SRV 10 33 ${port} ${WEB}`),
    );
  });

  it('tells protocols apart, and gives one number over two of them one full weight', async () => {
    given({
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns', port: 53, protocol: 'TCP' },
        { name: 'dns', port: 54, protocol: 'SCTP' },
      ],
    });
    expect(await at(`_dns._udp.${WEB}`)).toEqual([`SRV 10 100 53 ${WEB}`]);
    expect(await at(`_dns._tcp.${WEB}`)).toEqual([`SRV 10 100 53 ${WEB}`]);
    expect(await at(`_dns._sctp.${WEB}`)).toEqual([`SRV 10 100 54 ${WEB}`]);
    expect((await at(WEB)).slice(1)).toEqual([53, 54].map((port) => `SRV 10 50 ${port} ${WEB}`));
  });

  it('has no name for an unnamed port', async () => {
    given({ ports: [{ port: 80 }] });
    expect(await rcodeOf(`_tcp.${WEB}`)).toBe('NXDOMAIN');
    expect(await rcodeOf(`_._tcp.${WEB}`)).toBe('NXDOMAIN');
  });

  it('goes without the SRV record of a port whose name fills a label by itself', async () => {
    const longest = 'p'.repeat(62);
    given({
      ports: [
        { name: longest, port: 1 },
        { name: 'p'.repeat(63), port: 2 },
      ],
    });
    expect(await at(`_${longest}._tcp.${WEB}`)).toEqual([`SRV 10 100 1 ${WEB}`]);
    expect(await at(WEB)).toContain(`SRV 10 50 2 ${WEB}`);
  });

  it('takes nothing from its slices', async () => {
    given({}, { ...hosts({ addresses: ['10.1.0.1'], hostname: 'a' }), ports: [TCP] });
    expect(await at(WEB)).toEqual(['A 10.0.0.1', `SRV 10 100 0 ${WEB}`]);
    expect(await rcodeOf(`a.${WEB}`)).toBe('NXDOMAIN');
    expect(await rcodeOf(`_http._tcp.${WEB}`)).toBe('NXDOMAIN');
    expect(await at('1.0.1.10.in-addr.arpa')).toEqual([]);
  });

  it('has the SRV record of a port under each generated label', async () => {
    given({ ports: [TCP] });
    const generated = `${hashLabel('10.0.0.1')}.${WEB}`;
    const name = `${hashLabel('10.0.0.1')}._http._tcp.${WEB}`;
    expect(await at(name)).toEqual([`SRV 10 100 80 ${generated}`]);
  });
});

describe('a headless service', () => {
  it('has no name without a ready endpoint', async () => {
    given(HEADLESS, hosts({ addresses: ['10.1.0.1'], hostname: 'a', isReady: false }));
    for (const name of [WEB, `a.${WEB}`]) expect(await rcodeOf(name)).toBe('NXDOMAIN');
    expect(await at('1.0.1.10.in-addr.arpa')).toEqual([]);
  });

  it('is what a service counts as that waits for its address', async () => {
    given({ clusterIPs: [''] }, hosts('10.1.0.1'));
    expect(await at(WEB)).toContain('A 10.1.0.1');
  });

  it('takes an endpoint that is silent about being ready for ready', async () => {
    given(HEADLESS, hosts({ addresses: ['10.1.0.1'], isReady: undefined }));
    expect(await at(WEB)).toContain('A 10.1.0.1');
  });

  it('names an endpoint by its hostname, else by the generated label', async () => {
    given(HEADLESS, hosts({ addresses: ['10.1.0.1'], hostname: 'Db-0' }, '10.1.0.2'));
    const generated = `${hashLabel('10.1.0.2')}.${WEB}`;
    expect(await at(WEB)).toEqual([
      'A 10.1.0.1',
      'A 10.1.0.2',
      `SRV 10 50 0 ${generated}`,
      `SRV 10 50 0 db-0.${WEB}`,
    ]);
    expect(await at(`db-0.${WEB}`)).toEqual(['A 10.1.0.1', `SRV 10 100 0 db-0.${WEB}`]);
    expect(await at(generated)).toEqual(['A 10.1.0.2', `SRV 10 100 0 ${generated}`]);
    expect(await at('1.0.1.10.in-addr.arpa')).toEqual([`PTR db-0.${WEB}`]);
    expect(await at('2.0.1.10.in-addr.arpa')).toEqual([`PTR ${generated}`]);
  });

  it('has no generated label for an endpoint with a hostname', async () => {
    given(HEADLESS, hosts({ addresses: ['10.1.0.1'], hostname: 'a' }, '10.1.0.2'));
    expect(await rcodeOf(`${hashLabel('10.1.0.1')}.${WEB}`)).toBe('NXDOMAIN');
  });

  it('gives a hostname that several endpoints share all their addresses and one SRV record', async () => {
    given(
      HEADLESS,
      {
        ...hosts(
          { addresses: ['10.1.0.1'], hostname: 'db' },
          { addresses: ['10.1.0.2'], hostname: 'db' },
        ),
        ports: [TCP],
      },
      { ...hosts({ addresses: ['fd00::1'], hostname: 'db' }), ports: [TCP], addressType: 'IPv6' },
    );
    const addresses = ['A 10.1.0.1', 'A 10.1.0.2', 'AAAA fd00::1'];
    const srv = `SRV 10 100 80 db.${WEB}`;
    expect(await at(WEB)).toEqual([...addresses, srv]);
    expect(await at(`db.${WEB}`)).toEqual([...addresses, srv]);
    expect(await at(`_http._tcp.${WEB}`)).toEqual([srv]);
    const { additionals } = await answers.ask(`_http._tcp.${WEB}`, 'SRV');
    expect([...additionals].sort()).toEqual(addresses.map((text) => `db.${WEB} ${text}`));
  });

  it('has an endpoint once that stands in two slices', async () => {
    const slice = { ...hosts('10.1.0.1'), ports: [TCP] };
    given(HEADLESS, slice, slice);
    const target = `${hashLabel('10.1.0.1')}.${WEB}`;
    expect(await at(WEB)).toEqual(['A 10.1.0.1', `SRV 10 100 80 ${target}`]);
    expect(await at(`_http._tcp.${WEB}`)).toEqual([`SRV 10 100 80 ${target}`]);
    expect(await at('1.0.1.10.in-addr.arpa')).toEqual([`PTR ${target}`]);
  });

  it('has the ports of each endpoint from the slice that it stands in', async () => {
    given(
      HEADLESS,
      { ...hosts({ addresses: ['10.1.0.1'], hostname: 'a' }), ports: [{ name: 'http', port: 80 }] },
      { ...hosts({ addresses: ['10.1.0.2'], hostname: 'b' }), ports: [{ name: 'http', port: 81 }] },
      { ...hosts({ addresses: ['10.1.0.3'], hostname: 'c' }), ports: [{ name: 'dns', port: 53 }] },
    );
    expect(await at(`_http._tcp.${WEB}`)).toEqual([
      `SRV 10 50 80 a.${WEB}`,
      `SRV 10 50 81 b.${WEB}`,
    ]);
    expect(await at(`_dns._tcp.${WEB}`)).toEqual([`SRV 10 100 53 c.${WEB}`]);
  });

  it('has one SRV record per port where one address stands in slices with different ports', async () => {
    given(
      HEADLESS,
      { ...hosts('10.1.0.1'), ports: [{ name: 'http', port: 80 }] },
      { ...hosts('10.1.0.1'), ports: [{ name: 'http', port: 81 }] },
    );
    const target = `${hashLabel('10.1.0.1')}.${WEB}`;
    expect(await at(`_http._tcp.${WEB}`)).toEqual([
      `SRV 10 50 80 ${target}`,
      `SRV 10 50 81 ${target}`,
    ]);
  });

  it('keeps the ports of endpoints apart where their slices have some in common', async () => {
    const [A, B, C] = [80, 81, 82].map((port) => ({ ...TCP, name: `p${port}`, port }));
    given(
      HEADLESS,
      { ...hosts('10.1.0.1', '10.1.0.2'), ports: [A!] },
      { ...hosts('10.1.0.1'), ports: [B!] },
      { ...hosts('10.1.0.2'), ports: [C!] },
    );
    const numbers = async (address: string) =>
      (await at(`${hashLabel(address)}.${WEB}`))
        .filter((text) => text.startsWith('SRV'))
        .map((text) => text.split(' ')[3]);
    expect(await numbers('10.1.0.1')).toEqual(['80', '81']);
    expect(await numbers('10.1.0.2')).toEqual(['80', '82']);
  });

  it('has the ports that a slice has, though another one has these and more', async () => {
    const udp = { name: 'http', port: 80, protocol: 'UDP' };
    given(
      HEADLESS,
      { ...hosts('10.1.0.1'), ports: [TCP, udp] },
      { ...hosts('10.1.0.2'), ports: [TCP] },
    );
    expect(await at(`_http._udp.${WEB}`)).toEqual([
      `SRV 10 100 80 ${hashLabel('10.1.0.1')}.${WEB}`,
    ]);
    expect(await at(`_http._tcp.${WEB}`)).toHaveLength(2);
  });

  it('tells protocols apart where one endpoint stands in two slices', async () => {
    const udp = { name: 'http', port: 80, protocol: 'UDP' };
    given(HEADLESS, { ...hosts('10.1.0.1'), ports: [TCP] }, { ...hosts('10.1.0.1'), ports: [udp] });
    expect(await at(`_http._udp.${WEB}`)).toHaveLength(1);
    expect(await at(`_http._tcp.${WEB}`)).toHaveLength(1);
  });

  it('loses the endpoints of a slice that goes, though it was asked for before', async () => {
    given(HEADLESS, hosts('10.1.0.1'), hosts('10.1.0.2'));
    expect(await answers.records(WEB, ['A'])).toHaveLength(2);
    answers.cluster.endpointSlices.delete(sliceObject({ name: 'web-0' }));
    expect(await answers.records(WEB, ['A'])).toEqual(['A 10.1.0.2']);
  });

  it('has many hostnames, and many addresses of one', async () => {
    const addresses = Array.from({ length: 2_000 }, (_, i) => `10.2.${i >> 8}.${i & 255}`);
    const named = addresses.map((address, i) => ({ addresses: [address], hostname: `h${i}` }));
    given(HEADLESS, hosts(...named), hosts({ addresses, hostname: 'all' }));
    expect(await answers.records(`h1999.${WEB}`, ['A'])).toEqual(['A 10.2.7.207']);
    expect(await answers.records(`all.${WEB}`, ['A'])).toHaveLength(2_000);
  });

  it('finds a generated label first of all, beside endpoints with a hostname', async () => {
    given(HEADLESS, hosts({ addresses: ['10.1.0.1'], hostname: 'a' }, '10.1.0.2'));
    expect(await rcodeOf(`${hashLabel('10.1.0.2')}.${WEB}`)).toBe('NOERROR');
  });

  it('leaves a slice out whose service has a name that is no label', () => {
    given(HEADLESS, { ...hosts('10.1.0.1'), service: 'a.b' });
    expect(answers.cluster.rejected).toEqual(['default/web-0: "a.b" is not a DNS label']);
  });

  it('has the generated label of no hash for no host with a hostname', async () => {
    given(HEADLESS, hosts({ addresses: ['10.1.0.1'], hostname: 'a' }));
    expect(await rcodeOf(`a.${WEB}`)).toBe('NOERROR');
    expect(await rcodeOf(`30.${WEB}`)).toBe('NXDOMAIN');
  });

  it('has the SRV record of one host and port, if that host has the port', async () => {
    given(
      HEADLESS,
      { ...hosts({ addresses: ['10.1.0.1'], hostname: 'a' }), ports: [TCP] },
      { ...hosts({ addresses: ['10.1.0.2'], hostname: 'b' }), ports: [{ name: 'dns', port: 53 }] },
    );
    expect(await at(`a._http._tcp.${WEB}`)).toEqual([`SRV 10 100 80 a.${WEB}`]);
    expect(await rcodeOf(`a._http._tcp.${WEB}`)).toBe('NOERROR');
    expect(await rcodeOf(`b._http._tcp.${WEB}`)).toBe('NXDOMAIN');
    expect(await rcodeOf(`x.a._http._tcp.${WEB}`)).toBe('NXDOMAIN');
  });

  it('has no SRV record for a port without a number', async () => {
    given(HEADLESS, { ...hosts('10.1.0.1'), ports: [{ name: 'any' }] });
    expect(await rcodeOf(`_any._tcp.${WEB}`)).toBe('NXDOMAIN');
    expect(await at(WEB)).toContain(`SRV 10 100 0 ${hashLabel('10.1.0.1')}.${WEB}`);
  });

  it.each([
    [1, 100],
    [3, 33],
    [7, 14],
    [101, 0],
  ])('shares the weight of 100 among %i targets: %i each', async (count, weight) => {
    const endpoints = Array.from({ length: count }, (_, i) => `10.1.0.${i}`);
    given(HEADLESS, { endpoints, ports: [TCP] });
    const srv = await at(`_http._tcp.${WEB}`);
    expect(srv).toHaveLength(count);
    expect(srv.every((record) => record.startsWith(`SRV 10 ${weight} 80 `))).toBe(true);
  });

  it('has addresses of the targets that the answer has, as far as there is room', async () => {
    const endpoints = Array.from({ length: 60 }, (_, i) => `10.1.0.${i}`);
    given(HEADLESS, { endpoints, ports: [TCP] });
    const name = `_http._tcp.${WEB}`;
    const whole = await answers.ask(name, 'SRV', { isOverTcp: true });
    expect(whole.additionals).toHaveLength(60);
    const cut = await answers.ask(name, 'SRV', { hasEdns: true });
    expect(cut.flags).toBe('aa ra rd tc');
    expect(cut.additionals).toEqual([]);
    expect(cut.answers.length).toBeGreaterThan(10);
  });

  it('has the addresses of each target once, however many ports and targets there are', async () => {
    const endpoints = Array.from({ length: 150 }, (_, i) => `10.1.0.${i}`);
    given(HEADLESS, { endpoints, ports: [TCP, { ...TCP, name: 'more', port: 81 }] });
    const { answers: records, additionals } = await answers.ask(WEB, 'SRV', { isOverTcp: true });
    expect(records).toHaveLength(300);
    expect(new Set(additionals).size).toBe(150);
    expect(additionals).toHaveLength(150);
  });

  it('has both addresses of a generated label that two of them share', async () => {
    const both = ['10.2.91.207', '10.3.42.200'];
    given(HEADLESS, hosts(...both));
    expect(hashLabel(both[0]!)).toBe(hashLabel(both[1]!));
    const name = `${hashLabel(both[0]!)}.${WEB}`;
    expect(await answers.records(name, ['A'])).toEqual(both.map((address) => `A ${address}`));
  });

  it('has the SRV record of a port once that the object has twice', async () => {
    given({ ports: [TCP, TCP] });
    expect(await at(`_http._tcp.${WEB}`)).toEqual([`SRV 10 100 80 ${WEB}`]);
  });

  it('leaves out endpoints whose fields are no text', async () => {
    answers = new Answers({ endpointNames: 'pod' });
    const odd = ['10.1.0.9'] as unknown as string;
    const number = 5 as unknown as string;
    given(
      HEADLESS,
      hosts(
        { addresses: [odd] },
        { addresses: ['10.1.0.2'], hostname: number },
        { addresses: ['10.1.0.3'], pod: number },
      ),
    );
    expect(await answers.records(WEB, ['A'])).toEqual(['A 10.1.0.3']);
    expect(await answers.records(`${hashLabel('10.1.0.3')}.${WEB}`, ['A'])).toHaveLength(1);
    expect(answers.cluster.rejected).toHaveLength(2);
  });

  it('leaves addresses and hostnames out that are none, and says so', async () => {
    given(
      HEADLESS,
      hosts(
        { addresses: ['nonsense', 'fe80::1%eth0', '10.1.0.1'] },
        { addresses: ['10.1.0.2'], hostname: 'a_b' },
      ),
      { ...hosts('10.1.0.3'), addressType: 'FQDN' },
    );
    expect(await answers.records(WEB, ['A'])).toEqual(['A 10.1.0.1']);
    expect(answers.cluster.rejected).toEqual([
      'default/web-0: endpoint "nonsense" is not an IP address',
      'default/web-0: endpoint "fe80::1%eth0" is not an IP address',
      'default/web-0: endpoint 10.1.0.2: hostname "a_b" is not a DNS label',
    ]);
  });

  it('has a hundred thousand endpoints in the end, and answers what there is room for', async () => {
    const slice = (first: number) =>
      Array.from({ length: 1_000 }, (_, i) => {
        const number = first * 1_000 + i;
        return `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
      });
    given(
      HEADLESS,
      ...Array.from({ length: 100 }, (_, i) => ({ endpoints: slice(i), ports: [TCP] })),
    );
    const answer = await answers.ask(WEB, 'A', { hasEdns: true });
    expect(answer.flags).toBe('aa ra rd tc');
    expect(answer.answers.length).toBeGreaterThan(70);
    expect(await at(`${hashLabel('10.1.134.159')}.${WEB}`)).toContain('A 10.1.134.159');
    expect(await at('159.134.1.10.in-addr.arpa')).toEqual([
      `PTR ${hashLabel('10.1.134.159')}.${WEB}`,
    ]);
  });
});

describe('endpoints named otherwise', () => {
  const pod = (address: string, name: string) => ({ addresses: [address], pod: name });

  it('have their address for a label, those of services too', async () => {
    answers = new Answers({ endpointNames: 'ip' });
    given(HEADLESS, hosts('10.1.0.1', { addresses: ['10.1.0.2'], hostname: 'a' }));
    answers.cluster.endpointSlices.put(
      sliceObject({ name: 'six', endpoints: ['fd00::1', 'fd00::'], addressType: 'IPv6' }),
    );
    expect(await answers.records(`10-1-0-1.${WEB}`, ['A'])).toEqual(['A 10.1.0.1']);
    expect(await answers.records(`fd00--1.${WEB}`, ['AAAA'])).toEqual(['AAAA fd00::1']);
    expect(await answers.records(`fd00--0.${WEB}`, ['AAAA'])).toEqual(['AAAA fd00::']);
    expect(await answers.records(`a.${WEB}`, ['A'])).toEqual(['A 10.1.0.2']);
    expect(await at('1.0.1.10.in-addr.arpa')).toEqual([`PTR 10-1-0-1.${WEB}`]);
    expect(await rcodeOf(`${hashLabel('10.1.0.1')}.${WEB}`)).toBe('NXDOMAIN');
    given({ name: 'own', clusterIPs: ['10.0.0.9'] });
    expect(await answers.records('10-0-0-9.own.default.svc.cluster.local', ['A'])).toEqual([
      'A 10.0.0.9',
    ]);
  });

  it('have the name of their pod for a label, where it can be one', async () => {
    answers = new Answers({ endpointNames: 'pod' });
    given(HEADLESS, hosts(pod('10.1.0.1', 'web-x7'), pod('10.1.0.2', 'a.b')));
    const onNode = sliceObject({ name: 'web-9', ...hosts(pod('10.1.0.3', 'node-1')) });
    onNode.endpoints![0]!.targetRef!.kind = 'Node';
    answers.cluster.endpointSlices.put(onNode);
    expect(await rcodeOf(`node-1.${WEB}`)).toBe('NXDOMAIN');
    expect(await answers.records(`web-x7.${WEB}`, ['A'])).toEqual(['A 10.1.0.1']);
    expect(await answers.records(`${hashLabel('10.1.0.2')}.${WEB}`, ['A'])).toEqual(['A 10.1.0.2']);
  });
});

describe('an ExternalName service', () => {
  it.each([
    ['db.example.com', 'CNAME db.example.com'],
    ['db.example.com.', 'CNAME db.example.com'],
    ['DB.Example.com', 'CNAME DB.Example.com'],
    ['foo', 'CNAME foo'],
  ])('to %s has one record', async (externalName, record) => {
    given({ externalName }, { ...hosts('10.1.0.1'), ports: [TCP] });
    expect(await at(WEB)).toEqual([record]);
    expect(await at('1.0.1.10.in-addr.arpa')).toEqual([]);
    expect(await rcodeOf(`_http._tcp.${WEB}`)).toBe('NXDOMAIN');
  });

  it.each([
    ['192.0.2.7', 'A 192.0.2.7'],
    ['2001:db8::7', 'AAAA 2001:db8::7'],
  ])('to the address %s has that, and itself for SRV', async (externalName, record) => {
    given({ externalName });
    expect(await at(WEB)).toEqual([record, `SRV 10 100 0 ${WEB}`]);
    expect(await at('7.2.0.192.in-addr.arpa')).toEqual([]);
  });

  it.each(['', '.', 'a..b', `${'x'.repeat(64)}.com`, 'a.'.repeat(128)])(
    'to %j is left out, and its old records with it',
    async (externalName) => {
      given({ externalName: '192.0.2.7' });
      given({ externalName });
      expect(await rcodeOf(WEB)).toBe('NXDOMAIN');
      expect(answers.cluster.rejected).toHaveLength(1);
      expect(answers.cluster.rejected[0]).toMatch(/^default\/web: .*name/i);
    },
  );
});

describe('the order of addresses', () => {
  it('is each one as often as any other', async () => {
    given(HEADLESS, hosts('10.1.0.1', '10.1.0.2', '10.1.0.3'));
    const firsts = new Map<string, number>();
    const rounds = 3_000;
    for (let i = 0; i < rounds; i++) {
      const first = (await answers.ask(WEB, 'A')).answers[0]!;
      firsts.set(first, (firsts.get(first) ?? 0) + 1);
    }
    expect(firsts.size).toBe(3);
    // Six standard deviations of a fair choice.
    for (const count of firsts.values()) expect(Math.abs(count - rounds / 3)).toBeLessThan(155);
  });
});
