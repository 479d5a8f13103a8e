import { isDnsSubdomain, parseEncryptedServer } from '@kube-dns/daemon';
import {
  dnsmasqServer,
  isNamedServer,
  RESOLV_CONF,
  staleArguments,
  STOCK_SETUP,
  type DnsSetup,
} from '../dns-setup.js';

/**
 * A setup as two objects: the ConfigMap kube-dns, and a patch of the Deployment kube-dns with the arguments
 * of its containers, for `kubectl patch` and kustomize.
 */
export function podObjects(setup: DnsSetup): object[] {
  const metadata = { name: 'kube-dns', namespace: 'kube-system' };
  const containers = [
    { name: 'kubedns', args: kubednsArguments(setup) },
    { name: 'dnsmasq', args: dnsmasqArguments(setup) },
    { name: 'sidecar', args: sidecarArguments(setup) },
  ];
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: configMapData(setup) },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { template: { spec: { containers } } },
    },
  ];
}

/** kubernetes/dns pkg/dns/config/config.go refuses more. */
const MAX_CONFIGURED = 3;
const KUBEDNS = '127.0.0.1#10053';
/** As in manifests/kube-dns/deployment.yaml: the component monitoring replaces the first. */
const NANNY = [
  '-metrics-addr=127.0.0.1:10056',
  '-v=2',
  '-configDir=/etc/k8s/dns/dnsmasq-nanny',
  '-restartDnsmasq=true',
];

/** What kubedns starts without the API server with, as in the same file: of no setup, and a patch replaces all arguments. */
const snapshotArguments = (domain: string) => [
  '--snapshot-file=/var/lib/kube-dns/snapshot',
  `--snapshot-replicas=kube-dns-replicas.kube-system.svc.${domain}`,
  '--snapshot-token=/var/run/secrets/kube-dns/token',
];

/** The `data` of the ConfigMap `kube-dns` for a setup; settings without a key become arguments. */
export function configMapData(setup: DnsSetup): Record<string, string> {
  const data: Record<string, string> = {};
  const stubDomains = [...setup.stubDomains].filter(([domain]) => isDnsSubdomain(domain));
  if (stubDomains.length > 0) {
    data.stubDomains = JSON.stringify(Object.fromEntries(stubDomains));
  }
  if (hasConfiguredUpstreams(setup)) data.upstreamNameservers = JSON.stringify(setup.upstreams);
  if (setup.federations.size > 0) {
    data.federations = [...setup.federations].map((pair) => pair.join('=')).join(',');
  }
  return data;
}

/** The arguments of kubedns for a setup. */
export function kubednsArguments(setup: DnsSetup): string[] {
  const { pods, recordTtl, drainSeconds, masterUrl, kubeconfig } = setup;
  return [
    `--domain=${setup.domain}.`,
    ...(setup.clustersetDomain === '' ? [] : [`--clusterset-domain=${setup.clustersetDomain}`]),
    ...(setup.externalDomain === '' ? [] : [`--external-domain=${setup.externalDomain}`]),
    ...(setup.transferTo.length === 0 ? [] : [`--transfer-to=${setup.transferTo.join(',')}`]),
    '--dns-port=10053',
    '--config-dir=/kube-dns-config',
    ...(masterUrl === '' ? [] : [`--kube-master-url=${masterUrl}`]),
    ...(kubeconfig === '' ? [] : [`--kubecfg-file=${kubeconfig}`]),
    ...(pods === STOCK_SETUP.pods ? [] : [`--pods=${pods}`]),
    ...(setup.namesEndpointsByPod ? ['--endpoint-names=pod'] : []),
    ...(setup.isZonal ? ['--zonal'] : []),
    ...(recordTtl === STOCK_SETUP.recordTtl ? [] : [`--record-ttl=${recordTtl}`]),
    ...(drainSeconds === STOCK_SETUP.drainSeconds ? [] : [`--drain-time=${drainSeconds}s`]),
    ...(setup.isProfiled ? ['--profiling'] : []),
    ...tlsArguments(setup),
    '--v=2',
    ...snapshotArguments(setup.domain),
  ];
}

function askedOfKubedns(setup: DnsSetup): string[] {
  const { domain, reverseZones, clustersetDomain, externalDomain } = setup;
  return [domain, ...reverseZones, clustersetDomain, externalDomain].filter((zone) => zone !== '');
}

