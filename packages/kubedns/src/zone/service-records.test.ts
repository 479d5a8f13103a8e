import { describe, expect, it } from '@jest/globals';
import { decodeName, encodeKey } from '@kube-dns/wire';
import {
  type EndpointFields,
  HEADLESS,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';
import { recordTexts } from '../../test/support/record-text.js';
import { projectEndpointSlice } from '../cluster/endpoint-slice.js';
import { projectService } from '../cluster/service.js';
import { hashLabel } from './endpoint-name.js';
import { serviceRecords } from './service-records.js';

const ZONE = encodeKey('svc.cluster.local');
const WEB = 'web.default.svc.cluster.local';
const TCP = { name: 'http', port: 80, protocol: 'TCP' };

type ServiceFields = Parameters<typeof serviceObject>[0];
type SliceFields = Parameters<typeof sliceObject>[0];

/** The records of the service `web` and its slices as API objects. */
function recordsOf(service: ServiceFields, ...slices: SliceFields[]) {
  const projected = slices.map((fields) => projectEndpointSlice(sliceObject(fields)));
  const { forward, reverse } = serviceRecords(
    projectService(serviceObject(service)),
    projected,
    ZONE,
  );
  return { forward: recordTexts(forward), reverse: recordTexts(reverse), ranks: ranksOf(reverse) };
}

function ranksOf(reverse: readonly { rdata: Uint8Array; rank: number }[]): Map<string, number> {
  return new Map(reverse.map(({ rdata, rank }) => [decodeName(rdata), rank]));
}

/** The records of one owner, without it. */
function at(records: readonly string[], owner: string): string[] {
  return records
    .filter((record) => record.startsWith(`${owner} `))
    .map((record) => record.slice(owner.length + 1));
}

const hosts = (...endpoints: EndpointFields[]) => ({ endpoints });

describe('a service with a cluster address', () => {
  it('has an address record under its name and under the generated label, and a PTR', () => {
    const { forward, reverse } = recordsOf({ clusterIPs: ['10.0.0.1'] });
    expect(at(forward, WEB)).toEqual(['A 10.0.0.1', `SRV 10 100 0 ${WEB}`]);
    expect(at(forward, `${hashLabel('10.0.0.1')}.${WEB}`)).toEqual(['A 10.0.0.1']);
    expect(forward).toHaveLength(3);
    expect(reverse).toEqual([`1.0.0.10.in-addr.arpa PTR ${WEB}`]);
  });

  it('has AAAA in place of A when its address is IPv6', () => {
    const { forward, reverse } = recordsOf({ clusterIPs: ['fd00::11'] });
    expect(at(forward, WEB)).toEqual(['AAAA fd00::11', `SRV 10 100 0 ${WEB}`]);
    expect(reverse).toEqual([
      `1.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa PTR ${WEB}`,
    ]);
  });

  it('has the generated label of an address in its canonical text', () => {
    const { forward } = recordsOf({ clusterIPs: ['FD00:0:0::0:11'] });
    expect(at(forward, `${hashLabel('fd00::11')}.${WEB}`)).toEqual(['AAAA fd00::11']);
  });

  it('has addresses of both families and one SRV record of full weight when it is dual-stack', () => {
    const { forward, reverse } = recordsOf({ clusterIPs: ['10.0.0.1', 'fd00::11'], ports: [TCP] });
    expect(at(forward, WEB)).toEqual(['A 10.0.0.1', 'AAAA fd00::11', `SRV 10 100 80 ${WEB}`]);
    expect(at(forward, `_http._tcp.${WEB}`)).toEqual([`SRV 10 100 80 ${WEB}`]);
    expect(reverse).toHaveLength(2);
  });

  it('has SRV records for named ports, and every port under its own name', () => {
    const ports = [TCP, { port: 9, protocol: 'TCP' }, { name: 'Admin', port: 8080 }];
    const { forward } = recordsOf({ ports });
    expect(at(forward, `_http._tcp.${WEB}`)).toEqual([`SRV 10 100 80 ${WEB}`]);
    expect(at(forward, `_admin._tcp.${WEB}`)).toEqual([`SRV 10 100 8080 ${WEB}`]);
    expect(at(forward, WEB).slice(1)).toEqual([
      `SRV 10 33 80 ${WEB}`,
      `SRV 10 33 8080 ${WEB}`,
      `SRV 10 33 9 ${WEB}`,
    ]);
    expect(forward).toHaveLength(7);
  });

  it('tells protocols apart, and gives one number over two of them one full weight', () => {
    const ports = [
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'dns', port: 53, protocol: 'TCP' },
      { name: 'dns', port: 54, protocol: 'SCTP' },
    ];
    const { forward } = recordsOf({ ports });
    expect(at(forward, `_dns._udp.${WEB}`)).toEqual([`SRV 10 100 53 ${WEB}`]);
    expect(at(forward, `_dns._tcp.${WEB}`)).toEqual([`SRV 10 100 53 ${WEB}`]);
    expect(at(forward, `_dns._sctp.${WEB}`)).toEqual([`SRV 10 100 54 ${WEB}`]);
    expect(at(forward, WEB).slice(1)).toEqual([`SRV 10 50 53 ${WEB}`, `SRV 10 50 54 ${WEB}`]);
  });

  it('goes without the SRV record of a port whose name fills a label by itself', () => {
    const longest = 'p'.repeat(62);
    const ports = [
      { name: longest, port: 1 },
      { name: 'p'.repeat(63), port: 2 },
    ];
    const { forward } = recordsOf({ ports });
    expect(forward.filter((record) => record.startsWith('_'))).toEqual([
      `_${longest}._tcp.${WEB} SRV 10 100 1 ${WEB}`,
    ]);
    expect(at(forward, WEB)).toContain(`SRV 10 50 2 ${WEB}`);
  });

  it('takes nothing from its slices', () => {
    const slice = { ...hosts('10.1.0.1'), ports: [TCP] };
    expect(recordsOf({}, slice)).toEqual(recordsOf({}));
  });
});

