import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeName, readUint32 } from '@kube-dns/wire';
import { Answers, type AnswersOptions } from '../../test/support/answers.js';
import { MCS_DNS_CHECKS } from '../../test/fixtures/mcs-dns-checks.js';
import {
  HEADLESS,
  importedSliceObject,
  importObject,
  namespaceObject,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';

const ZONE = 'clusterset.local';
const HTTP = [{ name: 'http', port: 80, protocol: 'TCP' }];
const HEADLESS_IMPORT = { type: 'Headless', ports: HTTP };

let answers: Answers;
let announced: string[];
beforeEach(() => void (answers = open()));
afterEach(() => answers.close());

/** With the namespaces `default` and `prod`. */
function open(options: AnswersOptions = {}): Answers {
  announced = [];
  const changes = {
    isObserved: true,
    takesNames: true,
    add: (name: Uint8Array) => void announced.push(decodeName(name)),
  };
  const opened = new Answers({ clusterset: `${ZONE}.`, changes, random: () => 0, ...options });
  const { cluster } = opened;
  for (const name of ['default', 'prod']) cluster.namespaces.put(namespaceObject(name));
  cluster.zone.hasAllNamespaces = true;
  return opened;
}

/** The rcode of a name, with the records of a type after it. */
async function texts(name: string, type = 'A'): Promise<string[]> {
  const { rcode, answers: found } = await answers.ask(name, type, { isOverTcp: true });
  return [rcode, ...found.map((text) => text.slice(text.indexOf(' ') + 1)).sort()];
}

/** Two clusters with two hosts each, one of which has a hostname; both families of `db-0`. */
function headlessImport(): void {
  const { cluster } = answers;
  cluster.serviceImports.put(importObject(HEADLESS_IMPORT));
  for (const [number, name] of ['east', 'west'].entries()) {
    const endpoints = [
      { addresses: [`10.${number}.0.1`], hostname: 'db-0' },
      { addresses: [`10.${number}.0.2`] },
    ];
    cluster.endpointSlices.put(importedSliceObject({ cluster: name, endpoints, ports: HTTP }));
  }
  const endpoints = [{ addresses: ['fd00::1'], hostname: 'db-0' }];
  const ipv6 = { name: 'web-east-6', addressType: 'IPv6', endpoints, ports: HTTP };
  cluster.endpointSlices.put(importedSliceObject(ipv6));
}

describe('the checks of the conformance suite of mcs-api', () => {
  const slice = (cluster: string, hosts: readonly { ip: string; hostname?: string }[]) => {
    const isIpv6 = hosts[0]!.ip.includes(':');
    const endpoints = hosts.map(({ ip, hostname }) => ({
      addresses: [ip],
      ...(hostname !== undefined && { hostname }),
    }));
    const name = `web-${cluster}-${isIpv6 ? 6 : 4}`;
    const addressType = isIpv6 ? 'IPv6' : 'IPv4';
    const object = importedSliceObject({ name, cluster, addressType, endpoints, ports: HTTP });
    answers.cluster.endpointSlices.put(object);
  };
  const objects = {
    clusterip: () => {
      const ips = ['10.42.0.1', 'fd42::1'];
      answers.cluster.serviceImports.put(importObject({ ips, ports: HTTP }));
      answers.cluster.services.put(serviceObject({ clusterIPs: ['10.96.0.1'] }));
    },
    pods: () => {
      answers.cluster.serviceImports.put(importObject(HEADLESS_IMPORT));
      slice('east', [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }]);
      slice('east', [{ ip: 'fd00::1' }, { ip: 'fd00::2' }]);
    },
    'stateful-set': () => {
      answers.cluster.serviceImports.put(importObject(HEADLESS_IMPORT));
      for (const [i, cluster] of ['east', 'west'].entries()) {
        const ips = [`10.${i}.0.1`, `10.${i}.0.2`];
        slice(
          cluster,
          ips.map((ip, pod) => ({ ip, hostname: `web-${pod}` })),
        );
      }
      slice('east', [{ ip: 'fd00::1', hostname: 'web-0' }]);
    },
  } as const;

  it.each(MCS_DNS_CHECKS)('$file: $rule: $name $type', async (check) => {
    objects[check.imported]();
    const { name, type, answers: expected } = check;
    expect(await texts(name, type)).toEqual(['NOERROR', ...expected.toSorted()]);
  });

  it('are the six of the suite', () => {
    expect(new Set(MCS_DNS_CHECKS.map(({ rule }) => rule)).size).toBe(6);
  });
});

