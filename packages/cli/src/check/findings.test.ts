import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { linkOf } from './check.js';
import type { AskedFact, FactValues, UpstreamFact, Workload } from './facts.js';
import { FINDINGS, judge, PRE_FINDINGS } from './findings.js';

type Values = Partial<FactValues>;

const ALL = [...FINDINGS, ...PRE_FINDINGS];
const MIB = 1024 * 1024;

const service = {
  namespace: 'kube-system',
  name: 'kube-dns',
  clusterIps: ['10.96.0.10'],
  ports: ['UDP 53', 'TCP 53'],
  closedTargets: [],
  trafficDistribution: 'PreferClose',
};
const workload: Workload = {
  name: 'deployment/kube-dns',
  replicas: 2,
  containers: [
    { name: 'kubedns', image: 'kubedns', memoryLimitBytes: 320 * MIB, heapBytes: 224 * MIB },
  ],
  priorityClass: 'system-cluster-critical',
  isSpread: true,
};
const coredns: Workload = { ...workload, name: 'deployment/coredns' };
const [a, b] = ['a', 'b'].map((name) => ({ name, zone: `zone-${name}` }));
const nodes = [a!, b!];
const endpoint = { address: '10.244.0.2', isReady: true, node: 'a' };
const kubelet = { from: 'ConfigMap kubelet-config', clusterDns: ['10.96.0.10'], clusterDomain: 'cluster.local' }; // prettier-ignore
const zones = [{ by: 'kubedns', zone: 'cluster.local' }];
const upstream: UpstreamFact = { by: 'dnsmasq', server: '169.254.169.253#53', domains: '.', isDown: false, reason: '', failures: { timeout: 1 }, queries: 5_000, perSecond: 20 }; // prettier-ignore
const reply: AskedFact = { of: 'service', server: '10.96.0.10', way: 'udp', name: 'kubernetes.default.svc.cluster.local.', rcode: 'NOERROR', isTruncated: false }; // prettier-ignore
const outside: AskedFact = { ...reply, name: 'example.com.' };
const silent = { rcode: undefined };
const watch = { by: 'kubedns', resource: 'services', state: 'open', version: '99', reason: '' };
const traffic = { by: 'dnsmasq', questions: 5_000, nxdomain: [{ name: 'www.example.com.shop.svc.cluster.local.', questions: 3_000 }], clients: ['shop/web-1'] }; // prettier-ignore
const resolver = { of: 'deployment shop/web', hasClusterSearches: true, searches: ['a.example'], ndots: 2 }; // prettier-ignore
const subscription = { by: 'dnsmasq', zone: 'cluster.local', state: 'live', reason: '', coveragePercent: 100, answers: 500 }; // prettier-ignore
const certificate = { by: 'dnsmasq', server: 'tls://9.9.9.9#853', endsInSeconds: 40 * 86_400, failures: 0 }; // prettier-ignore

