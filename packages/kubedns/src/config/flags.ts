import { isIP } from 'node:net';
import {
  boolFlag,
  choiceFlag,
  ClientNetworks,
  durationFlag,
  type FlagDefinition,
  type FlagSpec,
  type FlagValues,
  intFlag,
  MAX_PORT,
  portFlag,
  type Program,
  quote,
  stringFlag,
  waitFlag,
} from '@kube-dns/base';
import {
  isDnsLabel,
  isDnsSubdomain,
  isIpAddress,
  parseFederations,
  parseNameservers,
  queryLogFlag,
  STATUS_FLAG,
  VERSION,
} from '@kube-dns/daemon';
import { DNSTAP_FLAG } from '@kube-dns/telemetry';
import {
  COOKIELESS_PER_SECOND,
  DEFAULT_TCP_AGE_MS,
  type ServerAddress,
  UDP_ENGINES,
} from '@kube-dns/transport';
import { bindAddress, EVERY_ADDRESS, MAX_TTL_SECONDS } from '@kube-dns/wire';
import { ENDPOINTS_SOURCES } from '../watch/cluster-watch.js';
import { ENDPOINT_NAMES } from '../watch/projections.js';
import { DEFAULT_STORE_LIMITS } from '../watch/store.js';

/** The PTR records of an address that several services share: of all of them, or of the first. */
export const PTR_MODES = ['all', 'first'] as const;
export type PtrMode = (typeof PTR_MODES)[number];

/** How names of pods are answered: from the label alone, without looking for a pod, or never. */
export const POD_MODES = ['insecure', 'disabled'] as const;
export type PodMode = (typeof POD_MODES)[number];

/** Leaves space for names below the zone, such as `hostmaster.<zone>`. */
const MAX_DOMAIN_LENGTH = 240;
const DNS_PORT = 53;
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
/** Each has its own retransmissions. */
const MAX_NOTIFIED = 16;
/** Each may cost a question to another server, one after the other. */
const MAX_SEARCH_DOMAINS = 4;

