import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseCorefile, writeCorefile } from '@kube-dns/node-cache/corefile';
import { fromCorefile } from './corefile/from-corefile.js';
import { toCorefile } from './corefile/to-corefile.js';
import { NO_STALE, STOCK_SETUP, type DnsSetup, Notes } from './dns-setup.js';
import { configMapData, dnsmasqArguments, kubednsArguments } from './pod/pod-writer.js';
import { readPodSource } from './pod/pod-reader.js';

const label = fc.stringMatching(/^[a-z]{3,6}$/);
const ipv4 = fc.ipV4();
const ipv6 = fc.constantFrom('2001:db8::1', 'fd00::53');
const port = fc.integer({ min: 54, max: 65_535 });
const tlsName = fc.option(
  label.map((text) => `%${text}.tls.test`),
  { nil: '' },
);
const server = fc.oneof(
  ipv4,
  ipv6,
  fc.tuple(ipv4, port).map(([ip, number]) => `${ip}:${number}`),
  fc.tuple(ipv6, port).map(([ip, number]) => `[${ip}]:${number}`),
  fc.tuple(fc.oneof(ipv4, ipv6), tlsName).map(([ip, name]) => `tls://${ip}${name}`),
  fc
    .tuple(fc.oneof(ipv4, ipv6), fc.integer({ min: 8_000, max: 9_000 }), tlsName)
    .map(([ip, number, name]) => `tls://${ip}#${number}${name}`),
  ipv4.map((ip) => `https://${ip}:8443/dns-query`),
  ipv6.map((ip) => `https://[${ip}]/dns-query`),
);
const servers = fc.uniqueArray(server, { minLength: 1, maxLength: 3 });

/** What both sides can say; the tests below say which of it must survive. */
const setups: fc.Arbitrary<DnsSetup> = fc
  .record({
    domain: fc.tuple(label, label).map((labels) => labels.join('.')),
    stubs: fc.dictionary(
      label.map((text) => `${text}.stub`),
      servers,
      { maxKeys: 3 },
    ),
    upstreams: fc.uniqueArray(server, { maxLength: 5 }),
    readsFile: fc.boolean(),
    cacheSize: fc.integer({ min: 0, max: 20_000 }),
    cachesNegativeAnswers: fc.boolean(),
    maxTtl: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 600 })),
    minTtl: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 600 })),
    stale: fc.constantFrom(
      NO_STALE,
      { ...NO_STALE, seconds: 60 },
      { ...NO_STALE, seconds: 86_400 },
      { seconds: 3_600, waitMs: 100, ttl: 30 },
      { seconds: 60, waitMs: 1_800, ttl: 5 },
    ),
    prefetch: fc.constantFrom(undefined, { hits: 3, percent: 10 }, { hits: 10, percent: 20 }),
    forwardMax: fc.constantFrom(undefined, 150, 5000),
    maxUdpBytes: fc.constantFrom(undefined, 512, 4096),
    bits: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
    addresses: fc.dictionary(
      label.map((text) => `${text}.addr`),
      fc.uniqueArray(ipv4, { minLength: 1, maxLength: 2 }),
      { maxKeys: 2 },
    ),
    hosts: fc.array(fc.tuple(ipv4, label), { maxLength: 3 }),
    localTtl: fc.integer({ min: 1, max: 65_535 }),
    recordTtl: fc.integer({ min: 1, max: 3600 }),
    drainSeconds: fc.integer({ min: 0, max: 60 }),
    empty: fc.uniqueArray(
      label.map((text) => `${text}.empty`),
      { maxLength: 2 },
    ),
  })
  .map((drawn) => {
    const { stubs, addresses, hosts, bits, readsFile, empty, localTtl, ...rest } = drawn;
    const hasLocal = hosts.length + Object.keys(addresses).length > 0;
    return {
      ...STOCK_SETUP,
      ...rest,
      // The upstreams' own servers come back as a domain of the upstreams, which is the same.
      stubDomains: new Map(
        Object.entries(stubs).filter(([, own]) => own.join() !== rest.upstreams.join()),
      ),
      addresses: new Map(Object.entries(addresses)),
      hosts: hosts.map(([address, name]) => ({ address, names: [`${name}.hosts`] })),
      emptyDomains: empty,
      resolvFile: rest.upstreams.length === 0 || readsFile ? '/etc/resolv.conf' : '',
      localTtl: hasLocal ? localTtl : 0,
      // Without a cache nothing is said about what is in it.
      ...(rest.cacheSize === 0
        ? {
            cachesNegativeAnswers: true,
            maxTtl: 0,
            minTtl: 0,
            stale: NO_STALE,
            prefetch: undefined,
          }
        : {}),
      detectsLoops: bits[0]!,
      turnsRecords: bits[1]!,
      logsQueries: bits[2]!,
      asksInOrder: bits[3]!,
      namesEndpointsByPod: bits[4]!,
      isZonal: bits[4]! && !bits[7]!,
      isProfiled: bits[5]!,
      filteredTypes: bits[6]! ? (['AAAA'] as const) : [],
      externalDomain: bits[5]! && bits[6]! ? 'outside.example' : '',
      pods: bits[7]! ? ('disabled' as const) : ('insecure' as const),
    };
  });