describe('where CoreDNS 1.14.7 is wrong', () => {
  it('a cluster of two labels has names of its endpoints', async () => {
    const { cluster } = answers;
    cluster.serviceImports.put(importObject(HEADLESS_IMPORT));
    const endpoints = [{ addresses: ['10.0.0.1'], hostname: 'db-0' }];
    cluster.endpointSlices.put(
      importedSliceObject({ cluster: 'c1.Region-A', endpoints, ports: HTTP }),
    );
    const name = `web.default.svc.${ZONE}`;
    expect(await texts(`db-0.c1.region-a.${name}`)).toEqual(['NOERROR', 'A 10.0.0.1']);
    expect(await texts(name, 'SRV')).toEqual(['NOERROR', `SRV 10 100 80 db-0.c1.region-a.${name}`]);
    for (const above of ['c1.region-a', 'region-a'])
      expect(await texts(`${above}.${name}`)).toEqual(['NOERROR']);
    expect(await texts(`region-b.${name}`)).toEqual(['NXDOMAIN']);
  });

  it('the version of the schema is that of the specification', async () => {
    expect(await texts(`dns-version.${ZONE}`, 'TXT')).toEqual(['NOERROR', 'TXT 1.0.0']);
  });

  it('a name of an endpoint has its cluster wherever it is: as target, and with its address', async () => {
    headlessImport();
    const { additionals } = await answers.ask(`web.default.svc.${ZONE}`, 'SRV', {
      isOverTcp: true,
    });
    const owners = additionals.map((text) => text.slice(0, text.indexOf(' ')));
    const hosts = ['10-0-0-2.east', '10-1-0-2.west', 'db-0.east', 'db-0.east', 'db-0.west'];
    expect(owners.sort()).toEqual(hosts.map((host) => `${host}.web.default.svc.${ZONE}`));
  });

  it('the serial rises with each import and each slice that is added, changed or deleted', () => {
    const { cluster, imported } = answers;
    const serial = () => readUint32(imported!.tellSoa(), imported!.soaRdata.length - 20);
    const serials = [serial()];
    const note = () => void serials.push(serial());
    const object = importObject(HEADLESS_IMPORT);
    const slice = importedSliceObject({ endpoints: ['10.0.0.1'] });
    cluster.serviceImports.put(object);
    note();
    cluster.endpointSlices.put(slice);
    note();
    cluster.endpointSlices.delete(slice);
    note();
    cluster.serviceImports.delete(object);
    note();
    expect(serials).toEqual([...new Set(serials)].sort());
    expect(serials).toHaveLength(5);
  });
});