describe('a headless service', () => {
  it('has no record without a ready endpoint', () => {
    const slice = hosts({ addresses: ['10.1.0.1'], hostname: 'a', isReady: false });
    expect(recordsOf(HEADLESS, slice)).toEqual({ forward: [], reverse: [], ranks: new Map() });
    expect(recordsOf(HEADLESS).forward).toEqual([]);
  });

  it('counts a service that waits for its address as headless', () => {
    expect(recordsOf({ clusterIPs: [''] }, hosts('10.1.0.1')).forward).toContain(
      `${WEB} A 10.1.0.1`,
    );
  });

  it('takes an endpoint that is silent about being ready for ready', () => {
    const { forward } = recordsOf(HEADLESS, hosts({ addresses: ['10.1.0.1'], isReady: undefined }));
    expect(at(forward, WEB)).toContain('A 10.1.0.1');
  });

  it('names an endpoint by its hostname, else by the generated label', () => {
    const slice = hosts({ addresses: ['10.1.0.1'], hostname: 'Db-0' }, '10.1.0.2');
    const { forward, reverse } = recordsOf(HEADLESS, slice);
    const generated = `${hashLabel('10.1.0.2')}.${WEB}`;
    expect(at(forward, WEB)).toEqual([
      'A 10.1.0.1',
      'A 10.1.0.2',
      `SRV 10 50 0 ${generated}`,
      `SRV 10 50 0 db-0.${WEB}`,
    ]);
    expect(at(forward, `db-0.${WEB}`)).toEqual(['A 10.1.0.1', `SRV 10 100 0 db-0.${WEB}`]);
    expect(at(forward, generated)).toEqual(['A 10.1.0.2', `SRV 10 100 0 ${generated}`]);
    expect(reverse).toEqual([
      `1.0.1.10.in-addr.arpa PTR db-0.${WEB}`,
      `2.0.1.10.in-addr.arpa PTR ${generated}`,
    ]);
  });

  it('gives a hostname that several endpoints share all their addresses and one SRV record', () => {
    const { forward, reverse } = recordsOf(
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
    expect(at(forward, WEB)).toEqual([...addresses, srv]);
    expect(at(forward, `db.${WEB}`)).toEqual([...addresses, srv]);
    expect(at(forward, `_http._tcp.${WEB}`)).toEqual([srv]);
    expect(reverse).toHaveLength(3);
  });

  it('has an endpoint once that stands in two slices', () => {
    const slice = { ...hosts('10.1.0.1'), ports: [TCP] };
    const once = recordsOf(HEADLESS, slice);
    expect(recordsOf(HEADLESS, slice, { ...slice, name: 'web-2' })).toEqual(once);
    expect(at(once.forward, `_http._tcp.${WEB}`)).toHaveLength(1);
  });

  it('has the ports of each endpoint from the slice that it stands in', () => {
    const { forward } = recordsOf(
      HEADLESS,
      { ...hosts({ addresses: ['10.1.0.1'], hostname: 'a' }), ports: [{ name: 'http', port: 80 }] },
      { ...hosts({ addresses: ['10.1.0.2'], hostname: 'b' }), ports: [{ name: 'http', port: 81 }] },
      { ...hosts({ addresses: ['10.1.0.3'], hostname: 'c' }), ports: [{ name: 'dns', port: 53 }] },
    );
    expect(at(forward, `_http._tcp.${WEB}`)).toEqual([
      `SRV 10 50 80 a.${WEB}`,
      `SRV 10 50 81 b.${WEB}`,
    ]);
    expect(at(forward, `_dns._tcp.${WEB}`)).toEqual([`SRV 10 100 53 c.${WEB}`]);
  });

  it('has one SRV record per port where one address stands in slices with different ports', () => {
    const { forward } = recordsOf(
      HEADLESS,
      { ...hosts('10.1.0.1'), ports: [{ name: 'http', port: 80 }] },
      { ...hosts('10.1.0.1'), ports: [{ name: 'http', port: 81 }] },
    );
    const target = `${hashLabel('10.1.0.1')}.${WEB}`;
    expect(at(forward, `_http._tcp.${WEB}`)).toEqual([
      `SRV 10 50 80 ${target}`,
      `SRV 10 50 81 ${target}`,
    ]);
  });

  it('has no SRV record for a port without a number', () => {
    const { forward } = recordsOf(HEADLESS, { ...hosts('10.1.0.1'), ports: [{ name: 'any' }] });
    expect(forward.filter((record) => record.startsWith('_'))).toEqual([]);
  });

  it.each([
    [1, 100],
    [3, 33],
    [7, 14],
    [101, 0],
  ])('shares the weight of 100 among %i targets: %i each', (count, weight) => {
    const endpoints = Array.from({ length: count }, (_, i) => `10.1.0.${i}`);
    const { forward } = recordsOf(HEADLESS, { endpoints, ports: [TCP] });
    const srv = at(forward, `_http._tcp.${WEB}`);
    expect(srv).toHaveLength(count);
    expect(srv.every((record) => record.startsWith(`SRV 10 ${weight} 80 `))).toBe(true);
  });

  it('may have more records than a function call has arguments', () => {
    const endpoints = Array.from({ length: 70_000 }, (_, i) => ({
      address: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`,
      hostname: '',
    }));
    const slice = {
      namespace: 'default',
      service: 'web',
      endpoints,
      ports: [{ ...TCP, protocol: 'tcp' }],
    };
    const { forward } = serviceRecords(projectService(serviceObject(HEADLESS)), [slice], ZONE);
    expect(forward).toHaveLength(350_000);
  });

  it('leaves addresses out that are none, and slices of names', () => {
    const { forward } = recordsOf(
      HEADLESS,
      hosts({ addresses: ['nonsense', 'fe80::1%eth0', '10.1.0.1'] }),
      { ...hosts('10.1.0.2'), addressType: 'FQDN' },
    );
    expect(at(forward, WEB).filter((record) => !record.startsWith('SRV'))).toEqual(['A 10.1.0.1']);
  });
});

describe('the names of one address', () => {
  it('rank services before hostnames before generated labels', () => {
    const { ranks } = recordsOf(
      HEADLESS,
      hosts({ addresses: ['10.1.0.1'], hostname: 'a' }, '10.1.0.2'),
    );
    const service = recordsOf({}).ranks.get(WEB)!;
    const hostname = ranks.get(`a.${WEB}`)!;
    const generated = ranks.get(`${hashLabel('10.1.0.2')}.${WEB}`)!;
    expect([generated, service, hostname].sort()).toEqual([service, hostname, generated]);
    expect(new Set([generated, service, hostname]).size).toBe(3);
  });
});

describe('an ExternalName service', () => {
  it.each([
    ['db.example.com', 'CNAME db.example.com'],
    ['db.example.com.', 'CNAME db.example.com'],
    ['DB.Example.com', 'CNAME DB.Example.com'],
    ['foo', 'CNAME foo'],
    ['192.0.2.7', 'A 192.0.2.7'],
    ['2001:db8::7', 'AAAA 2001:db8::7'],
  ])('to %s has one record', (externalName, record) => {
    const slice = { ...hosts('10.1.0.1'), ports: [TCP] };
    const { forward, reverse } = recordsOf({ externalName }, slice);
    expect(forward).toEqual([`${WEB} ${record}`]);
    expect(reverse).toEqual([]);
  });

  it.each(['', '.', 'a..b', `${'x'.repeat(64)}.com`, 'a.'.repeat(128)])(
    'to %j is refused',
    (externalName) => {
      expect(() => recordsOf({ externalName })).toThrow(/name/i);
    },
  );
});
