import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EMPTY_DNS_CONFIG, type DnsConfig } from '@kube-dns/daemon';
import { ScriptedNameServer, until } from '@kube-dns/testkit';
import { UpstreamServers, UpstreamSockets } from '@kube-dns/transport';
import { encodeKey } from '@kube-dns/wire';
import { type RecordedLog, recordedLog } from '../../test/support/recorded-log.js';
import { Cluster } from '../../test/support/cluster.js';
import { HEADLESS, serviceObject, sliceObject } from '../../test/support/objects.js';
import { ZoneHosts } from '../answer/zone-hosts.js';
import { UpstreamStatistics } from '../metrics/upstream-statistics.js';
import { Upstreams, type UpstreamsOptions } from './upstreams.js';

let folder: string;
let resolvConf: string;
let log: RecordedLog;
let cluster: Cluster;
let opened: { close(): unknown }[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubedns-'));
  resolvConf = join(folder, 'resolv.conf');
  await writeFile(resolvConf, 'nameserver 192.0.2.9\n');
  log = recordedLog();
  opened = [];
  cluster = new Cluster();
});
afterEach(async () => {
  for (const one of opened) await one.close();
  await rm(folder, { recursive: true });
});

function create(options: Partial<UpstreamsOptions> = {}): Upstreams {
  const sockets = new UpstreamSockets();
  const servers = new UpstreamServers(sockets, new UpstreamStatistics());
  const resolveOwn = (host: string) => new ZoneHosts(cluster.zone).resolve(host);
  const base = { log, servers, domain: 'cluster.local.', resolvConf, resolveOwn };
  const upstreams = new Upstreams({ ...base, ...options });
  opened.push(upstreams, sockets);
  return upstreams;
}

/** A name server that has an address for this name. */
async function serverWith(name: string): Promise<ScriptedNameServer> {
  const upstream = await ScriptedNameServer.start();
  opened.push(upstream);
  upstream.respond(`${name} A`, { answers: [{ type: 'A', name, ttl: 60, data: '192.0.2.5' }] });
  return upstream;
}

const config = (
  stubDomains: Record<string, readonly string[]>,
  upstreamNameservers: readonly string[] = [],
): DnsConfig => ({
  ...EMPTY_DNS_CONFIG,
  stubDomains: new Map(Object.entries(stubDomains)),
  upstreamNameservers,
});

/** As `address#port`. The name stands in a larger buffer, as it does in a query. */
function serversFor(upstreams: Upstreams, name: string): string[] {
  const wire = encodeKey(name);
  const buffer = new Uint8Array(300).fill(1);
  buffer.set(wire);
  return upstreams.groupFor(buffer, wire.length).servers.map(({ text }) => text);
}

describe('the default servers', () => {
  it('are those of the configuration', () => {
    const upstreams = create();
    upstreams.apply(config({}, ['192.0.2.1', '[fd00::1]:5353', 'fd00::2', '192.0.2.1:53']));
    expect(serversFor(upstreams, 'example.com')).toEqual([
      '192.0.2.1#53',
      'fd00::1#5353',
      'fd00::2#53',
    ]);
    expect(log.lines).toEqual(['I name servers: 192.0.2.1#53, fd00::1#5353, fd00::2#53']);
  });

  it('are those that resolv.conf has at the moment when none are configured', async () => {
    const upstreams = create();
    upstreams.apply(config({}, ['192.0.2.1']));
    await writeFile(resolvConf, 'search x\nnameserver 192.0.2.8\nnameserver 192.0.2.7\n');
    upstreams.apply(EMPTY_DNS_CONFIG);
    expect(serversFor(upstreams, 'example.com')).toEqual(['192.0.2.8#53', '192.0.2.7#53']);
    await writeFile(resolvConf, 'nameserver 192.0.2.6\n');
    expect(serversFor(upstreams, 'example.com')).toEqual(['192.0.2.8#53', '192.0.2.7#53']);
    upstreams.refresh();
    expect(serversFor(upstreams, 'example.com')).toEqual(['192.0.2.6#53']);
  });

  it('are none without either, which is no reason to stop', async () => {
    await rm(resolvConf);
    const upstreams = create();
    expect(serversFor(upstreams, 'example.com')).toEqual([]);
    upstreams.apply(EMPTY_DNS_CONFIG);
    expect(serversFor(upstreams, 'example.com')).toEqual([]);
    expect(log.lines[0]).toMatch(/^W .*resolv\.conf: .*ENOENT.*; no name servers$/);
  });
});