/** The arguments of the container dnsmasq for a setup: the nanny's, `--`, and dnsmasq's. */
export function dnsmasqArguments(setup: DnsSetup): string[] {
  const { maxTtl, minTtl, stale, prefetch, forwardMax, maxUdpBytes, port } = setup;
  return [
    ...NANNY,
    '--',
    '-k',
    `--cache-size=${setup.cacheSize}`,
    ...(setup.cachesNegativeAnswers ? [] : ['--no-negcache', '--negcache=push']),
    ...(maxTtl === 0 ? [] : [`--max-ttl=${maxTtl}`, `--max-cache-ttl=${maxTtl}`]),
    ...(minTtl === 0 ? [] : [`--min-cache-ttl=${minTtl}`]),
    ...staleArguments(stale),
    ...(prefetch === undefined ? [] : [`--prefetch=${prefetch.hits},${prefetch.percent}`]),
    ...(setup.detectsLoops ? ['--dns-loop-detect'] : []),
    '--log-facility=-',
    ...(setup.logsQueries ? ['--log-queries'] : []),
    ...(port === STOCK_SETUP.port ? [] : [`--port=${port}`]),
    ...(forwardMax === undefined ? [] : [`--dns-forward-max=${forwardMax}`]),
    ...(maxUdpBytes === undefined ? [] : [`--edns-packet-max=${maxUdpBytes}`]),
    ...(setup.turnsRecords ? [] : ['--no-round-robin']),
    ...(setup.asksInOrder ? ['--strict-order'] : []),
    ...setup.filteredTypes.map((type) => `--filter-${type}`),
    ...(setup.dns64 === '' ? [] : [`--dns64=${setup.dns64}`]),
    ...askedOfKubedns(setup).map((zone) => `--server=/${zone}/${KUBEDNS}`),
    ...upstreamArguments(setup),
    ...tlsArguments(setup),
    ...localArguments(setup),
  ];
}

/** Whether the upstream servers fit into the ConfigMap, which then replaces resolv.conf. */
function hasConfiguredUpstreams({ upstreams, resolvFile }: DnsSetup): boolean {
  const isRoom = upstreams.length > 0 && upstreams.length <= MAX_CONFIGURED && resolvFile === '';
  // The keys of the ConfigMap take no plain server by name.
  return isRoom && upstreams.every((server) => !isNamedServer(server) || isEncrypted(server));
}

function isEncrypted(server: string): boolean {
  return parseEncryptedServer(server) !== undefined;
}

function tlsArguments({ tlsCa }: DnsSetup): string[] {
  return tlsCa === '' ? [] : [`--tls-ca=${tlsCa}`];
}

function upstreamArguments(setup: DnsSetup): string[] {
  const { stubDomains, upstreamDomains, upstreams, resolvFile } = setup;
  const unfit = [...stubDomains].filter(([domain]) => !isDnsSubdomain(domain));
  const isConfigured = hasConfiguredUpstreams(setup);
  const isOtherFile = resolvFile !== '' && resolvFile !== RESOLV_CONF;
  return [
    ...unfit.flatMap(([domain, servers]) =>
      servers.map((server) => `--server=/${domain}/${dnsmasqServer(server)}`),
    ),
    ...upstreamDomains.map((domain) => `--server=/${domain}/#`),
    ...(isConfigured ? [] : upstreams.map((server) => `--server=${dnsmasqServer(server)}`)),
    ...(isOtherFile ? [`--resolv-file=${resolvFile}`] : []),
    ...(resolvFile === '' && !isConfigured ? ['--no-resolv'] : []),
  ];
}

function localArguments({
  emptyDomains,
  addresses,
  hosts,
  hostsFile,
  localTtl,
}: DnsSetup): string[] {
  return [
    ...emptyDomains.map((domain) => `--local=/${domain}/`),
    ...[...addresses].flatMap(([domain, all]) =>
      all.map((address) => `--address=/${domain === '.' ? '#' : domain}/${address}`),
    ),
    ...hosts.map(({ address, names }) => `--host-record=${[...names, address].join(',')}`),
    ...(hostsFile === '' ? [] : [`--addn-hosts=${hostsFile}`]),
    ...(localTtl === 0 ? [] : [`--local-ttl=${localTtl}`]),
  ];
}

function sidecarArguments({ domain, port }: DnsSetup): string[] {
  const name = `kubernetes.default.svc.${domain}`;
  return [
    '--v=2',
    ...(port === STOCK_SETUP.port ? [] : [`--dnsmasq-port=${port}`]),
    `--probe=kubedns,127.0.0.1:10053,${name},5,SRV`,
    `--probe=dnsmasq,127.0.0.1:${port},${name},5,SRV`,
  ];
}