/** Of each finding facts that it is in, what it says of them, and facts that it is not in. */
const FIXTURES: Readonly<Record<string, readonly [fails: Values, says: string, passes: Values]>> = {
  KD0101: [
    { dnsServices: [service], headlessDnsServices: [], dnsService: service, workloads: [workload, coredns] },
    'the Service kube-dns selects the pods of deployment/kube-dns, deployment/coredns: answers differ by chance',
    { dnsServices: [service], headlessDnsServices: [], dnsService: service, workloads: [workload, { ...coredns, replicas: 0 }] },
  ],
  KD0102: [
    { dnsService: service, endpoints: [{ ...endpoint, isReady: false }], nodes, notReady: [] },
    'none of 1 endpoint of the Service kube-dns is ready',
    { dnsService: service, endpoints: [endpoint, { ...endpoint, node: 'b' }], nodes, notReady: [] },
  ],
  KD0103: [
    { dnsService: { ...service, ports: ['UDP 53'] }, asked: [] },
    'the Service kube-dns has no port 53/TCP',
    { dnsService: service, asked: [reply, { ...reply, way: 'tcp' }] },
  ],
  KD0104: [
    { dnsServices: [service], kubelets: [{ ...kubelet, clusterDns: ['10.0.0.10'] }], resolvConf: kubelet, nodeCache: undefined },
    'ConfigMap kubelet-config has clusterDNS 10.0.0.10, the DNS has 10.96.0.10',
    { dnsServices: [service], kubelets: [{ ...kubelet, clusterDns: ['169.254.20.10'] }], resolvConf: kubelet, nodeCache: { localIps: ['169.254.20.10'] } },
  ],
  KD0105: [
    { kubelets: [{ ...kubelet, clusterDomain: 'k8s.example' }], resolvConf: kubelet, zones },
    'ConfigMap kubelet-config has clusterDomain k8s.example, the DNS serves cluster.local',
    { kubelets: [kubelet], resolvConf: kubelet, zones },
  ],
  KD0106: [
    { configs: [{ from: 'ConfigMap kube-dns', mistakes: ['stubDomains: not JSON'] }], configsInUse: [] },
    'ConfigMap kube-dns: stubDomains: not JSON',
    { configs: [{ from: 'ConfigMap kube-dns', mistakes: [] }], configsInUse: [{ by: 'dnsmasq', wanted: { x: '1' }, used: { x: '1' }, refused: '' }] },
  ],
  KD0107: [
    { upstreams: [{ ...upstream, isDown: true, reason: 'no reply' }], asked: [], askedOutside: [] },
    'dnsmasq: 169.254.169.253#53 for names outside the cluster is down: no reply',
    { upstreams: [upstream], asked: [reply], askedOutside: [outside] },
  ],
  KD0108: [
    { pairs: { pairs: 20, lost: 2 } },
    '2 of 20 pairs of A and AAAA had not both replies within 5 s: conntrack drops one of two first packets',
    { pairs: { pairs: 20, lost: 0 } },
  ],
  KD0109: [
    { flow: { server: '10.96.0.10', questions: 3, answered: 0 }, asked: [reply] },
    '3 questions to 10.96.0.10 from one port have no answer, and from other ports or to the endpoints they have',
    { flow: { server: '10.96.0.10', questions: 3, answered: 3 }, asked: [reply] },
  ],
  KD0110: [
    { upstreams: [{ ...upstream, perSecond: 900.4 }] },
    'dnsmasq asks 169.254.169.253#53 900 times a second on average; AWS drops what is above 1024 packets a second of a network interface',
    { upstreams: [upstream, { ...upstream, server: '10.0.0.53#53', perSecond: 5_000 }] },
  ],
  KD0111: [
    { traffic: [traffic], zones },
    'dnsmasq: 60 % of 5000 questions are for names as www.example.com.shop.svc.cluster.local.; most ask shop/web-1',
    { traffic: [{ ...traffic, nxdomain: [{ name: 'www.example.com.', questions: 4_000 }] }], zones },
  ],
  KD0112: [
    { resolvers: [{ ...resolver, searches: ['a.', 'b.', 'c.', 'd.'] }], zones },
    'more than 6 search domains: deployment shop/web',
    { resolvers: [resolver], zones },
  ],
  KD0113: [
    { namespaces: ['shop', 'com'], hiddenNamespaces: [] },
    '1 namespace (com): a search domain makes NAME.com a service there, before the Internet is asked; --hidden-namespaces=com of kubedns prevents it',
    { namespaces: ['shop', 'com'], hiddenNamespaces: ['com'] },
  ],
  KD0114: [
    { families: ['IPv4'], questionTypes: [{ by: 'dnsmasq', all: 10_000, aaaa: 5_000 }] },
    'dnsmasq: 50 % of 10000 questions are for AAAA, and no service has IPv6; --filter-AAAA of dnsmasq answers them without addresses',
    { families: ['IPv4', 'IPv6'], questionTypes: [{ by: 'dnsmasq', all: 10_000, aaaa: 5_000 }] },
  ],
  KD0115: [
    { nodeCache: { localIps: ['169.254.20.10'] }, cachedNodes: ['a'], nodes, proxyMode: 'iptables', dnsServices: [service], nodeRules: [] },
    '1 node without a ready cache: b',
    { nodeCache: { localIps: ['169.254.20.10'] }, cachedNodes: ['a', 'b'], nodes, proxyMode: 'ipvs', dnsServices: [service], nodeRules: [{ by: 'node-cache', rulesBy: 'nft', hasInterface: true, hasRules: true }] },
  ],
  KD0116: [
    { compared: [{ by: 'dnsmasq', name: 'web.shop.svc.cluster.local.', wanted: ['10.96.0.7'], answered: ['10.96.0.8'] }] },
    'dnsmasq answers web.shop.svc.cluster.local. with 10.96.0.8, the API server has 10.96.0.7',
    { compared: [{ by: 'dnsmasq', name: 'web.shop.svc.cluster.local.', wanted: ['10.96.0.7'], answered: ['10.96.0.7'] }] },
  ],
  KD0117: [
    { subscriptions: [{ ...subscription, state: 'down', reason: 'no heartbeat' }] },
    'dnsmasq is not subscribed to cluster.local: no heartbeat',
    { subscriptions: [subscription] },
  ],
  KD0118: [
    { watches: [{ ...watch, version: '9' }], newest: { services: '10', endpointslices: '8' } },
    'kubedns has services of version 9, the API server of 10',
    { watches: [watch], newest: { services: '99', endpointslices: '8' } },
  ],
  KD0119: [
    { workloads: [workload], size: { services: 100_000, endpoints: 900_000, records: 0 } },
    'deployment/kube-dns, container kubedns: a limit of 320 MiB, 607 MiB are needed',
    { workloads: [workload], size: { services: 10_000, endpoints: 500_000, records: 500_000 } },
  ],
  KD0120: [
    { dnsService: service, nodes, withoutBudget: ['deployment/kube-dns'], workloads: [workload] },
    'deployment/kube-dns lacks a PodDisruptionBudget',
    { dnsService: service, nodes, withoutBudget: [], workloads: [workload] },
  ],
  KD0121: [
    { policies: [{ name: 'shop/default-deny', forbids: 'questions of its pods', protocols: ['UDP', 'TCP'], allowsService: false }] },
    'the NetworkPolicy shop/default-deny forbids questions of its pods over UDP and TCP',
    { policies: [] },
  ],
  KD0122: [
    { headless: [{ name: 'db.data.svc.cluster.local', ipv4: 100, ipv6: 0 }] },
    '1 service, the largest db.data.svc.cluster.local with 1654 bytes: over UDP the answer is truncated, and clients ask again over TCP',
    { headless: [{ name: 'db.data.svc.cluster.local', ipv4: 70, ipv6: 0 }] },
  ],
  KD0123: [
    { aliases: [{ service: 'shop/cart', target: 'redis.data.svc', namesakes: [] }], zones },
    'shop/cart: redis.data.svc is taken as the whole name, no search domain is added',
    { aliases: [{ service: 'shop/cart', target: 'redis.example.com', namesakes: [] }, { service: 'shop/db', target: 'pg.data.svc.cluster.local.', namesakes: [] }], zones },
  ],
  KD0124: [
    { certificates: [{ ...certificate, endsInSeconds: -5 }] },
    'dnsmasq: the certificate of tls://9.9.9.9#853 has ended',
    { certificates: [certificate] },
  ],
  KD0125: [
    { clocks: [{ of: 'this machine', aheadMs: 0 }, { of: 'kubedns', aheadMs: 90_000 }] },
    'the clock of kubedns is 90 s ahead of that of this machine: tokens, certificates and signatures of another time are refused',
    { clocks: [{ of: 'this machine', aheadMs: 0 }, { of: 'kubedns', aheadMs: 900 }] },
  ],
  KD0126: [
    { programs: [{ of: 'kubedns', hang: '' }, { of: 'dnsmasq', hang: 'port 10056: no answer within 2 s' }], asked: [] },
    'dnsmasq hangs (port 10056: no answer within 2 s), or its machine is overloaded; see its log, and restart it',
    { programs: [{ of: 'kubedns', hang: '' }], asked: [{ ...reply, ...silent }, { ...reply, way: 'tcp' }] },
  ],
  KD0127: [
    { apiServer: { failure: 'cannot read /version: no answer within 5000 ms' } },
    'cannot read /version: no answer within 5000 ms; the DNS answers with what it had before',
    { apiServer: { failure: '' } },
  ],
  KD0001: [
    { missingRights: ['create clusterroles'] },
    'you may not create clusterroles',
    { missingRights: [] },
  ],
  KD0002: [
    { workloads: [coredns] },
    'deployment/coredns answers behind the DNS Service: kube-dns would share its clients',
    { workloads: [{ ...coredns, replicas: 0 }] },
  ],
  KD0003: [
    { version: { major: 1, minor: 29 } },
    'Kubernetes 1.29 has no preStop.sleep: 1.30 or newer is needed',
    { version: { major: 1, minor: 30 } },
  ],
  KD0004: [
    { wantedAddress: { address: '10.96.0.10', takenBy: 'kube-system/coredns' } },
    '10.96.0.10 belongs to the Service kube-system/coredns',
    { wantedAddress: { address: '10.96.0.10', takenBy: '' } },
  ],
  KD0005: [
    { kubelets: [{ ...kubelet, clusterDns: ['10.0.0.10'] }], wantedAddress: { address: '10.96.0.10', takenBy: '' } },
    'ConfigMap kubelet-config has clusterDNS 10.0.0.10, the manifests have 10.96.0.10',
    { kubelets: [kubelet], wantedAddress: { address: '10.96.0.10', takenBy: '' } },
  ],
}; // prettier-ignore