describe('a setup', () => {
  it('comes out of its Corefile as it went in, without notes', () => {
    fc.assert(
      fc.property(setups, (setup) => {
        const notes = new Notes();
        const text = writeCorefile(toCorefile(setup, notes));
        const back = fromCorefile(parseCorefile(text, 'Corefile'), {}, notes);
        const cachesNegativeAnswers =
          setup.cacheSize === 0 ? back.cachesNegativeAnswers : setup.cachesNegativeAnswers;
        expect(back).toEqual({ ...setup, cachesNegativeAnswers });
        // Filters of stub domains are checked against those of all names, caches likewise.
        expect(notes.lines()).toEqual([]);
      }),
    );
  });

  it('comes out of its ConfigMap and arguments as it went in, without notes', () => {
    fc.assert(
      fc.property(setups, (setup) => {
        const notes = new Notes();
        const words = { kubedns: kubednsArguments(setup), dnsmasq: dnsmasqArguments(setup) };
        const configMap = new Map(Object.entries(configMapData(setup)));
        const back = readPodSource({ words, configMap, where: 'ConfigMap' }, notes);
        expect(back).toEqual(setup);
        // Every pod has a snapshot, and no Corefile.
        expect(notes.lines().filter((line) => !line.includes('--snapshot-'))).toEqual([]);
      }),
    );
  });

  it('has the prefix of --dns64 in both', () => {
    const setup = { ...STOCK_SETUP, dns64: '2001:db8::/32' };
    const notes = new Notes();
    const text = writeCorefile(toCorefile(setup, notes));
    expect(text).toMatch(/dns64 2001:db8::\/32 \{\s+allow_ipv4\s+\}/);
    expect(notes.lines().join()).toContain('CoreDNS makes addresses of names of the cluster, too');
    expect(fromCorefile(parseCorefile(text, 'Corefile'), {}, notes).dns64).toBe(setup.dns64);
    const words = { kubedns: kubednsArguments(setup), dnsmasq: dnsmasqArguments(setup) };
    const back = readPodSource({ words, configMap: new Map(), where: 'ConfigMap' }, notes);
    expect(back.dns64).toBe(setup.dns64);
  });

  it.each([
    [['192.0.2.1', 'fd00::1'], 'to 192.0.2.1 fd00::1'],
    [['0.0.0.0/0', '::/0'], 'to *'],
  ])('has the secondaries of --transfer-to in both: %j', (transferTo, to) => {
    const setup = { ...STOCK_SETUP, transferTo };
    const notes = new Notes();
    const text = writeCorefile(toCorefile(setup, notes));
    expect(text).toContain(to);
    expect(notes.lines()).toEqual([]);
    expect(fromCorefile(parseCorefile(text, 'Corefile'), {}, notes).transferTo).toEqual(transferTo);
    const words = { kubedns: kubednsArguments(setup), dnsmasq: dnsmasqArguments(setup) };
    const back = readPodSource({ words, configMap: new Map(), where: 'ConfigMap' }, notes);
    expect(back.transferTo).toEqual(transferTo);
  });

  it('has no networks of --transfer-to in a Corefile, which are noted', () => {
    const notes = new Notes();
    const setup = { ...STOCK_SETUP, transferTo: ['192.0.2.0/24', '192.0.2.9/32'] };
    expect(writeCorefile(toCorefile(setup, notes))).toContain('to 192.0.2.9');
    expect(notes.lines()).toEqual([expect.stringContaining('--transfer-to=192.0.2.0/24')]);
  });

  it('has the zone of --clusterset-domain in both, and what differs as a note', () => {
    const setup = { ...STOCK_SETUP, clustersetDomain: 'clusterset.local' };
    const notes = new Notes();
    const text = writeCorefile(toCorefile(setup, notes));
    expect(text).toMatch(
      /kubernetes cluster\.local clusterset\.local .* \{\s+pods insecure\s+multicluster clusterset\.local\n/,
    );
    expect(notes.lines().join()).toMatch(
      /^[^\n]*--clusterset-domain=clusterset\.local[^]*v1alpha1 alone[^]*serviceimports/,
    );
    const words = { kubedns: kubednsArguments(setup), dnsmasq: dnsmasqArguments(setup) };
    expect(words.dnsmasq).toContain('--server=/clusterset.local/127.0.0.1#10053');
    const fromPod = new Notes();
    const configMap = new Map<string, string>();
    expect(readPodSource({ words, configMap, where: 'ConfigMap' }, fromPod)).toEqual({ ...setup });
    const fromCoreDns = new Notes();
    const back = fromCorefile(parseCorefile(text, 'Corefile'), {}, fromCoreDns);
    expect(back.clustersetDomain).toBe(setup.clustersetDomain);
    expect(back.domain).toBe(setup.domain);
    expect(fromCoreDns.lines().join()).toMatch(
      /multicluster clusterset\.local[^]*v1beta1[^]*1\.0\.0/,
    );
  });

  it('has the options of dns64 that dnsmasq does not have as notes', () => {
    const notes = new Notes();
    const text = '. {\n dns64 {\n  translate_all\n }\n forward . 192.0.2.1\n}\n';
    const { dns64 } = fromCorefile(parseCorefile(text, 'Corefile'), {}, notes);
    expect(dns64).toBe('64:ff9b::/96');
    expect(notes.lines().join()).toContain('clients that ask over IPv4 get such addresses, too');
    expect(notes.lines().join()).toContain('names with AAAA records have those');
  });
});
