import { isIP } from 'node:net';
import { ClientNetworks, isWithin } from '@kube-dns/base';
import { directive, type Directive, type WrittenBlock } from '@kube-dns/node-cache/corefile';
import {
  ALL_NETWORKS,
  DNSMASQ_FORWARD_MAX,
  isNamedServer,
  REVERSE_ZONES,
  serverHost,
  type DnsSetup,
  type HostsEntry,
  type Notes,
} from '../dns-setup.js';
import { cacheDirective } from './cache-directive.js';
import { forwardTargets, type ForwardTargets } from './encrypted-targets.js';

/** coredns/coredns#7923. */
const NAMED_SERVER =
  'CoreDNS 1.14.4 and newer look its address up, at their start only; older ones do not start with a name';
/** The limit of `forward` of CoreDNS. */
const MAX_SERVERS = 15;
/** The limits of the plugin hosts (coredns plugin/hosts/setup.go). */
const MIN_HOSTS_TTL = 1;
const MAX_HOSTS_TTL = 65_535;

/**
 * The server blocks that answer as a kube-dns pod with this setup: one for all names, and one for each
 * stub domain. Settings without a counterpart are named in the notes.
 */
export function toCorefile(setup: DnsSetup, notes: Notes): WrittenBlock[] {
  for (const [name, domain] of setup.federations) {
    notes.lose(`federations: ${name}=${domain}`, 'CoreDNS has no federations any more');
  }
  const stubs = usableStubs(setup, notes);
  const configured = targetsOf(setup, setup.upstreams, '.', notes);
  const files = setup.resolvFile === '' ? [] : [setup.resolvFile];
  const upstreams = { ...configured, targets: [...configured.targets, ...files] };
  const zones = ['.', ...stubs.keys(), ...setup.upstreamDomains.filter((zone) => zone !== '.')];
  return [...new Set(zones)].map((zone) => {
    const forward = stubs.get(zone) ?? upstreams;
    const directives = zoneDirectives({ zone, zones, forward }, setup, notes);
    const key = setup.port === 53 && zone !== '.' ? `${zone}:53` : `${zone}:${setup.port}`;
    return { keys: [key], directives, line: 0 };
  });
}

/** A future server block. */
interface Zone {
  readonly zone: string;
  /** All zones, this one included. */
  readonly zones: readonly string[];
  readonly forward: ForwardTargets;
}

/** As of CoreDNS 1.14.7. */
const MULTICLUSTER =
  'CoreDNS reads ServiceImports of v1alpha1 alone, and has no names of endpoints of a cluster with a dot; ' +
  'its ClusterRole needs list and watch of serviceimports in multicluster.x-k8s.io';

function zoneDirectives(here: Zone, setup: DnsSetup, notes: Notes): Directive[] {
  const isRoot = here.zone === '.';
  const { clustersetDomain } = setup;
  if (isRoot && clustersetDomain !== '') {
    notes.change(`--clusterset-domain=${clustersetDomain}`, MULTICLUSTER);
  }
  const forMain = (directives: readonly Directive[]) => (isRoot ? directives : []);
  const lameduck = directive('lameduck', [`${setup.drainSeconds}s`]);
  return [
    directive('errors'),
    ...forMain([directive('health', [], [lameduck]), directive('ready')]),
    ...(setup.logsQueries ? [directive('log')] : []),
    ...(setup.maxUdpBytes === undefined ? [] : [directive('bufsize', [`${setup.maxUdpBytes}`])]),
    ...templateDirectives(here, setup, notes),
    ...hostsDirectives(here, setup, notes),
    ...kubernetesDirectives(here, setup),
    ...externalDirectives(here, setup),
    ...transferDirectives(here, setup, notes),
    ...forMain([directive('prometheus', [':9153'])]),
    ...(here.forward.targets.length === 0 ? [] : [forwardDirective(here.forward, setup)]),
    ...cacheDirective(setup),
    ...(setup.detectsLoops ? [directive('loop')] : []),
    ...forMain([directive('reload'), ...(setup.isProfiled ? [directive('pprof')] : [])]),
    ...dns64Directive(here, setup, notes),
    ...(setup.turnsRecords ? [directive('loadbalance')] : []),
  ];
}