function outcomeOf(code: string, values: Values) {
  const [outcome] = judge(ALL.filter((each) => each.code === code), { values, unseen: {} }); // prettier-ignore
  return outcome!;
}
const textsOf = (code: string, values: Values) => outcomeOf(code, values).found.map(({ text }) => text); // prettier-ignore

it('every finding has a fixture', () => {
  expect(Object.keys(FIXTURES).sort()).toEqual(ALL.map(({ code }) => code).sort());
});

describe.each(Object.entries(FIXTURES))('%s', (code, [fails, says, passes]) => {
  it('is found where it is', () => {
    expect(textsOf(code, fails)).toEqual([says]);
  });

  it('is not found where it is not, and all its rules were applied', () => {
    expect(outcomeOf(code, passes)).toMatchObject({ found: [], notChecked: [] });
  });

  it('is not passed where nothing was seen', () => {
    const { finding, found, notChecked } = outcomeOf(code, {});
    expect(found).toEqual([]);
    expect(notChecked).toHaveLength(finding.rules.length);
  });
});

/** What the other rules of a finding say. */
const MORE: readonly (readonly [code: string, values: Values, says: string | undefined])[] = [
  ['KD0101', { dnsServices: [], headlessDnsServices: [] }, 'there is no DNS Service: none has the label k8s-app=kube-dns and port 53'],
  ['KD0101', { dnsServices: [], headlessDnsServices: ['kube-dns'] }, 'the Service kube-dns has no address (clusterIP: None): no resolv.conf can name it'],
  ['KD0121', { policies: [{ name: 'shop/egress', forbids: 'questions of its pods', protocols: ['UDP'], allowsService: true }] }, 'the NetworkPolicy shop/egress forbids questions of its pods over UDP: it allows the address of the DNS Service, and most network plugins look at that of the pod behind it'],
  ['KD0103', { dnsService: { ...service, closedTargets: ['UDP 5353'] } }, 'the Service kube-dns sends port 53 to UDP port 5353, which no container of its pods has'],
  ['KD0101', { dnsService: service, workloads: [] }, 'no Deployment has pods that the Service kube-dns selects'],
  ['KD0102', { endpoints: [endpoint], nodes }, 'all ready endpoints (1) are on the node a: without it there is no DNS'],
  ['KD0102', { endpoints: [endpoint], nodes: [a!] }, undefined],
  ['KD0102', { notReady: ['kubedns is not ready: no list'] }, 'kubedns is not ready: no list'],
  ['KD0103', { asked: [reply, { ...reply, ...silent, way: 'tcp' }] }, '10.96.0.10 does not answer over TCP, and over UDP it does'],
  ['KD0103', { asked: [{ ...reply, ...silent }, { ...reply, way: 'tcp' }] }, '10.96.0.10 does not answer over UDP, and over TCP it does'],
  ['KD0103', { asked: [{ ...reply, ...silent }, { ...reply, ...silent, way: 'tcp' }] }, undefined],
  ['KD0105', { zones: [...zones, { by: 'other', zone: 'b.example' }] }, 'kubedns serves cluster.local and other serves b.example'],
  ['KD0106', { configsInUse: [{ by: 'dnsmasq', wanted: { upstreamNameservers: '9.9.9.9' }, used: {}, refused: '' }] }, 'dnsmasq uses upstreamNameservers (none), the ConfigMap has 9.9.9.9'],
  ['KD0106', { configsInUse: [{ by: 'dnsmasq', wanted: {}, used: {}, refused: 'not JSON' }] }, 'dnsmasq refuses the newest configuration: not JSON'],
  ['KD0107', { upstreams: [{ ...upstream, failures: { timeout: 900 } }] }, 'dnsmasq: 169.254.169.253#53 for names outside the cluster failed in 900 of 5000 queries: timeout 900'],
  ['KD0107', { upstreams: [{ ...upstream, failures: { servfail: 50, refused: 10 }, queries: 60 }] }, 'dnsmasq: 169.254.169.253#53 for names outside the cluster failed in 60 of 60 queries: servfail 50, refused 10'],
  ['KD0107', { upstreams: [{ ...upstream, failures: { servfail: 9 }, queries: 9 }] }, undefined],
  ['KD0107', { upstreams: [{ ...upstream, failures: { servfail: 10 }, queries: 30 }] }, undefined],
  ['KD0107', { asked: [reply], askedOutside: [{ ...outside, rcode: 'SERVFAIL' }] }, '10.96.0.10 answers example.com. over UDP with SERVFAIL'],
  ['KD0107', { asked: [reply], askedOutside: [{ ...outside, ...silent }] }, '10.96.0.10 does not answer example.com. over UDP'],
  ['KD0107', { asked: [reply], askedOutside: [{ ...outside, isTruncated: true }] }, '10.96.0.10 truncates the answer of example.com., and gives none over TCP'],
  ['KD0107', { asked: [reply], askedOutside: [{ ...outside, isTruncated: true }, { ...outside, way: 'tcp' }] }, undefined],
  ['KD0107', { asked: [{ ...reply, ...silent }], askedOutside: [{ ...outside, ...silent }] }, undefined],
  ['KD0112', { resolvers: [{ ...resolver, ndots: 7 }], zones }, 'ndots above 5: deployment shop/web'],
  ['KD0112', { resolvers: [{ ...resolver, searches: ['x'.repeat(250)] }], zones }, 'search domains of more than 256 characters: deployment shop/web'],
  ['KD0115', { nodeCache: { localIps: ['10.96.0.10'] }, proxyMode: 'ipvs', dnsServices: [service] }, 'kube-proxy has the mode ipvs, which keeps 10.96.0.10 to itself: node-cache cannot have this address'],
  ['KD0115', { nodeRules: [{ by: 'node-cache', rulesBy: 'iptables', hasInterface: true, hasRules: false }] }, 'node-cache: the node cache has no rules of iptables'],
  ['KD0117', { subscriptions: [{ ...subscription, coveragePercent: 40 }] }, 'dnsmasq: only 40 % of 500 answers of cluster.local are pinned'],
  ['KD0118', { watches: [{ ...watch, state: 'denied', reason: 'HTTP 403' }] }, 'kubedns: the watch of services is denied: HTTP 403'],
  ['KD0119', { workloads: [{ ...workload, containers: [{ name: 'dnsmasq', image: 'dnsmasq', memoryLimitBytes: 192 * MIB, heapBytes: 150 * MIB }] }], size: { services: 1, endpoints: 1, records: 1 } }, 'deployment/kube-dns, container dnsmasq: --max-old-space-size is 150 MiB of 192 MiB, at most 97 MiB leave room for the rest'],
  ['KD0120', { workloads: [{ ...workload, priorityClass: '' }] }, 'deployment/kube-dns lacks a priorityClassName'],
  ['KD0120', { dnsService: { ...service, trafficDistribution: 'PreferSameZone' }, nodes }, undefined],
  ['KD0120', { dnsService: { ...service, trafficDistribution: '' }, nodes }, 'nodes are in 2 zones, and the Service kube-dns has no trafficDistribution: questions cross zones'],
  ['KD0123', { aliases: [{ service: 'shop/a', target: 'b.shop.svc.cluster.local', namesakes: [] }, { service: 'shop/b', target: 'x.example.', namesakes: [] }], zones }, 'shop/a: b.shop.svc.cluster.local is an ExternalName itself: a chain'],
  ['KD0123', { aliases: [{ service: 'shop/a', target: '10.0.0.1', namesakes: [] }], zones }, 'shop/a: 10.0.0.1 is an address: kubedns answers it as one, other DNS servers with a name that does not exist'],
  ['KD0123', { aliases: [{ service: 'shop/a', target: 'A.shop.svc.cluster.local.', namesakes: [] }], zones }, 'shop/a: A.shop.svc.cluster.local. is an ExternalName itself: a circle, whose answer is SERVFAIL'],
  ['KD0124', { certificates: [{ ...certificate, endsInSeconds: undefined, failures: 3 }] }, 'dnsmasq: the certificate of tls://9.9.9.9#853 was refused in 3 handshakes'],
  ['KD0124', { certificates: [{ ...certificate, endsInSeconds: 90_000 }] }, 'dnsmasq: the certificate of tls://9.9.9.9#853 ends in 1 day'],
  ['KD0126', { asked: [{ ...reply, ...silent }, { ...reply, ...silent, way: 'tcp' }] }, '10.96.0.10 answers neither over UDP nor over TCP'],
]; // prettier-ignore

