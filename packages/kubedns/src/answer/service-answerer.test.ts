import { beforeEach, describe, expect, it } from '@jest/globals';
import { Answers } from '../../test/support/answers.js';
import { hashLabel } from '../../test/support/hash-label.js';
import { HEADLESS, sliceObject } from '../../test/support/objects.js';
import { hosts, TCP, WEB, WebService } from '../../test/support/web-service.js';

let web: WebService;
beforeEach(() => {
  web = new WebService();
});

describe('a service with a cluster address', () => {
  it('has an address record under its name and under the generated label, and a PTR', async () => {
    web.given({ clusterIPs: ['10.0.0.1'] });
    const generated = `${hashLabel('10.0.0.1')}.${WEB}`;
    expect(await web.at(WEB)).toEqual(['A 10.0.0.1', `SRV 10 100 0 ${WEB}`]);
    expect(await web.at(generated)).toEqual(['A 10.0.0.1', `SRV 10 100 0 ${generated}`]);
    expect(await web.at('1.0.0.10.in-addr.arpa')).toEqual([`PTR ${WEB}`]);
  });

  it('has AAAA in place of A when its address is IPv6', async () => {
    web.given({ clusterIPs: ['fd00::11'] });
    expect(await web.at(WEB)).toEqual(['AAAA fd00::11', `SRV 10 100 0 ${WEB}`]);
    const reverse = '1.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa';
    expect(await web.at(reverse)).toEqual([`PTR ${WEB}`]);
  });

  it('has the generated label of an address in its canonical text', async () => {
    web.given({ clusterIPs: ['FD00:0:0::0:11'] });
    expect(await web.at(`${hashLabel('fd00::11')}.${WEB}`)).toContain('AAAA fd00::11');
  });

  it('has addresses of both families and one SRV record of full weight when it is dual-stack', async () => {
    web.given({ clusterIPs: ['10.0.0.1', 'fd00::11'], ports: [TCP] });
    const srv = `SRV 10 100 80 ${WEB}`;
    expect(await web.at(WEB)).toEqual(['A 10.0.0.1', 'AAAA fd00::11', srv]);
    expect(await web.at(`_http._tcp.${WEB}`)).toEqual([srv]);
    const { additionals } = await web.answers.ask(`_http._tcp.${WEB}`, 'SRV');
    expect(additionals).toEqual([`${WEB} A 10.0.0.1`, `${WEB} AAAA fd00::11`]);
  });

  it('has SRV records for named ports, and every port under its own name', async () => {
    web.given({ ports: [TCP, { port: 9, protocol: 'TCP' }, { name: 'Admin', port: 8080 }] });
    expect(await web.at(`_http._tcp.${WEB}`)).toEqual([`SRV 10 100 80 ${WEB}`]);
    expect(await web.at(`_admin._tcp.${WEB}`)).toEqual([`SRV 10 100 8080 ${WEB}`]);
    expect((await web.at(WEB)).slice(1)).toEqual(
      [80, 8080, 9].map((port) => `SRV 10 33 ${port} ${WEB}`),
    );
  });

  it('separates protocols, and one port over two of them has the full weight', async () => {
    web.given({
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns', port: 53, protocol: 'TCP' },
        { name: 'dns', port: 54, protocol: 'SCTP' },
      ],
    });
    expect(await web.at(`_dns._udp.${WEB}`)).toEqual([`SRV 10 100 53 ${WEB}`]);
    expect(await web.at(`_dns._tcp.${WEB}`)).toEqual([`SRV 10 100 53 ${WEB}`]);
    expect(await web.at(`_dns._sctp.${WEB}`)).toEqual([`SRV 10 100 54 ${WEB}`]);
    expect((await web.at(WEB)).slice(1)).toEqual(
      [53, 54].map((port) => `SRV 10 50 ${port} ${WEB}`),
    );
  });

  it('has no name for an unnamed port', async () => {
    web.given({ ports: [{ port: 80 }] });
    expect(await web.rcodeOf(`_tcp.${WEB}`)).toBe('NXDOMAIN');
    expect(await web.rcodeOf(`_._tcp.${WEB}`)).toBe('NXDOMAIN');
  });

  it('has no name for a port whose name fills a label by itself', async () => {
    const longest = 'p'.repeat(62);
    web.given({
      ports: [
        { name: longest, port: 1 },
        { name: 'p'.repeat(63), port: 2 },
      ],
    });
    expect(await web.at(`_${longest}._tcp.${WEB}`)).toEqual([`SRV 10 100 1 ${WEB}`]);
    expect(await web.at(WEB)).toContain(`SRV 10 50 2 ${WEB}`);
    web.given({ ports: [{ name: 'p'.repeat(63), port: 2 }] });
    expect(await web.rcodeOf(`_tcp.${WEB}`)).toBe('NXDOMAIN');
  });

  it('has no records from its slices', async () => {
    web.given({}, { ...hosts({ addresses: ['10.1.0.1'], hostname: 'a' }), ports: [TCP] });
    expect(await web.at(WEB)).toEqual(['A 10.0.0.1', `SRV 10 100 0 ${WEB}`]);
    expect(await web.rcodeOf(`a.${WEB}`)).toBe('NXDOMAIN');
    expect(await web.rcodeOf(`_http._tcp.${WEB}`)).toBe('NXDOMAIN');
    expect(await web.at('1.0.1.10.in-addr.arpa')).toEqual([]);
  });

  it('has the SRV record of a port under each generated label', async () => {
    web.given({ ports: [TCP] });
    const generated = `${hashLabel('10.0.0.1')}.${WEB}`;
    const name = `${hashLabel('10.0.0.1')}._http._tcp.${WEB}`;
    expect(await web.at(name)).toEqual([`SRV 10 100 80 ${generated}`]);
  });
});

