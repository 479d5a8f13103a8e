import {
  durationFlag,
  type FlagDefinition,
  type FlagSpec,
  type FlagValues,
  intFlag,
  isDnsLabel,
  parseNameservers,
  type Program,
  stringFlag,
} from '@kube-dns/daemon';
import { ENDPOINTS_SOURCES, type EndpointsSource } from '../cluster/cluster-watch.js';

const SECOND = 1_000;
const MAX_PORT = 65_535;
const MAX_TTL_SECONDS = 2 ** 31 - 1;
/** The longest time that a timer of Node can wait; it fires at once when asked for more. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
/** So that the zone's own names, such as `hostmaster.<zone>`, still are names. */
const MAX_DOMAIN_LENGTH = 240;

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
        throw new Error(`${JSON.stringify(expanded)} is not an http or https URL`);
      }
      return expanded;
    },
  };
}

/** A duration that a timer waits for; the 24 days that it can wait at most stand for any more. */
function waitFlag(initialMs: number, help: string): FlagDefinition<number> {
  const flag = durationFlag(initialMs, help);
  return {
    ...flag,
    parse: (text, previous, isSet) => Math.min(flag.parse(text, previous, isSet), MAX_TIMER_MS),
  };
}

function endpointsSourceFlag(
  initial: EndpointsSource,
  help: string,
): FlagDefinition<EndpointsSource> {
  return {
    parse: (text) => {
      const source = ENDPOINTS_SOURCES.find((each) => each === text);
      if (source === undefined) throw new Error(`must be one of ${ENDPOINTS_SOURCES.join(', ')}`);
      return source;
    },
    initial,
    help,
    valueName: ENDPOINTS_SOURCES.join('|'),
    formatDefault: JSON.stringify,
  };
}

function nameserversFlag(help: string): FlagDefinition<readonly string[]> {
  return {
    parse: (text) => parseNameservers(text),
    initial: [],
    help,
    valueName: 'ip[:port],…',
    formatDefault: () => '',
  };
}

/** The flags of kubedns; names and defaults are the original's where it has them. */
export const KUBEDNS_FLAGS = {
  'config-dir': stringFlag('', 'directory with the keys of the kube-dns ConfigMap as files'),
  'config-period': waitFlag(10 * SECOND, 'how often config-dir is read again'),
  'dns-bind-address': stringFlag('0.0.0.0', 'address that DNS is served on'),
  'dns-port': intFlag(53, 'port that DNS is served on, UDP and TCP', { min: 0, max: MAX_PORT }),
  domain: domainFlag('cluster.local.', 'zone of the cluster'),
  'drain-time': waitFlag(5 * SECOND, 'how long to go on answering after SIGTERM'),
  'endpoints-source': endpointsSourceFlag(
    'auto',
    'where the addresses of headless services come from; auto takes endpoints while slices are denied',
  ),
  'healthz-port': intFlag(8081, 'port of /readiness', { min: 0, max: MAX_PORT }),
  'initial-sync-timeout': waitFlag(
    60 * SECOND,
    'exit when the cluster is not known after so long; 0 waits for ever',
  ),
  'kube-master-url': urlFlag('API server; wins over the server of kubecfg-file'),
  'kubecfg-file': stringFlag('', 'kubeconfig to use in place of the service account', 'path'),
  nameservers: nameserversFlag('upstream name servers; without them those of /etc/resolv.conf'),
  'negative-ttl': intFlag(5, 'TTL of denials, in seconds', { min: 0, max: MAX_TTL_SECONDS }),
  'record-ttl': intFlag(30, 'TTL of records, in seconds', { min: 0, max: MAX_TTL_SECONDS }),
} satisfies FlagSpec;

export type KubednsFlags = FlagValues<typeof KUBEDNS_FLAGS>;

export const PROGRAM: Program<typeof KUBEDNS_FLAGS> = {
  name: 'kubedns',
  version: process.env.KUBE_DNS_VERSION ?? 'dev',
  summary: 'Serves the records of a Kubernetes cluster over DNS.',
  flags: KUBEDNS_FLAGS,
};