it.each(MORE)('%s of %j says %p', (code, values, says) => {
  expect(textsOf(code, values)).toEqual(says === undefined ? [] : [says]);
});

it.each([
  ['db', ['data'], 'db.data.svc.cluster.local'],
  ['db', ['data', 'other'], 'HOST.EXAMPLE.COM'],
  ['db', [], 'HOST.EXAMPLE.COM'],
  ['db.data.svc', [], 'db.data.svc.cluster.local'],
])(
  'the command for an ExternalName %s beside services of %j names %s',
  (target, namesakes, wanted) => {
    const aliases = [{ service: 'shop/db', target, namesakes }];
    const [fault] = outcomeOf('KD0123', { aliases, zones }).found;
    expect(fault?.mend).toBe(
      `kubectl -n shop patch service db -p '{"spec":{"externalName":"${wanted}"}}'`,
    );
  },
);

it('what was seen of some pods only is said to be seen in part', () => {
  const finding = FINDINGS.find(({ code }) => code === 'KD0118')!;
  const facts = { values: { watches: [watch] }, unseen: {}, partly: { watches: '2 of 3 pods' } };
  const [outcome] = judge([finding], facts);
  expect(outcome?.inPart).toEqual([{ code: 'KD0118', what: 'the watches', of: '2 of 3 pods' }]);
});