describe('endpoints named otherwise', () => {
  const pod = (address: string, name: string) => ({ addresses: [address], pod: name });

  it('have their address for a label, those of services too', async () => {
    web = new WebService(new Answers({ endpointNames: 'ip' }));
    web.given(HEADLESS, hosts('10.1.0.1', { addresses: ['10.1.0.2'], hostname: 'a' }));
    web.answers.cluster.endpointSlices.put(
      sliceObject({ name: 'six', endpoints: ['fd00::1', 'fd00::'], addressType: 'IPv6' }),
    );
    expect(await web.answers.records(`10-1-0-1.${WEB}`, ['A'])).toEqual(['A 10.1.0.1']);
    expect(await web.answers.records(`fd00--1.${WEB}`, ['AAAA'])).toEqual(['AAAA fd00::1']);
    expect(await web.answers.records(`fd00--0.${WEB}`, ['AAAA'])).toEqual(['AAAA fd00::']);
    expect(await web.answers.records(`a.${WEB}`, ['A'])).toEqual(['A 10.1.0.2']);
    expect(await web.at('1.0.1.10.in-addr.arpa')).toEqual([`PTR 10-1-0-1.${WEB}`]);
    expect(await web.rcodeOf(`${hashLabel('10.1.0.1')}.${WEB}`)).toBe('NXDOMAIN');
    web.given({ name: 'own', clusterIPs: ['10.0.0.9'] });
    expect(await web.answers.records('10-0-0-9.own.default.svc.cluster.local', ['A'])).toEqual([
      'A 10.0.0.9',
    ]);
  });

  it('have the name of their pod for a label, where it can be one', async () => {
    web = new WebService(new Answers({ endpointNames: 'pod' }));
    web.given(HEADLESS, hosts(pod('10.1.0.1', 'web-x7'), pod('10.1.0.2', 'a.b')));
    const onNode = sliceObject({ name: 'web-9', ...hosts(pod('10.1.0.3', 'node-1')) });
    onNode.endpoints![0]!.targetRef!.kind = 'Node';
    web.answers.cluster.endpointSlices.put(onNode);
    expect(await web.rcodeOf(`node-1.${WEB}`)).toBe('NXDOMAIN');
    expect(await web.answers.records(`web-x7.${WEB}`, ['A'])).toEqual(['A 10.1.0.1']);
    expect(await web.answers.records(`${hashLabel('10.1.0.2')}.${WEB}`, ['A'])).toEqual([
      'A 10.1.0.2',
    ]);
  });
});

describe('an ExternalName service', () => {
  it.each([
    ['db.example.com', 'CNAME db.example.com'],
    ['db.example.com.', 'CNAME db.example.com'],
    ['DB.Example.com', 'CNAME DB.Example.com'],
    ['foo', 'CNAME foo'],
  ])('to %s has one record', async (externalName, record) => {
    web.given({ externalName }, { ...hosts('10.1.0.1'), ports: [TCP] });
    expect(await web.at(WEB)).toEqual([record]);
    expect(await web.at('1.0.1.10.in-addr.arpa')).toEqual([]);
    expect(await web.rcodeOf(`_http._tcp.${WEB}`)).toBe('NXDOMAIN');
  });

  it.each([
    ['192.0.2.7', 'A 192.0.2.7'],
    ['2001:db8::7', 'AAAA 2001:db8::7'],
  ])('to the address %s has that, and itself for SRV', async (externalName, record) => {
    web.given({ externalName });
    expect(await web.at(WEB)).toEqual([record, `SRV 10 100 0 ${WEB}`]);
    expect(await web.at('7.2.0.192.in-addr.arpa')).toEqual([]);
  });

  it.each(['', '.', 'a..b', `${'x'.repeat(64)}.com`, 'a.'.repeat(128)])(
    'to %j is left out, and its old records with it',
    async (externalName) => {
      web.given({ externalName: '192.0.2.7' });
      web.given({ externalName });
      expect(await web.rcodeOf(WEB)).toBe('NXDOMAIN');
      expect(web.answers.cluster.rejected).toHaveLength(1);
      expect(web.answers.cluster.rejected[0]).toMatch(/^default\/web: .*name/i);
    },
  );
});

describe('the order of addresses', () => {
  it('is each one as often as any other', async () => {
    web.given(HEADLESS, hosts('10.1.0.1', '10.1.0.2', '10.1.0.3'));
    const firsts = new Map<string, number>();
    const rounds = 3_000;
    for (let i = 0; i < rounds; i++) {
      const first = (await web.answers.ask(WEB, 'A')).answers[0]!;
      firsts.set(first, (firsts.get(first) ?? 0) + 1);
    }
    expect(firsts.size).toBe(3);
    // Six standard deviations of a fair choice.
    for (const count of firsts.values()) expect(Math.abs(count - rounds / 3)).toBeLessThan(155);
  });
});
