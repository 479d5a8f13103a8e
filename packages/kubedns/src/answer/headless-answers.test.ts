import { beforeEach, describe, expect, it } from '@jest/globals';
import { Answers } from '../../test/support/answers.js';
import { hashLabel } from '../../test/support/hash-label.js';
import { HEADLESS, sliceObject } from '../../test/support/objects.js';
import { hosts, TCP, WEB, WebService } from '../../test/support/web-service.js';

let web: WebService;
beforeEach(() => {
  web = new WebService();
});

describe('a headless service', () => {
  it('has no name without a ready endpoint', async () => {
    web.given(HEADLESS, hosts({ addresses: ['10.1.0.1'], hostname: 'a', isReady: false }));
    for (const name of [WEB, `a.${WEB}`]) expect(await web.rcodeOf(name)).toBe('NXDOMAIN');
    expect(await web.at('1.0.1.10.in-addr.arpa')).toEqual([]);
  });

  it('includes a service that waits for its address', async () => {
    web.given({ clusterIPs: [''] }, hosts('10.1.0.1'));
    expect(await web.at(WEB)).toContain('A 10.1.0.1');
  });

  it('treats an endpoint without a ready condition as ready', async () => {
    web.given(HEADLESS, hosts({ addresses: ['10.1.0.1'], isReady: undefined }));
    expect(await web.at(WEB)).toContain('A 10.1.0.1');
  });

  it('names an endpoint by its hostname, else by the generated label', async () => {
    web.given(HEADLESS, hosts({ addresses: ['10.1.0.1'], hostname: 'Db-0' }, '10.1.0.2'));
    const generated = `${hashLabel('10.1.0.2')}.${WEB}`;
    expect(await web.at(WEB)).toEqual([
      'A 10.1.0.1',
      'A 10.1.0.2',
      `SRV 10 50 0 ${generated}`,
      `SRV 10 50 0 db-0.${WEB}`,
    ]);
    expect(await web.at(`db-0.${WEB}`)).toEqual(['A 10.1.0.1', `SRV 10 100 0 db-0.${WEB}`]);
    expect(await web.at(generated)).toEqual(['A 10.1.0.2', `SRV 10 100 0 ${generated}`]);
    expect(await web.at('1.0.1.10.in-addr.arpa')).toEqual([`PTR db-0.${WEB}`]);
    expect(await web.at('2.0.1.10.in-addr.arpa')).toEqual([`PTR ${generated}`]);
  });

  it('has no generated label for an endpoint with a hostname', async () => {
    web.given(HEADLESS, hosts({ addresses: ['10.1.0.1'], hostname: 'a' }, '10.1.0.2'));
    expect(await web.rcodeOf(`${hashLabel('10.1.0.1')}.${WEB}`)).toBe('NXDOMAIN');
  });

  it('has all addresses and one SRV record for a hostname that several endpoints share', async () => {
    web.given(
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
    expect(await web.at(WEB)).toEqual([...addresses, srv]);
    expect(await web.at(`db.${WEB}`)).toEqual([...addresses, srv]);
    expect(await web.at(`_http._tcp.${WEB}`)).toEqual([srv]);
    const { additionals } = await web.answers.ask(`_http._tcp.${WEB}`, 'SRV');
    expect([...additionals].sort()).toEqual(addresses.map((text) => `db.${WEB} ${text}`));
  });

  it('has an endpoint once that is in two slices', async () => {
    const slice = { ...hosts('10.1.0.1'), ports: [TCP] };
    web.given(HEADLESS, slice, slice);
    const target = `${hashLabel('10.1.0.1')}.${WEB}`;
    expect(await web.at(WEB)).toEqual(['A 10.1.0.1', `SRV 10 100 80 ${target}`]);
    expect(await web.at(`_http._tcp.${WEB}`)).toEqual([`SRV 10 100 80 ${target}`]);
    expect(await web.at('1.0.1.10.in-addr.arpa')).toEqual([`PTR ${target}`]);
  });

  it('has the address of a hostname once that is in two slices', async () => {
    const slice = hosts({ addresses: ['10.1.0.1'], hostname: 'db' });
    web.given(HEADLESS, slice, slice);
    expect(await web.at(`db.${WEB}`)).toContain('A 10.1.0.1');
    expect(await web.answers.records(`db.${WEB}`, ['A'])).toHaveLength(1);
  });

  it('has the ports of each endpoint from its slice', async () => {
    web.given(
      HEADLESS,
      { ...hosts({ addresses: ['10.1.0.1'], hostname: 'a' }), ports: [{ name: 'http', port: 80 }] },
      { ...hosts({ addresses: ['10.1.0.2'], hostname: 'b' }), ports: [{ name: 'http', port: 81 }] },
      { ...hosts({ addresses: ['10.1.0.3'], hostname: 'c' }), ports: [{ name: 'dns', port: 53 }] },
    );
    expect(await web.at(`_http._tcp.${WEB}`)).toEqual([
      `SRV 10 50 80 a.${WEB}`,
      `SRV 10 50 81 b.${WEB}`,
    ]);
    expect(await web.at(`_dns._tcp.${WEB}`)).toEqual([`SRV 10 100 53 c.${WEB}`]);
  });

  it('has one SRV record per port where one address is in slices with different ports', async () => {
    web.given(
      HEADLESS,
      { ...hosts('10.1.0.1'), ports: [{ name: 'http', port: 80 }] },
      { ...hosts('10.1.0.1'), ports: [{ name: 'http', port: 81 }] },
    );
    const target = `${hashLabel('10.1.0.1')}.${WEB}`;
    expect(await web.at(`_http._tcp.${WEB}`)).toEqual([
      `SRV 10 50 80 ${target}`,
      `SRV 10 50 81 ${target}`,
    ]);
  });

  it('separates the ports of endpoints whose slices have some in common', async () => {
    const [A, B, C] = [80, 81, 82].map((port) => ({ ...TCP, name: `p${port}`, port }));
    web.given(
      HEADLESS,
      { ...hosts('10.1.0.1', '10.1.0.2'), ports: [A!] },
      { ...hosts('10.1.0.1'), ports: [B!] },
      { ...hosts('10.1.0.2'), ports: [C!] },
    );
    const numbers = async (address: string) =>
      (await web.at(`${hashLabel(address)}.${WEB}`))
        .filter((text) => text.startsWith('SRV'))
        .map((text) => text.split(' ')[3]);
    expect(await numbers('10.1.0.1')).toEqual(['80', '81']);
    expect(await numbers('10.1.0.2')).toEqual(['80', '82']);
  });

  it('has the ports that a slice has, though another one has these and more', async () => {
    const udp = { name: 'http', port: 80, protocol: 'UDP' };
    web.given(
      HEADLESS,
      { ...hosts('10.1.0.1'), ports: [TCP, udp] },
      { ...hosts('10.1.0.2'), ports: [TCP] },
    );
    expect(await web.at(`_http._udp.${WEB}`)).toEqual([
      `SRV 10 100 80 ${hashLabel('10.1.0.1')}.${WEB}`,
    ]);
    expect(await web.at(`_http._tcp.${WEB}`)).toHaveLength(2);
  });

  it('separates protocols where one endpoint is in two slices', async () => {
    const udp = { name: 'http', port: 80, protocol: 'UDP' };
    web.given(
      HEADLESS,
      { ...hosts('10.1.0.1'), ports: [TCP] },
      { ...hosts('10.1.0.1'), ports: [udp] },
    );
    expect(await web.at(`_http._udp.${WEB}`)).toHaveLength(1);
    expect(await web.at(`_http._tcp.${WEB}`)).toHaveLength(1);
  });

  it('loses the endpoints of a slice that goes, though it was asked for before', async () => {
    web.given(HEADLESS, hosts('10.1.0.1'), hosts('10.1.0.2'));
    expect(await web.answers.records(WEB, ['A'])).toHaveLength(2);
    web.answers.cluster.endpointSlices.delete(sliceObject({ name: 'web-0' }));
    expect(await web.answers.records(WEB, ['A'])).toEqual(['A 10.1.0.2']);
  });

  it('has many hostnames, and many addresses of one', async () => {
    const addresses = Array.from({ length: 2_000 }, (_, i) => `10.2.${i >> 8}.${i & 255}`);
    const named = addresses.map((address, i) => ({ addresses: [address], hostname: `h${i}` }));
    web.given(HEADLESS, hosts(...named), hosts({ addresses, hostname: 'all' }));
    expect(await web.answers.records(`h1999.${WEB}`, ['A'])).toEqual(['A 10.2.7.207']);
    expect(await web.answers.records(`all.${WEB}`, ['A'])).toHaveLength(2_000);
  });

  it('finds a generated label first of all, beside endpoints with a hostname', async () => {
    web.given(HEADLESS, hosts({ addresses: ['10.1.0.1'], hostname: 'a' }, '10.1.0.2'));
    expect(await web.rcodeOf(`${hashLabel('10.1.0.2')}.${WEB}`)).toBe('NOERROR');
  });

  it('leaves a slice out whose service has a name that is no label', () => {
    web.given(HEADLESS, { ...hosts('10.1.0.1'), service: 'a.b' });
    expect(web.answers.cluster.rejected).toEqual(['default/web-0: "a.b" is not a DNS label']);
  });

  it('has the generated label of no hash for no host with a hostname', async () => {
    web.given(HEADLESS, hosts({ addresses: ['10.1.0.1'], hostname: 'a' }));
    expect(await web.rcodeOf(`a.${WEB}`)).toBe('NOERROR');
    expect(await web.rcodeOf(`30.${WEB}`)).toBe('NXDOMAIN');
  });

  it('leaves out endpoints whose fields are no text', async () => {
    web = new WebService(new Answers({ endpointNames: 'pod' }));
    const odd = ['10.1.0.9'] as unknown as string;
    const number = 5 as unknown as string;
    web.given(
      HEADLESS,
      hosts(
        { addresses: [odd] },
        { addresses: ['10.1.0.2'], hostname: number },
        { addresses: ['10.1.0.3'], pod: number },
      ),
    );
    expect(await web.answers.records(WEB, ['A'])).toEqual(['A 10.1.0.3']);
    expect(await web.answers.records(`${hashLabel('10.1.0.3')}.${WEB}`, ['A'])).toHaveLength(1);
    expect(web.answers.cluster.rejected).toHaveLength(2);
  });

  it('leaves out invalid addresses and hostnames, and logs them', async () => {
    web.given(
      HEADLESS,
      hosts(
        { addresses: ['nonsense', 'fe80::1%eth0', '10.1.0.1'] },
        { addresses: ['10.1.0.2'], hostname: 'a_b' },
      ),
      { ...hosts('10.1.0.3'), addressType: 'FQDN' },
    );
    expect(await web.answers.records(WEB, ['A'])).toEqual(['A 10.1.0.1']);
    expect(web.answers.cluster.rejected).toEqual([
      'default/web-0: endpoint "nonsense" is not an IP address',
      'default/web-0: endpoint "fe80::1%eth0" is not an IP address',
      'default/web-0: endpoint 10.1.0.2: hostname "a_b" is not a DNS label',
    ]);
  });

  it('has twenty thousand endpoints, and answers with what fits', async () => {
    const slice = (first: number) =>
      Array.from({ length: 1_000 }, (_, i) => {
        const number = first * 1_000 + i;
        return `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
      });
    web.given(
      HEADLESS,
      ...Array.from({ length: 20 }, (_, i) => ({ endpoints: slice(i), ports: [TCP] })),
    );
    const answer = await web.answers.ask(WEB, 'A', { hasEdns: true });
    expect(answer.flags).toBe('aa ra rd tc');
    expect(answer.answers.length).toBeGreaterThan(70);
    expect(await web.at(`${hashLabel('10.0.77.77')}.${WEB}`)).toContain('A 10.0.77.77');
    expect(await web.at('77.77.0.10.in-addr.arpa')).toEqual([
      `PTR ${hashLabel('10.0.77.77')}.${WEB}`,
    ]);
  });
});