describe('a finding that needs a program that hangs', () => {
  const finding = FINDINGS.filter(({ code }) => code === 'KD0107');
  const facts = { unseen: {}, partly: { upstreams: '1 of 2 programs' }, hangs: { upstreams: 'dnsmasq hangs' } }; // prettier-ignore

  it('is not passed', () => {
    const asked = { asked: [reply], askedOutside: [outside] };
    const [outcome] = judge(finding, Object.assign({ values: { upstreams: [upstream], ...asked } }, facts)); // prettier-ignore
    expect(outcome).toMatchObject({ found: [], inPart: [], isPassed: false });
    expect(outcome?.notChecked.map(({ because }) => because)).toEqual(['dnsmasq hangs']);
  });

  it('is found where another program has it', () => {
    const upstreams = [{ ...upstream, isDown: true, reason: 'no reply' }];
    const [outcome] = judge(finding, Object.assign({ values: { upstreams } }, facts));
    expect(outcome).toMatchObject({ found: [{ severity: 'error' }], isPassed: false });
  });
});

it('ExternalNames in a circle are an error, also for one that leads into it, and a chain is a warning', () => {
  const alias = (name: string, target: string) => ({ service: `shop/${name}`, target: `${target}.shop.svc.cluster.local`, namesakes: [] }); // prettier-ignore
  const end = { service: 'shop/e', target: 'x.example', namesakes: [] };
  const aliases = [alias('a', 'b'), alias('b', 'c'), alias('c', 'b'), alias('d', 'e'), end];
  const { found } = outcomeOf('KD0123', { aliases, zones });
  expect(found.map(({ severity, text }) => [severity, text.slice(0, 6)])).toEqual([
    ['error', 'shop/a'],
    ['error', 'shop/b'],
    ['error', 'shop/c'],
    ['warning', 'shop/d'],
  ]);
});