describe('an import with addresses', () => {
  it('has a name for each port that has one, and none of endpoints', async () => {
    const { cluster } = answers;
    const ports = [...HTTP, { name: '', port: 53, protocol: 'UDP' }];
    cluster.serviceImports.put(importObject({ ports }));
    cluster.endpointSlices.put(
      importedSliceObject({ endpoints: [{ addresses: ['10.0.0.1'], hostname: 'db-0' }] }),
    );
    const name = `web.default.svc.${ZONE}`;
    expect(await texts(`_http._tcp.${name}`, 'SRV')).toEqual(['NOERROR', `SRV 10 100 80 ${name}`]);
    expect(await texts(`_tcp.${name}`, 'SRV')).toEqual(['NOERROR']);
    for (const other of ['_http._udp', '_https._tcp', '_udp', 'x._http._tcp', 'db-0.east', 'east'])
      expect(await texts(`${other}.${name}`, 'SRV')).toEqual(['NXDOMAIN']);
    expect(await texts(name, 'TXT')).toEqual(['NOERROR']);
  });

  it('has two at most, as the API allows', async () => {
    const { cluster } = answers;
    cluster.serviceImports.put(importObject({ ips: ['10.42.0.1', 'fd42::1', '10.42.0.3'] }));
    expect(await texts(`web.default.svc.${ZONE}`)).toEqual(['NOERROR', 'A 10.42.0.1']);
    expect(cluster.rejected.join()).toContain('1 more ips than 2');
  });

  it('has each once, however it is written', async () => {
    answers.cluster.serviceImports.put(importObject({ ips: ['fd42::1', 'FD42:0::1'] }));
    expect(await texts(`web.default.svc.${ZONE}`, 'AAAA')).toEqual(['NOERROR', 'AAAA fd42::1']);
  });

  it('exists when it has one', async () => {
    answers.cluster.serviceImports.put(importObject({ ips: [] }));
    expect(await texts(`web.default.svc.${ZONE}`)).toEqual(['NXDOMAIN']);
    answers.cluster.serviceImports.put(importObject());
    expect(await texts(`web.default.svc.${ZONE}`)).toEqual(['NOERROR', 'A 10.42.0.1']);
  });
});

describe('a headless import', () => {
  it('has the endpoints that are ready, and does not exist without one', async () => {
    const { cluster } = answers;
    cluster.serviceImports.put(importObject(HEADLESS_IMPORT));
    const name = `web.default.svc.${ZONE}`;
    expect(await texts(name)).toEqual(['NXDOMAIN']);
    const slice = (isReady: boolean | undefined) =>
      importedSliceObject({ endpoints: [{ addresses: ['10.0.0.1'], isReady }], ports: HTTP });
    cluster.endpointSlices.put(slice(false));
    expect(await texts(name)).toEqual(['NXDOMAIN']);
    expect(await texts(`east.${name}`)).toEqual(['NXDOMAIN']);
    cluster.endpointSlices.put(slice(undefined));
    expect(await texts(name)).toEqual(['NOERROR', 'A 10.0.0.1']);
    expect(await texts(`east.${name}`)).toEqual(['NOERROR']);
    expect(await texts(`_http._tcp.${name}`, 'SRV')).toEqual([
      'NOERROR',
      `SRV 10 100 80 10-0-0-1.east.${name}`,
    ]);
  });

  it('with more endpoints than fit gives the same ones of both families, and others later', async () => {
    let nowMs = 0;
    const realNow = Date.now;
    Date.now = () => nowMs;
    answers.close();
    answers = open();
    const { cluster } = answers;
    cluster.serviceImports.put(importObject(HEADLESS_IMPORT));
    const hosts = Array.from({ length: 100 }, (_, i) => i + 1);
    const slice = (addressType: string, address: (i: number) => string) =>
      importedSliceObject({
        name: addressType,
        addressType,
        endpoints: hosts.map((i) => ({ addresses: [address(i)], hostname: `db-${i}` })),
      });
    cluster.endpointSlices.put(slice('IPv4', (i) => `10.0.0.${i}`));
    cluster.endpointSlices.put(slice('IPv6', (i) => `fd00::${i}`));
    try {
      const first = async (type: string) => {
        const { answers: found } = await answers.ask(`web.default.svc.${ZONE}`, type);
        return found[0]!.split(/[.:]/).at(-1);
      };
      const seen = new Set<string | undefined>();
      for (nowMs = 0; nowMs < 100_000; nowMs += 1_000) {
        const [ipv4, ipv6] = [await first('A'), await first('AAAA')];
        expect(ipv6).toBe(ipv4);
        seen.add(ipv4);
      }
      expect(seen.size).toBeGreaterThan(20);
    } finally {
      Date.now = realNow;
    }
  });

  it('has no name for a host where it would have more than 253 characters, and counts these', async () => {
    const long = 'a'.repeat(63);
    const { cluster, imported } = answers;
    cluster.serviceImports.put(importObject({ ...HEADLESS_IMPORT, name: long }));
    const endpoints = [{ addresses: ['10.0.0.1'], hostname: long }, { addresses: ['10.0.0.2'] }];
    const slice = { cluster: `${long}.${long}`, service: long, endpoints, ports: HTTP };
    cluster.endpointSlices.put(importedSliceObject({ ...slice, name: 'long' }));
    expect(imported!.countLeftOut()).toBe(1);
    const name = `${long}.default.svc.${ZONE}`;
    expect(await texts(name)).toEqual(['NOERROR', 'A 10.0.0.1', 'A 10.0.0.2']);
    expect(await texts(name, 'SRV')).toEqual([
      'NOERROR',
      `SRV 10 50 80 10-0-0-2.${long}.${long}.${name}`,
    ]);
  });
});

