import { beforeEach, describe, expect, it } from '@jest/globals';
import type { V1Service } from '@kubernetes/client-node';
import { decodeName, readUint32 } from '@kube-dns/wire';
import { Cluster } from '../../test/support/cluster.js';
import { askLocal } from '../../test/support/local-answers.js';
import { Secondary } from '../../test/support/secondary.js';
import { NO_IPV4, NO_IPV6, projectService, type Service } from '../watch/projections.js';
import { transferableExternal } from './external-transfer.js';
import { ExternalZone } from './external-zone.js';

const ZONE = 'example.com';
const WEB = `web.shop.${ZONE}`;
const KEPT = { outside: true, hostNames: false };

function service(
  ingress: readonly object[],
  { externalIPs = [] as string[], ports = [] as object[], type = 'LoadBalancer' } = {},
): Service {
  const object = {
    metadata: { namespace: 'shop', name: 'web' },
    spec: { type, clusterIP: '10.0.0.1', externalIPs, ports },
    status: { loadBalancer: { ingress } },
  };
  const onRejected = (reason: string) => {
    throw new Error(reason);
  };
  const reading = { names: 'hash', onRejected, keeps: KEPT } as const;
  return projectService(object as unknown as V1Service, reading);
}

const PORTS = [
  { name: 'http', port: 80, protocol: 'TCP' },
  { name: 'https', port: 443, protocol: 'TCP' },
];

let zone: ExternalZone;
let announced: string[];
let nowMs: number;
beforeEach(() => {
  announced = [];
  nowMs = 1_000_000;
  zone = new ExternalZone({
    domain: `${ZONE}.`,
    ttlSeconds: 30,
    negativeTtlSeconds: 5,
    changes: {
      isObserved: true,
      takesNames: true,
      add: (name) => void announced.push(decodeName(name)),
    },
    isSynced: () => true,
    ownRecords: () => ({ ipv4: { size: 4, bytes: '\n\0\0\n' }, ipv6: NO_IPV6, target: undefined }),
    now: () => nowMs,
    random: () => 0,
  });
});

function records(name: string, type: string): readonly string[] | string | undefined {
  const answer = askLocal(zone, name, type);
  if (answer?.rcode !== 'NOERROR') return answer?.rcode;
  return answer.answers;
}

function serial(): number {
  const told = zone.tellSoa();
  return readUint32(told, told.length - 20);
}