/** The flags of kubedns; names and defaults are the original's where it has them. */
export const KUBEDNS_FLAGS = {
  'clusterset-domain': optionalDomainFlag(
    'zone of services that are imported from other clusters (KEP-1645), as clusterset.local; needs the rights to list and watch ServiceImports; default: none',
  ),
  'config-dir': stringFlag(
    '',
    'directory with the keys of the kube-dns ConfigMap as files',
    'path',
  ),
  'config-map': objectNameFlag(
    '',
    'name of a ConfigMap to read the configuration from, through the API',
  ),
  'config-map-namespace': objectNameFlag('kube-system', 'namespace of config-map'),
  'config-period': waitFlag(10 * SECOND, 'how often to read config-dir again'),
  'cookie-secret-file': stringFlag(
    '',
    'file with the secret of server cookies, 32 hex digits, and the last one in a second line; default: a random one',
    'path',
  ),
  'coredns-metrics': boolFlag(false, 'also serve metrics under CoreDNS’s names'),
  'dns-bind-address': addressFlag(
    '0.0.0.0',
    'address that DNS is served on; 0.0.0.0 and [::]: all addresses, IPv4 and IPv6',
  ),
  'dns-port': portFlag(53, 'port that DNS is served on, UDP and TCP'),
  dnstap: DNSTAP_FLAG,
  domain: domainFlag('cluster.local.', 'zone of the cluster'),
  'drain-time': waitFlag(5 * SECOND, 'how long to keep answering after SIGTERM'),
  'endpoint-names': choiceFlag(
    ENDPOINT_NAMES,
    'hash',
    'label of an endpoint without hostname: a hash of its address, the address with dashes, or the name of its pod',
  ),
  'endpoints-source': choiceFlag(
    ENDPOINTS_SOURCES,
    'auto',
    'source of the endpoints of headless services; auto uses endpoints while access to slices is denied',
  ),
  'external-domain': domainFlag(
    '',
    'zone with the addresses of services outside of the cluster: <service>.<namespace>.<zone>',
  ),
  federations: federationsFlag('deprecated: federations, used without config-dir and config-map'),
  'healthz-port': portFlag(
    8081,
    'port of /readiness, /cache, /subscribers, /snapshot and /explain',
  ),
  'hidden-namespaces': labelsFlag(
    'namespaces whose services are not answered, such as com and net, whose names a search path would lead to them',
  ),
  'http-bind-address': stringFlag(
    '',
    'address that these pages and metrics are served on; default: all',
  ),
  'initial-sync-timeout': waitFlag(
    60 * SECOND,
    'exit with 255 when the cluster is not listed, nor a snapshot found, within this time; 0: no limit',
  ),
  'kube-master-url': urlFlag('URL of the API server; overrides the server of kubecfg-file'),
  'kubecfg-file': stringFlag('', 'kubeconfig to use in place of the service account', 'path'),
  'max-objects': intFlag(
    DEFAULT_STORE_LIMITS.maxObjects,
    'API objects of one resource that are stored; with more of them the program is not ready',
    { min: 1 },
  ),
  'max-stored-bytes': intFlag(
    DEFAULT_STORE_LIMITS.maxBytes,
    'memory that the stored objects of one resource may take, as estimated; goes with the memory limit',
    { min: 1 },
  ),
  nameservers: nameserversFlag(
    'upstream name servers, also tls://host[:port][%name] and https://host[:port]/path, used without config-dir and config-map; default: those of /etc/resolv.conf',
  ),
  'negative-ttl': intFlag(5, 'TTL of negative answers, in seconds', {
    min: 0,
    max: MAX_TTL_SECONDS,
  }),
  notify: serversFlag(
    'servers that get a NOTIFY for each name that changes (RFC 1996); may be repeated',
    MAX_NOTIFIED,
  ),
  'notify-key': stringFlag(
    '',
    'file with the TSIG key that signs these, as tsig-keygen writes it',
    'path',
  ),
  pods: choiceFlag(
    POD_MODES,
    'insecure',
    'insecure: answer pod names from their label without looking for the pod; disabled: NXDOMAIN',
    ['verified'],
  ),
  profiling: boolFlag(false, 'serve a CPU profiler and memory figures on 127.0.0.1:6060'),
  ptr: choiceFlag(PTR_MODES, 'all', 'PTR records of an address that several services share'),
  'query-log': queryLogFlag(),
  'ready-without-api': boolFlag(
    true,
    'be ready when answers are from a snapshot, as the API server is not reached since the start',
  ),
  'record-ttl': intFlag(30, 'TTL of records, in seconds', { min: 0, max: MAX_TTL_SECONDS }),
  'require-cookie': rateFlag(
    COOKIELESS_PER_SECOND,
    'above so many UDP queries a second without a good server cookie they get BADCOOKIE or TC; alone: 10000',
  ),
  'reuse-port': boolFlag(
    false,
    'let several processes that have this flag serve one port (SO_REUSEPORT)',
  ),
  'route-names': boolFlag(
    false,
    'answer the hosts of Ingresses and Gateway routes, and those of annotations of services, of namespaces with the label kube-dns/host-names=true',
  ),
  'search-extra': domainsFlag(
    'domains that names of search-zone are also looked up in, after those of the cluster, as corp.example.com',
    MAX_SEARCH_DOMAINS,
  ),
  'search-zone': optionalDomainFlag(
    'zone in which <name>.search.<namespace>.<domain>.<zone> stands for the first name of a search path that exists (KEP-2009), as ap.k8s.io; default: none',
  ),
  'snapshot-file': stringFlag(
    '',
    'file to write what was listed to, and to answer from at a start without the API server; default: none',
    'path',
  ),
  'snapshot-max-age': durationFlag(24 * HOUR, 'do not answer from a snapshot that is older'),
  'snapshot-replicas': hostFlag(
    'host name with the addresses of all replicas: at a start without the API server they are asked for a snapshot',
  ),
  'snapshot-token': stringFlag(
    '',
    'file with the secret that the replicas share; without it none gives or takes a snapshot of another one',
    'path',
  ),
  status: STATUS_FLAG,
  subscribers: networksFlag(
    'who may subscribe to changes besides this machine or pod; default: everyone',
  ),
  'tcp-max-age': waitFlag(
    DEFAULT_TCP_AGE_MS,
    'oldest that a TCP connection of a client gets, so that clients spread over new replicas; 0: no limit',
  ),
  'tls-ca': stringFlag(
    '',
    'file with the authorities of tls:// and https:// name servers, as PEM; default: those of the system',
    'path',
  ),
  'transfer-key': stringFlag(
    '',
    'file with the TSIG key that requests for a transfer must be signed with, as tsig-keygen writes it',
    'path',
  ),
  'transfer-to': networksFlag(
    'secondary servers that may transfer the zones (AXFR, IXFR); without notify those that are one address get a NOTIFY for each change; default: none',
  ),
  'udp-engine': choiceFlag(
    UDP_ENGINES,
    'auto',
    'how datagrams move: batch = many per system call (Linux), dgram = one; auto: batch where it works',
  ),
  'upstream-cookies': boolFlag(
    false,
    'ask upstream servers with cookies (RFC 7873), and take no reply without',
  ),
  wildcards: boolFlag(true, 'answer names with a label * for all that match; false: NXDOMAIN'),
  zonal: boolFlag(
    false,
    'answer <zone>.pin._zone.<service>.<namespace>.svc.<domain> with the endpoints of a headless service in that zone of the cloud; with prefer in place of pin, all where it has none',
  ),
} satisfies FlagSpec;