describe('the zone of imports', () => {
  it.each([
    [ZONE, 'SOA', 'NOERROR', 1],
    [ZONE, 'NS', 'NOERROR', 1],
    [`svc.${ZONE}`, 'A', 'NOERROR', 0],
    [`default.svc.${ZONE}`, 'A', 'NOERROR', 0],
    [`dns.${ZONE}`, 'A', 'NOERROR', 0],
    [`ns.dns.${ZONE}`, 'A', 'NOERROR', 1],
    [`none.svc.${ZONE}`, 'A', 'NXDOMAIN', 0],
    [`10-0-0-1.default.pod.${ZONE}`, 'A', 'NXDOMAIN', 0],
    [`*.default.svc.${ZONE}`, 'A', 'NXDOMAIN', 0],
    [`web.default.svc.${ZONE}`, 'AXFR', 'REFUSED', 0],
  ])('answers %s %s with %s and %d records', async (name, type, rcode, count) => {
    answers.close();
    answers = open({ ownAddresses: [Uint8Array.of(10, 0, 0, 53)] });
    answers.cluster.serviceImports.put(importObject());
    const answer = await answers.ask(name, type);
    expect([answer.rcode, answer.answers.length]).toEqual([rcode, count]);
    if (rcode === 'NXDOMAIN' || (rcode === 'NOERROR' && count === 0)) {
      expect(answer.authorities[0]).toContain(`${ZONE} SOA ns.dns.${ZONE}`);
      expect(answer.flags).toContain('aa');
    }
  });

  it('has imports only where their namespace is', async () => {
    const { cluster } = answers;
    cluster.serviceImports.put(importObject({ namespace: 'prod' }));
    expect(await texts(`web.prod.svc.${ZONE}`)).toEqual(['NOERROR', 'A 10.42.0.1']);
    announced.length = 0;
    cluster.namespaces.delete(namespaceObject('prod'));
    expect(await texts(`web.prod.svc.${ZONE}`)).toEqual(['NXDOMAIN']);
    expect(announced).toContain(`prod.svc.${ZONE}`);
  });

  it('announces a namespace that comes and goes, also without imports: it exists', async () => {
    const { namespaces } = answers.cluster;
    expect(await texts(`new.svc.${ZONE}`)).toEqual(['NXDOMAIN']);
    namespaces.put(namespaceObject('new'));
    expect(await texts(`new.svc.${ZONE}`)).toEqual(['NOERROR']);
    namespaces.delete(namespaceObject('new'));
    expect(announced.filter((name) => name === `new.svc.${ZONE}`)).toHaveLength(2);
  });

  it('announces its name server when the DNS service changes', () => {
    const { services } = answers.cluster;
    services.put(serviceObject({ namespace: 'kube-system', name: 'kube-dns' }));
    expect(announced).toContain(`ns.dns.${ZONE}`);
  });

  it('gives no name to an address of an import', async () => {
    headlessImport();
    const { rcode } = await answers.ask('1.0.0.10.in-addr.arpa', 'PTR');
    expect(rcode).toBe('SERVFAIL');
  });

  it('is SERVFAIL with EDE 14 while its objects are not known, and the zone of the cluster is answered', async () => {
    answers.areImportsSynced = false;
    answers.cluster.services.put(serviceObject());
    const { rcode, extendedError } = await answers.ask(ZONE, 'SOA', { hasEdns: true });
    expect([rcode, extendedError]).toEqual(['SERVFAIL', 14]);
    expect(await texts('web.default.svc.cluster.local')).toEqual(['NOERROR', 'A 10.0.0.1']);
  });

  it('is where an ExternalName of the cluster may lead', async () => {
    const { cluster } = answers;
    cluster.serviceImports.put(importObject());
    const externalName = `web.default.svc.${ZONE}`;
    cluster.services.put(serviceObject({ name: 'shop', externalName }));
    expect(await texts('shop.default.svc.cluster.local')).toEqual([
      'NOERROR',
      'A 10.42.0.1',
      `CNAME ${externalName}`,
    ]);
  });

  it('changes nothing in the zone of the cluster, also where a slice is of a service there, too', async () => {
    const { cluster } = answers;
    cluster.services.put(serviceObject(HEADLESS));
    cluster.endpointSlices.put(sliceObject({ endpoints: ['10.0.0.7'] }));
    const before = [await texts('web.default.svc.cluster.local'), cluster.zone.serial];
    headlessImport();
    const after = [await texts('web.default.svc.cluster.local'), cluster.zone.serial];
    expect(after).toEqual(before);
    const both = { name: 'both', local: 'web', endpoints: ['10.0.0.8'] };
    cluster.endpointSlices.put(importedSliceObject(both));
    expect(await texts('web.default.svc.cluster.local')).toEqual([
      'NOERROR',
      'A 10.0.0.7',
      'A 10.0.0.8',
    ]);
    expect(await texts(`web.default.svc.${ZONE}`)).toContain('A 10.0.0.8');
  });

  it('announces the name of an import whose records change, and no other', () => {
    const { cluster } = answers;
    announced.length = 0;
    headlessImport();
    expect([...new Set(announced)]).toEqual([`web.default.svc.${ZONE}`]);
    announced.length = 0;
    cluster.serviceImports.put(importObject());
    expect(announced).toEqual([`web.default.svc.${ZONE}`]);
    // The endpoints of an import with addresses are in no answer.
    cluster.endpointSlices.put(importedSliceObject({ endpoints: ['10.9.9.9'] }));
    expect(announced).toEqual([`web.default.svc.${ZONE}`]);
  });
});