describe('the zone of --external-domain', () => {
  it('has the addresses of the load balancer, then externalIPs', () => {
    zone.putService(
      'shop/web',
      service([{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }], { externalIPs: ['192.0.2.9'] }),
    );
    expect(records(WEB, 'A')).toEqual([`${WEB} A 192.0.2.1`, `${WEB} A 192.0.2.9`]);
    expect(records(WEB, 'AAAA')).toEqual([`${WEB} AAAA 2001:db8::1`]);
    expect(records(WEB, 'TXT')).toEqual([]);
    expect(zone.targetOf(1)).toBeUndefined();
  });

  it('has each address once, however it is written', () => {
    const ingress = [{ ip: '2001:db8::1' }, { hostname: '2001:db8:0::1' }, { ip: '2001:DB8::1' }];
    zone.putService('shop/web', service(ingress));
    expect(records(WEB, 'AAAA')).toEqual([`${WEB} AAAA 2001:db8::1`]);
  });

  it('has a CNAME for a lone hostname, and none beside addresses', () => {
    const hostname = 'LB.cloud.example.';
    zone.putService('shop/web', service([{ hostname }]));
    expect(records(WEB, 'CNAME')).toEqual([`${WEB} CNAME lb.cloud.example`]);
    expect(decodeName(zone.targetOf(1)!)).toBe('lb.cloud.example');
    zone.putService('shop/web', service([{ hostname }, { ip: '192.0.2.1' }]));
    expect(records(WEB, 'CNAME')).toEqual([]);
    expect(records(WEB, 'A')).toEqual([`${WEB} A 192.0.2.1`]);
  });

  it('has SRV records of ports, with the addresses of their target', () => {
    zone.putService('shop/web', service([{ ip: '192.0.2.1' }], { ports: PORTS }));
    const name = `_https._tcp.${WEB}`;
    expect(askLocal(zone, name, 'SRV')).toMatchObject({
      answers: [`${name} SRV 10 100 443 ${WEB}`],
      additionals: [`${WEB} A 192.0.2.1`],
    });
    expect(records(WEB, 'SRV')).toEqual([
      `${WEB} SRV 10 50 80 ${WEB}`,
      `${WEB} SRV 10 50 443 ${WEB}`,
    ]);
    expect(records(`_tcp.${WEB}`, 'SRV')).toEqual([]);
    for (const other of [
      `_udp.${WEB}`,
      `_dns._tcp.${WEB}`,
      `http.tcp.${WEB}`,
      `x._http._tcp.${WEB}`,
    ]) {
      expect(records(other, 'SRV')).toBe('NXDOMAIN');
    }
    // The target of an SRV record must not be an alias.
    zone.putService('shop/web', service([{ hostname: 'lb.cloud.example' }], { ports: PORTS }));
    expect(records(name, 'SRV')).toEqual([`${name} SRV 10 100 443 lb.cloud.example`]);
  });

  it('has nothing else of the cluster', () => {
    expect(records(`shop.${ZONE}`, 'A')).toBe('NXDOMAIN');
    zone.putService('shop/web', service([]));
    expect(records(WEB, 'A')).toBe('NXDOMAIN');
    expect(records(`shop.${ZONE}`, 'A')).toBe('NXDOMAIN');
    zone.putService('shop/web', service([{ ip: '192.0.2.1' }]));
    expect(records(`shop.${ZONE}`, 'A')).toEqual([]);
    expect(records(`other.shop.${ZONE}`, 'A')).toBe('NXDOMAIN');
    expect(records(`x.${WEB}`, 'A')).toBe('NXDOMAIN');
    zone.putService('shop/web', undefined);
    expect(records(`shop.${ZONE}`, 'A')).toBe('NXDOMAIN');
    expect(askLocal(zone, 'web.shop.example.org', 'A')).toBeUndefined();
    expect(askLocal(zone, WEB, 'A')).toMatchObject({ rcode: 'NXDOMAIN', answers: [] });
  });

  it('has an SOA, and a name server with addresses: outside ones where its service has some', () => {
    const ns = `ns.dns.${ZONE}`;
    expect(askLocal(zone, ZONE, 'NS')).toMatchObject({
      answers: [`${ZONE} NS ${ns}`],
      additionals: [`${ns} A 10.0.0.10`],
    });
    zone.putService('kube-system/kube-dns', service([{ ip: '192.0.2.53' }]));
    expect(records(ns, 'A')).toEqual([`${ns} A 192.0.2.53`]);
    expect(records(`dns.${ZONE}`, 'A')).toEqual([]);
    expect(records(ZONE, 'A')).toEqual([]);
    expect(askLocal(zone, ZONE, 'A')!.authorities[0]).toMatch(
      `${ZONE} SOA ${ns} hostmaster.${ZONE} `,
    );
  });

  it('has PTR records of private addresses alone', () => {
    zone.putService(
      'shop/web',
      service([{ ip: '192.168.1.9' }, { ip: '192.0.2.1' }, { ip: 'fd00::9' }]),
    );
    const reverse = '9.1.168.192.in-addr.arpa';
    expect(records(reverse, 'PTR')).toEqual([`${reverse} PTR ${WEB}`]);
    expect(records(reverse, 'A')).toEqual([]);
    expect(records('1.2.0.192.in-addr.arpa', 'PTR')).toBeUndefined();
    zone.putService('shop/web', service([{ ip: '192.0.2.1' }]));
    expect(records(reverse, 'PTR')).toBeUndefined();
  });

  it('moves its serial with each change of its content, and with nothing else', () => {
    const first = serial();
    const web = service([{ ip: '192.0.2.1' }]);
    zone.putService('shop/web', web);
    expect(serial()).toBe(first + 1);
    zone.putService('shop/web', { ...web, version: '7' });
    expect(serial()).toBe(first + 1);
    nowMs += 60_000;
    zone.putService('shop/web', undefined);
    expect(serial()).toBe(first + 60);
  });

  it('announces the names that change', () => {
    zone.putService('shop/web', service([{ ip: '10.0.0.9' }]));
    expect(announced).toEqual([WEB, `shop.${ZONE}`, '9.0.0.10.in-addr.arpa']);
    announced = [];
    zone.putService('shop/other', service([{ ip: '192.0.2.1' }]));
    expect(announced).toEqual([`other.shop.${ZONE}`]);
  });

  it('leaves out names that are too long', () => {
    zone.putService(`${'n'.repeat(63)}/web`, service([{ ip: '192.0.2.1' }]));
    expect(zone.tooLong).toBe(0);
    const long = new ExternalZone({
      domain: `${'z'.repeat(60)}.`.repeat(3),
      ttlSeconds: 30,
      negativeTtlSeconds: 5,
      changes: { isObserved: false, takesNames: false, add: () => undefined },
      isSynced: () => true,
      ownRecords: () => ({ ipv4: NO_IPV4, ipv6: NO_IPV6, target: undefined }),
    });
    long.putService(`${'n'.repeat(63)}/${'s'.repeat(63)}`, service([{ ip: '192.0.2.1' }]));
    expect([long.size, long.tooLong]).toEqual([0, 1]);
  });
});

describe('the transfer of the zone', () => {
  it('has every record as it is answered, and a serial that rises with each change', async () => {
    const ports = [...PORTS, { port: 9000, protocol: 'TCP' }];
    zone.putService('shop/web', service([{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }], { ports }));
    zone.putService('shop/alias', service([{ hostname: 'lb.example.net' }], { ports }));
    const beside = [transferableExternal(zone, 30)];
    const secondary = new Secondary({ zone: new Cluster().zone, beside });
    const { content, serials } = await secondary.transfer(ZONE);
    expect(content).toContain(`${ZONE} NS ns.dns.${ZONE}`);
    const names = new Set(content.map((text) => text.split(' ')[0]!));
    expect([...names].sort()).toEqual([
      `_http._tcp.alias.shop.${ZONE}`,
      `_http._tcp.${WEB}`,
      `_https._tcp.alias.shop.${ZONE}`,
      `_https._tcp.${WEB}`,
      `alias.shop.${ZONE}`,
      ZONE,
      `ns.dns.${ZONE}`,
      WEB,
    ]);
    for (const name of names) {
      for (const type of ['A', 'AAAA', 'SRV', 'CNAME', 'NS']) {
        const transferred = content.filter((text) => text.startsWith(`${name} ${type} `));
        if (transferred.length > 0)
          expect(transferred).toEqual([...(records(name, type) as readonly string[])].sort());
      }
    }
    zone.putService('shop/alias', undefined);
    const next = await secondary.transfer(ZONE);
    expect(next.serials[0]).toBeGreaterThan(serials[0]!);
    expect(next.content.some((text) => text.includes('alias'))).toBe(false);
  });
});