/** Where names are not of the cluster; in one block with these CoreDNS makes addresses of both. */
function dns64Directive(here: Zone, setup: DnsSetup, notes: Notes): Directive[] {
  if (setup.dns64 === '') return [];
  const isOfCluster = kubernetesDirectives(here, setup).length > 0;
  if (isOfCluster && here.zone !== '.') return [];
  if (isOfCluster) {
    notes.change(`--dns64=${setup.dns64}`, 'CoreDNS makes addresses of names of the cluster, too');
  }
  return [directive('dns64', [setup.dns64], [directive('allow_ipv4')])];
}

/** The zone that CoreDNS chooses for a name: the longest. */
function isHere(name: string, { zone, zones }: Zone): boolean {
  const longest = zones
    .filter((each) => isWithin(name, each))
    .reduce((best, each) => (each.length > best.length ? each : best), '.');
  return longest === zone;
}

/** Without domains of the cluster's names. */
function usableStubs(setup: DnsSetup, notes: Notes): Map<string, ForwardTargets> {
  const stubs = new Map<string, ForwardTargets>();
  for (const [domain, servers] of setup.stubDomains) {
    if ([setup.domain, ...REVERSE_ZONES].includes(domain)) {
      const what = `servers of ${domain}: ${servers.join(' ')}`;
      notes.lose(what, 'CoreDNS answers these names from the cluster');
      continue;
    }
    const forward = targetsOf(setup, servers, domain, notes);
    if (forward.targets.length > 0) stubs.set(domain, forward);
  }
  return stubs;
}

function targetsOf(
  setup: DnsSetup,
  servers: readonly string[],
  domain: string,
  notes: Notes,
): ForwardTargets {
  const usable: string[] = [];
  const about = (server: string) => `server ${server} of ${domain === '.' ? 'all names' : domain}`;
  for (const server of new Set(servers)) {
    const what = about(server);
    if (isNamedServer(server) && isWithin(serverHost(server), setup.domain)) {
      notes.lose(what, 'CoreDNS cannot look up a server in the cluster that it serves itself');
    } else if (usable.length >= MAX_SERVERS) {
      notes.lose(what, `forward takes ${MAX_SERVERS} servers at most`);
    } else {
      if (isNamedServer(server)) notes.change(what, NAMED_SERVER);
      usable.push(server);
    }
  }
  const forward = forwardTargets(usable, setup.tlsCa);
  for (const [server, reason] of forward.lost) notes.lose(about(server), reason);
  return forward;
}

function forwardDirective({ targets, options }: ForwardTargets, setup: DnsSetup): Directive {
  return directive(
    'forward',
    ['.', ...targets],
    [
      ...options,
      directive('max_concurrent', [`${setup.forwardMax ?? DNSMASQ_FORWARD_MAX}`]),
      ...(setup.asksInOrder ? [directive('policy', ['sequential'])] : []),
    ],
  );
}

/** In every block whose zone contains names of the cluster. */
function kubernetesDirectives({ zone }: Zone, setup: DnsSetup): Directive[] {
  const reverseZones = setup.reverseZones.filter((each) => isWithin(each, zone));
  const { clustersetDomain } = setup;
  const imported =
    clustersetDomain !== '' && isWithin(clustersetDomain, zone) ? [clustersetDomain] : [];
  const domains = [...(isWithin(setup.domain, zone) ? [setup.domain] : []), ...imported];
  if (domains.length + reverseZones.length === 0) return [];
  const { masterUrl, kubeconfig } = setup;
  return [
    directive(
      'kubernetes',
      [...domains, ...reverseZones],
      [
        directive('pods', [setup.pods]),
        ...(imported.length === 0 ? [] : [directive('multicluster', imported)]),
        ...(reverseZones.length === 0 ? [] : [directive('fallthrough', reverseZones)]),
        directive('ttl', [`${setup.recordTtl}`]),
        ...(setup.namesEndpointsByPod ? [directive('endpoint_pod_names')] : []),
        ...(setup.isZonal ? [directive('zonal')] : []),
        ...(masterUrl === '' ? [] : [directive('endpoint', [masterUrl])]),
        ...(kubeconfig === '' ? [] : [directive('kubeconfig', [kubeconfig])]),
      ],
    ),
  ];
}