describe('a stub domain', () => {
  it('has its servers for itself and everything below it, the longest domain first', () => {
    const upstreams = create();
    upstreams.apply(
      config({ 'acme.local': ['192.0.2.2', '192.0.2.3:5353'], 'deep.acme.local': ['192.0.2.4'] }, [
        '192.0.2.1',
      ]),
    );
    expect(serversFor(upstreams, 'acme.local')).toEqual(['192.0.2.2#53', '192.0.2.3#5353']);
    expect(serversFor(upstreams, 'a.b.acme.local')).toEqual(['192.0.2.2#53', '192.0.2.3#5353']);
    expect(serversFor(upstreams, 'x.deep.acme.local')).toEqual(['192.0.2.4#53']);
    expect(serversFor(upstreams, 'xacme.local')).toEqual(['192.0.2.1#53']);
    expect(serversFor(upstreams, 'local')).toEqual(['192.0.2.1#53']);
    expect(serversFor(upstreams, '.')).toEqual(['192.0.2.1#53']);
  });

  it('is as good as not named when its list is empty', () => {
    const upstreams = create();
    upstreams.apply(config({ 'a.b': [], b: ['192.0.2.2'] }, ['192.0.2.1']));
    expect(serversFor(upstreams, 'x.a.b')).toEqual(['192.0.2.2#53']);
    upstreams.apply(config({ 'a.b': [] }, ['192.0.2.1']));
    expect(serversFor(upstreams, 'x.a.b')).toEqual(['192.0.2.1#53']);
  });

  it('is gone with the configuration that had it', () => {
    const upstreams = create();
    upstreams.apply(config({ 'a.b': ['192.0.2.2'] }));
    upstreams.apply(config({ 'c.d': ['192.0.2.3'] }));
    expect(serversFor(upstreams, 'a.b')).toEqual(['192.0.2.9#53']);
    expect(serversFor(upstreams, 'c.d')).toEqual(['192.0.2.3#53']);
  });

  it('says which domain has no servers', () => {
    create().apply(config({ 'a.b': [] }));
    expect(log.lines).toContain('I stubDomains: a.b has no servers: it counts as absent');
  });

  it('leaves out a server with port 0 and logs it', () => {
    const upstreams = create();
    upstreams.apply(config({ 'a.b': ['192.0.2.2:0', '192.0.2.3'] }));
    expect(serversFor(upstreams, 'a.b')).toEqual(['192.0.2.3#53']);
    expect(log.lines).toContain('W stubDomains: a.b: 192.0.2.2#0 has no port to ask; left out');
  });
});

describe('a server that is this one itself', () => {
  it('is left out and logged, in each key', () => {
    const upstreams = create({ own: { ownAddresses: [{ address: '0.0.0.0', port: 10_053 }] } });
    upstreams.apply(
      config({ 'a.b': ['127.0.0.1:10053', '127.0.0.1:53'] }, ['127.0.0.1:10053', '192.0.2.1']),
    );
    expect(serversFor(upstreams, 'x.y')).toEqual(['192.0.2.1#53']);
    expect(serversFor(upstreams, 'a.b')).toEqual(['127.0.0.1#53']);
    expect(log.lines.filter((line) => line.startsWith('W'))).toEqual([
      'W stubDomains: a.b: 127.0.0.1#10053 is this server itself; left out',
      'W upstreamNameservers: 127.0.0.1#10053 is this server itself; left out',
    ]);
  });
});