export type KubednsFlags = FlagValues<typeof KUBEDNS_FLAGS>;

export const PROGRAM: Program<typeof KUBEDNS_FLAGS> = {
  name: 'kubedns',
  version: VERSION,
  summary: 'Serves the records of a Kubernetes cluster over DNS.',
  flags: KUBEDNS_FLAGS,
};

/** A zone whose labels are all valid (kubernetes/dns cmd/kube-dns/app/options: clusterDomainVar). */
function domainFlag(initial: string, help: string): FlagDefinition<string> {
  return {
    ...stringFlag(initial, help),
    parse: (text) => {
      const domain = text.replace(/\.$/, '');
      if (domain.length > MAX_DOMAIN_LENGTH) {
        throw new Error(`longer than ${MAX_DOMAIN_LENGTH} characters`);
      }
      for (const label of domain.split('.')) {
        if (!isDnsLabel(label)) throw new Error(`${JSON.stringify(label)} is not a DNS label`);
      }
      return `${domain}.`;
    },
  };
}

/** As `domainFlag`, or empty. */
function optionalDomainFlag(help: string): FlagDefinition<string> {
  const flag = { ...domainFlag('', help), valueName: 'domain' };
  return { ...flag, parse: (text, ...rest) => (text === '' ? '' : flag.parse(text, ...rest)) };
}

/** A URL with scheme and host, environment variables in it expanded. */
function urlFlag(help: string): FlagDefinition<string> {
  return {
    ...stringFlag('', help, 'url'),
    parse: (text) => {
      const expanded = text.replace(
        /\$(?:\{([^}]*)\}|(\w+))/g,
        (_match, braced: string | undefined, bare: string | undefined) =>
          process.env[braced ?? bare ?? ''] ?? '',
      );
      const url = URL.canParse(expanded) ? new URL(expanded) : undefined;
      if (url === undefined || !/^https?:$/.test(url.protocol)) {
        throw new Error(`${quote(expanded)} is not an http or https URL`);
      }
      return expanded;
    },
  };
}

/** An IP address to serve on, in brackets or not; empty is every address. */
function addressFlag(initial: string, help: string): FlagDefinition<string> {
  return {
    ...stringFlag(initial, help, 'ip'),
    parse: (text) => {
      const address = bindAddress(text);
      if (address === EVERY_ADDRESS || isIP(address) !== 0) return text;
      throw new Error('not an IP address');
    },
  };
}

/** A rate that may be left out, and is `usual` then: `--flag`, `--flag=100`; undefined without the flag, and for false. */
function rateFlag(usual: number, help: string): FlagDefinition<number | undefined> {
  const flag = intFlag(usual, help, { min: 0 });
  return {
    parse: (text) => {
      if (text === 'false') return undefined;
      return text === 'true' ? usual : flag.parse(text, usual, true);
    },
    initial: undefined,
    isBoolean: true,
    help,
    valueName: 'int',
    formatDefault: () => '',
  };
}