describe('a slice', () => {
  it.each([
    ['a.b.c', 'is not one or two DNS labels'],
    ['-', 'is not one or two DNS labels'],
    ['', 'is not one or two DNS labels'],
  ])('from the cluster %j is of no import: it %s', async (name, reason) => {
    const { cluster } = answers;
    cluster.serviceImports.put(importObject(HEADLESS_IMPORT));
    cluster.services.put(serviceObject(HEADLESS));
    const endpoints = ['10.0.0.1'];
    const labelled = { name: 'bad', cluster: name, local: 'web', endpoints };
    cluster.endpointSlices.put(importedSliceObject(labelled));
    expect(cluster.rejected.join()).toContain(reason);
    expect(await texts(`web.default.svc.${ZONE}`)).toEqual(['NXDOMAIN']);
    expect(await texts('web.default.svc.cluster.local')).toEqual(['NOERROR', 'A 10.0.0.1']);
  });
});

describe('a ServiceImport', () => {
  it.each([
    ['of another type', { type: 'Local' }, 'type "Local" is not ClusterSetIP or Headless'],
    ['with no address', { ips: ['10.0.0'] }, 'ip "10.0.0" is not an IP address'],
    ['with a port that is none', { ports: [{ port: 65_536 }] }, 'port 65536 is not a port number'],
    ['of no label', { name: 'a.b' }, '"a.b" is not a DNS label'],
  ])('%s is left out', async (_, fields, reason) => {
    answers.cluster.serviceImports.put(importObject(fields));
    expect(answers.cluster.rejected.join()).toContain(reason);
    expect(await texts(`web.default.svc.${ZONE}`)).toEqual(['NXDOMAIN']);
  });
});