/** It takes its services from the plugin kubernetes of its block, which that of all names has. */
function externalDirectives({ zone }: Zone, { externalDomain }: DnsSetup): Directive[] {
  const isHere = zone === '.' && externalDomain !== '';
  return isHere ? [directive('k8s_external', [externalDomain])] : [];
}

/** In every block that has names of the cluster: that of the longest zone is the one that a secondary asks. */
function transferDirectives(here: Zone, setup: DnsSetup, notes: Notes): Directive[] {
  const { transferTo } = setup;
  if (transferTo.length === 0 || kubernetesDirectives(here, setup).length === 0) return [];
  if (ALL_NETWORKS.every((network) => transferTo.includes(network)))
    return [directive('transfer', [], [directive('to', ['*'])])];
  const { hosts } = new ClientNetworks(transferTo.join(','));
  for (const network of transferTo.filter((each) => !hosts.includes(hostOf(each))))
    notes.lose(`--transfer-to=${network}`, 'the plugin transfer has addresses, or all of them');
  return hosts.length === 0 ? [] : [directive('transfer', [], [directive('to', hosts)])];
}

function hostOf(network: string): string {
  return network.replace(/\/.*$/, '');
}

function templateDirectives(here: Zone, setup: DnsSetup, notes: Notes): Directive[] {
  const filters = setup.filteredTypes.map((type) =>
    directive('template', ['IN', type], [directive('rcode', ['NOERROR'])]),
  );
  const empty = setup.emptyDomains.filter((domain) => isHere(domain, here));
  const emptyTemplates = empty.flatMap((domain) => {
    if (isWithin(setup.domain, domain)) {
      notes.lose(`--local=/${domain}/`, 'a template would hide the names of the cluster, too');
      return [];
    }
    return directive('template', ['IN', 'ANY', domain], [directive('rcode', ['NXDOMAIN'])]);
  });
  const answers = [...setup.addresses]
    .filter(([domain]) => isHere(domain, here))
    .flatMap(([domain, addresses]) => addressTemplates(domain, addresses, setup));
  return [...filters, ...answers, ...emptyTemplates];
}

function addressTemplates(
  domain: string,
  addresses: readonly string[],
  { localTtl }: DnsSetup,
): Directive[] {
  return (['A', 'AAAA'] as const).flatMap((type) => {
    const own = addresses.filter((address) => isIP(address) === (type === 'A' ? 4 : 6));
    if (own.length === 0) return [];
    const answers = own.map((address) =>
      directive('answer', [`{{ .Name }} ${localTtl} IN ${type} ${address}`]),
    );
    return directive('template', ['IN', type, domain], answers);
  });
}

function hostsDirectives(here: Zone, setup: DnsSetup, notes: Notes): Directive[] {
  const entries: HostsEntry[] = setup.hosts.flatMap(({ address, names }) => {
    const own = names.filter((name) => isHere(name, here));
    return own.length === 0 ? [] : { address, names: own };
  });
  if (entries.length === 0 && setup.hostsFile === '') return [];
  const ttl = Math.max(MIN_HOSTS_TTL, Math.min(setup.localTtl, MAX_HOSTS_TTL));
  if (ttl !== setup.localTtl) {
    notes.change(
      `--local-ttl=${setup.localTtl}`,
      `hosts takes ${MIN_HOSTS_TTL} to ${MAX_HOSTS_TTL}`,
    );
  }
  return [
    directive('hosts', setup.hostsFile === '' ? [] : [setup.hostsFile], [
      ...entries.map(({ address, names }) => directive(address, names)),
      directive('ttl', [String(ttl)]),
      directive('fallthrough'),
    ]),
  ];
}