/** The name of an object of the API, or empty. */
function objectNameFlag(initial: string, help: string): FlagDefinition<string> {
  return {
    ...stringFlag(initial, help, 'name'),
    parse: (text) => {
      if (text !== '' && !isDnsSubdomain(text)) {
        throw new Error('not a lower-case name of letters, digits, "-" and "."');
      }
      return text;
    },
  };
}

/** A host name, or empty. */
function hostFlag(help: string): FlagDefinition<string> {
  return {
    ...stringFlag('', help, 'name'),
    parse: (text) => {
      const name = text.replace(/\.$/, '');
      if (text !== '' && !isDnsSubdomain(name)) throw new Error(`${quote(text)} is no host name`);
      return name;
    },
  };
}

/** DNS labels, `a,b,…`; repeated flags add up. */
function labelsFlag(help: string): FlagDefinition<ReadonlySet<string>> {
  return {
    parse: (text, previous) => {
      const labels = text.split(',').map((label) => label.trim());
      for (const label of labels) {
        if (!isDnsLabel(label)) throw new Error(`${quote(label)} is not a DNS label`);
      }
      return new Set([...previous, ...labels]);
    },
    initial: new Set<string>(),
    isList: true,
    help,
    valueName: 'name,…',
    formatDefault: () => '',
  };
}

/** Domains, `a.b,c.d,…`, no more than `max` of them; repeated flags add up. */
function domainsFlag(help: string, max: number): FlagDefinition<readonly string[]> {
  return {
    parse: (text, previous) => {
      const domains = text.split(',').map((each) => each.trim().replace(/\.$/, ''));
      for (const domain of domains) {
        if (domain.length > MAX_DOMAIN_LENGTH || !isDnsSubdomain(domain))
          throw new Error(`${quote(domain)} is no domain`);
      }
      const all = [...new Set([...previous, ...domains])];
      if (all.length > max) throw new Error(`more than ${max} domains`);
      return all;
    },
    initial: [],
    isList: true,
    help,
    valueName: 'domain,…',
    formatDefault: () => '',
  };
}

/** Name servers, `ip[:port],…` or encrypted ones; the last flag wins. */
function nameserversFlag(help: string): FlagDefinition<readonly string[]> {
  return {
    parse: (text) => parseNameservers(text),
    initial: [],
    help,
    valueName: 'ip[:port],…',
    formatDefault: () => '',
  };
}

/** Networks, `ip[/bits],…`; the last flag wins. */
function networksFlag(help: string): FlagDefinition<ClientNetworks | undefined> {
  return {
    parse: (text) => new ClientNetworks(text),
    initial: undefined,
    help,
    valueName: 'ip[/bits],…',
    formatDefault: () => '',
  };
}

/** Servers, `ip[#port],…`, no more than `max` of them; repeated flags add up. */
function serversFlag(help: string, max: number): FlagDefinition<readonly ServerAddress[]> {
  return {
    parse: (text, previous) => {
      const servers = [...previous, ...text.split(',').map(parseServer)];
      if (servers.length > max) throw new Error(`more than ${max} servers`);
      return servers;
    },
    initial: [],
    isList: true,
    help,
    valueName: 'ip[#port],…',
    formatDefault: () => '',
  };
}

function parseServer(text: string): ServerAddress {
  const [, address = '', portText] = /^([^#]*)(?:#([0-9]{1,5}))?$/.exec(text.trim()) ?? [];
  const port = Number(portText ?? DNS_PORT);
  if (isIpAddress(address) && port >= 1 && port <= MAX_PORT) return { address, port };
  throw new Error(`${quote(text.trim())} is not ip or ip#port`);
}

/** Federations, `name=domain,…`; repeated flags add up. Hidden from the usage, as in the original. */
function federationsFlag(help: string): FlagDefinition<ReadonlyMap<string, string>> {
  return {
    parse: (text, previous) => new Map([...previous, ...parseFederations(text)]),
    initial: new Map<string, string>(),
    isList: true,
    help,
    valueName: 'name=domain,…',
    isHidden: true,
    formatDefault: () => '',
  };
}
