import { isIP } from 'node:net';
import { isWithin, REVERSE_ZONES, type DnsSetup, type HostsEntry } from '../dns-setup.js';
import type { Remarks } from '../remarks.js';
import { isNamedServer } from '../server-text.js';
import { cacheDirective } from './cache-directive.js';
import { directive, type Directive, type ServerBlock } from './corefile.js';

/** What `forward` of CoreDNS takes. */
const MAX_SERVERS = 15;
const USUAL_CONCURRENT = 1000;
/** What the plugin hosts takes (coredns plugin/hosts/setup.go). */
const MIN_HOSTS_TTL = 1;
const MAX_HOSTS_TTL = 65_535;

/**
 * The server blocks that answer as a kube-dns pod with this setup: the one for all names, and one for each
 * domain with servers of its own. What has no place in them is named in the remarks.
 */
export function toCorefile(setup: DnsSetup, remarks: Remarks): ServerBlock[] {
  for (const [name, domain] of setup.federations) {
    remarks.lose(`federations: ${name}=${domain}`, 'CoreDNS has no federations any more');
  }
  const stubs = usableStubs(setup, remarks);
  const upstreams = forwardTargets(setup, setup.upstreams, '.', remarks);
  if (setup.resolvFile !== '') upstreams.push(setup.resolvFile);
  const zones = ['.', ...stubs.keys(), ...setup.upstreamDomains.filter((zone) => zone !== '.')];
  return [...new Set(zones)].map((zone) => {
    const targets = stubs.get(zone) ?? upstreams;
    const directives = zoneDirectives({ zone, zones, targets }, setup, remarks);
    const key = setup.port === 53 && zone !== '.' ? `${zone}:53` : `${zone}:${setup.port}`;
    return { keys: [key], directives, line: 0 };
  });
}

/** One server block to be. */
interface Zone {
  readonly zone: string;
  /** All there are, this one included. */
  readonly zones: readonly string[];
  readonly targets: readonly string[];
}

function zoneDirectives(here: Zone, setup: DnsSetup, remarks: Remarks): Directive[] {
  const isRoot = here.zone === '.';
  const forMain = (directives: readonly Directive[]) => (isRoot ? directives : []);
  const lameduck = directive('lameduck', [`${setup.drainSeconds}s`]);
  return [
    directive('errors'),
    ...forMain([directive('health', [], [lameduck]), directive('ready')]),
    ...(setup.logsQueries ? [directive('log')] : []),
    ...(setup.maxUdpBytes === undefined ? [] : [directive('bufsize', [`${setup.maxUdpBytes}`])]),
    ...templateDirectives(here, setup, remarks),
    ...hostsDirectives(here, setup, remarks),
    ...kubernetesDirectives(here, setup),
    ...forMain([directive('prometheus', [':9153'])]),
    ...(here.targets.length === 0 ? [] : [forwardDirective(here.targets, setup)]),
    ...cacheDirective(setup),
    ...(setup.detectsLoops ? [directive('loop')] : []),
    ...forMain([directive('reload'), ...(setup.isProfiled ? [directive('pprof')] : [])]),
    ...(setup.turnsRecords ? [directive('loadbalance')] : []),
  ];
}

/** The block that CoreDNS gives a name to: that of the longest zone. */
function isHere(name: string, { zone, zones }: Zone): boolean {
  const longest = zones
    .filter((each) => isWithin(name, each))
    .reduce((best, each) => (each.length > best.length ? each : best), '.');
  return longest === zone;
}

/** Without domains that the cluster's own names have. */
function usableStubs(setup: DnsSetup, remarks: Remarks): Map<string, readonly string[]> {
  const stubs = new Map<string, readonly string[]>();
  for (const [domain, servers] of setup.stubDomains) {
    if ([setup.domain, ...REVERSE_ZONES].includes(domain)) {
      const what = `servers of ${domain}: ${servers.join(' ')}`;
      remarks.lose(what, 'CoreDNS answers these names from the cluster');
      continue;
    }
    const targets = forwardTargets(setup, servers, domain, remarks);
    if (targets.length > 0) stubs.set(domain, targets);
  }
  return stubs;
}