describe('a server that is given by name', () => {
  it('is resolved by the default servers, and the domain has no servers until then', async () => {
    const upstream = await serverWith('ns.example.com');
    const upstreams = create();
    upstreams.apply(config({ 'a.b': ['ns.example.com', '192.0.2.6'] }, [upstream.hostPort]));
    expect(serversFor(upstreams, 'x.a.b')).toEqual(['192.0.2.6#53']);
    await until('resolved', () => serversFor(upstreams, 'x.a.b').length === 2);
    expect(serversFor(upstreams, 'x.a.b')).toEqual(['192.0.2.5#53', '192.0.2.6#53']);
    expect(upstream.asked.sort()).toEqual(['ns.example.com A', 'ns.example.com AAAA']);
  });

  it('is resolved from the zone when it is in the cluster, at once and at each change', () => {
    let calls = 0;
    const upstreams = create({ onChange: () => calls++ });
    cluster = new Cluster(undefined, undefined, undefined, (key) => upstreams.serviceChanged(key));
    const { services, endpointSlices } = cluster;
    const ns = { namespace: 'infra', name: 'ns' };
    const name = 'ns.infra.svc.cluster.local';
    upstreams.apply(
      config({ 'a.b': [name, '192.0.2.6'], 'c.d': [`db-0.db.infra.svc.cluster.local`] }),
    );
    expect(serversFor(upstreams, 'x.a.b')).toEqual(['192.0.2.6#53']);
    expect(Object.fromEntries(upstreams.stubServers())).toEqual({ 'a.b': 1, 'c.d': 0 });
    services.put(serviceObject({ ...ns, clusterIPs: ['10.0.0.5', 'fd00::5'] }));
    expect(serversFor(upstreams, 'x.a.b')).toEqual(['10.0.0.5#53', 'fd00::5#53', '192.0.2.6#53']);
    services.put(serviceObject({ ...ns, clusterIPs: ['10.0.0.6'] }));
    expect(serversFor(upstreams, 'x.a.b')).toEqual(['10.0.0.6#53', '192.0.2.6#53']);
    services.put(serviceObject({ namespace: 'infra', name: 'db', ...HEADLESS }));
    const endpoints = [{ addresses: ['10.1.0.1'], hostname: 'db-0' }];
    const slice = sliceObject({ namespace: 'infra', name: 'db-1', service: 'db', endpoints });
    endpointSlices.put(slice);
    expect(serversFor(upstreams, 'c.d')).toEqual(['10.1.0.1#53']);
    expect(new Map(upstreams.stubServers()).get('c.d')).toBe(1);
    endpointSlices.delete(slice);
    expect(serversFor(upstreams, 'c.d')).toEqual([]);
    const before = calls;
    services.put(serviceObject({ namespace: 'infra', name: 'other' }));
    expect(calls).toBe(before);
    services.delete(serviceObject(ns));
    expect(serversFor(upstreams, 'x.a.b')).toEqual(['192.0.2.6#53']);
    expect(log.lines.filter((line) => line.includes(`the server ${name}`))).toEqual([
      `I the server ${name} is not in the cluster`,
      `I the server ${name} is at 10.0.0.5, fd00::5`,
      `I the server ${name} is at 10.0.0.6`,
      `I the server ${name} is not in the cluster`,
    ]);
  });

  it('is resolved by the default servers where it leads out of the cluster', async () => {
    const upstream = await serverWith('ns.example.com');
    const upstreams = create();
    cluster = new Cluster(undefined, undefined, undefined, (key) => upstreams.serviceChanged(key));
    upstreams.apply(config({ 'a.b': ['ext.infra.svc.cluster.local'] }, [upstream.hostPort]));
    const external = {
      namespace: 'infra',
      name: 'ext',
      externalName: 'two.infra.svc.cluster.local',
    };
    cluster.services.put(serviceObject(external));
    const two = { namespace: 'infra', name: 'two' };
    cluster.services.put(serviceObject({ ...two, externalName: 'ns.example.com' }));
    await until('resolved', () => serversFor(upstreams, 'a.b').length === 1);
    expect(serversFor(upstreams, 'a.b')).toEqual(['192.0.2.5#53']);
    cluster.services.put(serviceObject({ ...two, clusterIPs: ['10.0.0.7'] }));
    expect(serversFor(upstreams, 'a.b')).toEqual(['10.0.0.7#53']);
    cluster.services.put(serviceObject({ ...two, externalName: 'ext.infra.svc.cluster.local' }));
    expect(serversFor(upstreams, 'a.b')).toEqual([]);
  });
});

describe('an encrypted server', () => {
  const DOH = 'https://dns.example/q';

  it('keeps its protocol, port and certificate’s name, in both keys', () => {
    const upstreams = create();
    const stubs = { 'a.b': ['tls://192.0.2.2%dns.example', 'tls://[fd00::1]:8853'] };
    upstreams.apply(config(stubs, ['https://192.0.2.3/q']));
    expect(serversFor(upstreams, 'a.b')).toEqual([
      'tls://192.0.2.2#853%dns.example',
      'tls://fd00::1#8853',
    ]);
    expect(serversFor(upstreams, 'x.y')).toEqual(['https://192.0.2.3/q (192.0.2.3#443)']);
  });

  it('may have a name, also as a default server beside one with an address', async () => {
    const upstream = await serverWith('dns.example');
    const upstreams = create();
    upstreams.apply(config({ 'a.b': ['tls://dns.example'] }, [DOH, upstream.hostPort]));
    await until('resolved', () => serversFor(upstreams, 'x.y').length === 2);
    expect(serversFor(upstreams, 'x.y')[0]).toBe('https://dns.example/q (192.0.2.5#443)');
    expect(serversFor(upstreams, 'a.b')).toEqual(['tls://192.0.2.5#853%dns.example']);
  });

  it('is warned about where nothing but itself could look up its name', () => {
    create().apply(config({}, [DOH]));
    expect(log.lines).toEqual([
      'I name servers: https://dns.example/q (dns.example#443)',
      'W cannot resolve the server dns.example: there is no name server to ask; ' +
        'write its address in place of its name (tls://, https://: ADDRESS%NAME)',
    ]);
  });
});

describe('onChange', () => {
  it('is called when other servers are asked: by a configuration, and by the addresses of a name', async () => {
    const upstream = await serverWith('ns.example.com');
    const seen: string[][] = [];
    const upstreams = create({ onChange: () => seen.push(serversFor(upstreams, 'a.b')) });
    upstreams.apply(config({ 'a.b': ['ns.example.com'] }, [upstream.hostPort]));
    await until('resolved', () => seen.length === 2);
    expect(seen).toEqual([[], ['192.0.2.5#53']]);
  });
});