it('the command of a resolver names what is to be edited', () => {
  const [fault] = outcomeOf('KD0112', { resolvers: [{ ...resolver, ndots: 7 }], zones }).found;
  expect(fault?.mend).toBe('kubectl -n shop edit deployment web');
});

describe('the runbook of a finding', () => {
  const file = fileURLToPath(new URL('../../../../manifests/TROUBLESHOOTING.md', import.meta.url));
  const [, ...sections] = readFileSync(file, 'utf8').split(/^#{2,3} /m);

  it.each(ALL)('of $code is a section with a command', ({ code }) => {
    const [page, anchor] = linkOf(code).split('#');
    expect(page).toBe('manifests/TROUBLESHOOTING.md');
    // The anchor of a heading is its text in lower case.
    const found = sections.filter((each) => each.split('\n', 1)[0]!.toLowerCase() === anchor);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/`(?:kubectl|npx|timedatectl|openssl|dig|kubeadm) [^`]+`/);
  });
});

it('a mending command is one line, and a title a sentence without its stop', () => {
  for (const { title, passes, mend } of ALL) {
    expect([title, passes, mend].join('\n')).not.toMatch(/[.]$/m);
    expect(mend).toMatch(/^(?:kubectl|kubeadm|timedatectl) \S[^\n]*$/);
  }
});