function forwardTargets(
  setup: DnsSetup,
  servers: readonly string[],
  domain: string,
  remarks: Remarks,
): string[] {
  const targets: string[] = [];
  for (const server of new Set(servers)) {
    const what = `server ${server} of ${domain === '.' ? 'all names' : domain}`;
    if (isNamedServer(server) && isWithin(server, setup.domain)) {
      remarks.lose(what, 'CoreDNS cannot look up a server in the cluster that it serves itself');
    } else if (targets.length >= MAX_SERVERS) {
      remarks.lose(what, `forward takes ${MAX_SERVERS} servers at most`);
    } else {
      if (isNamedServer(server)) remarks.change(what, 'its address is looked up at the start only');
      targets.push(server);
    }
  }
  return targets;
}

function forwardDirective(targets: readonly string[], setup: DnsSetup): Directive {
  return directive(
    'forward',
    ['.', ...targets],
    [
      directive('max_concurrent', [`${setup.forwardMax ?? USUAL_CONCURRENT}`]),
      ...(setup.asksInOrder ? [directive('policy', ['sequential'])] : []),
    ],
  );
}

/** In every block whose zone has names of the cluster in it. */
function kubernetesDirectives({ zone }: Zone, setup: DnsSetup): Directive[] {
  const reverseZones = setup.reverseZones.filter((each) => isWithin(each, zone));
  const domains = isWithin(setup.domain, zone) ? [setup.domain] : [];
  if (domains.length + reverseZones.length === 0) return [];
  const { masterUrl, kubeconfig } = setup;
  return [
    directive(
      'kubernetes',
      [...domains, ...reverseZones],
      [
        directive('pods', [setup.pods]),
        ...(reverseZones.length === 0 ? [] : [directive('fallthrough', reverseZones)]),
        directive('ttl', [`${setup.recordTtl}`]),
        ...(setup.namesEndpointsByPod ? [directive('endpoint_pod_names')] : []),
        ...(masterUrl === '' ? [] : [directive('endpoint', [masterUrl])]),
        ...(kubeconfig === '' ? [] : [directive('kubeconfig', [kubeconfig])]),
      ],
    ),
  ];
}

function templateDirectives(here: Zone, setup: DnsSetup, remarks: Remarks): Directive[] {
  const filters = setup.filteredTypes.map((type) =>
    directive('template', ['IN', type], [directive('rcode', ['NOERROR'])]),
  );
  const empty = setup.emptyDomains.filter((domain) => isHere(domain, here));
  const denials = empty.flatMap((domain) => {
    if (isWithin(setup.domain, domain)) {
      remarks.lose(`--local=/${domain}/`, 'a template would hide the names of the cluster, too');
      return [];
    }
    return directive('template', ['IN', 'ANY', domain], [directive('rcode', ['NXDOMAIN'])]);
  });
  const answers = [...setup.addresses]
    .filter(([domain]) => isHere(domain, here))
    .flatMap(([domain, addresses]) => addressTemplates(domain, addresses, setup));
  return [...filters, ...answers, ...denials];
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

function hostsDirectives(here: Zone, setup: DnsSetup, remarks: Remarks): Directive[] {
  const entries: HostsEntry[] = setup.hosts.flatMap(({ address, names }) => {
    const own = names.filter((name) => isHere(name, here));
    return own.length === 0 ? [] : { address, names: own };
  });
  if (entries.length === 0 && setup.hostsFile === '') return [];
  const ttl = Math.max(MIN_HOSTS_TTL, Math.min(setup.localTtl, MAX_HOSTS_TTL));
  if (ttl !== setup.localTtl) {
    remarks.change(
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
