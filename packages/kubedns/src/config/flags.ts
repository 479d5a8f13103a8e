import {
  boolFlag,
  type FlagSpec,
  type FlagValues,
  intFlag,
  portFlag,
  type Program,
  stringFlag,
  VERSION,
} from '@kube-dns/daemon';
import { UDP_ENGINES } from '@kube-dns/transport';
import { ENDPOINTS_SOURCES } from '../cluster/cluster-watch.js';
import {
  choiceFlag,
  domainFlag,
  federationsFlag,
  nameserversFlag,
  objectNameFlag,
  urlFlag,
  waitFlag,
} from './flag-kinds.js';
import { ENDPOINT_NAMES, POD_MODES, PTR_MODES } from './naming.js';

const SECOND = 1_000;
const MAX_TTL_SECONDS = 2 ** 31 - 1;

/** The flags of kubedns; names and defaults are the original's where it has them. */
export const KUBEDNS_FLAGS = {
  'config-dir': stringFlag(
    '',
    'directory with the keys of the kube-dns ConfigMap as files',
    'path',
  ),
  'config-map': objectNameFlag('', 'ConfigMap to read the configuration from, by way of the API'),
  'config-map-namespace': objectNameFlag('kube-system', 'namespace of config-map'),
  'config-period': waitFlag(10 * SECOND, 'how often config-dir is read again'),
  'coredns-metrics': boolFlag(false, 'serve metrics under CoreDNS’s names, too'),
  'dns-bind-address': stringFlag('0.0.0.0', 'address that DNS is served on'),
  'dns-port': portFlag(53, 'port that DNS is served on, UDP and TCP'),
  domain: domainFlag('cluster.local.', 'zone of the cluster'),
  'drain-time': waitFlag(5 * SECOND, 'how long to go on answering after SIGTERM'),
  'endpoint-names': choiceFlag(
    ENDPOINT_NAMES,
    'hash',
    'label of an endpoint without hostname: a hash of its address, the address with dashes, or the name of its pod',
  ),
  'endpoints-source': choiceFlag(
    ENDPOINTS_SOURCES,
    'auto',
    'where the addresses of headless services come from; auto takes endpoints while slices are denied',
  ),
  federations: federationsFlag(
    'deprecated: federations, where there is no config-dir or config-map',
  ),
  'healthz-port': portFlag(8081, 'port of /readiness and /cache'),
  'initial-sync-timeout': waitFlag(
    60 * SECOND,
    'exit when the cluster is not known after so long; 0 waits for ever',
  ),
  'kube-master-url': urlFlag('API server; wins over the server of kubecfg-file'),
  'kubecfg-file': stringFlag('', 'kubeconfig to use in place of the service account', 'path'),
  nameservers: nameserversFlag(
    'upstream name servers, where there is no config-dir or config-map; without any, those of /etc/resolv.conf',
  ),
  'negative-ttl': intFlag(5, 'TTL of denials, in seconds', { min: 0, max: MAX_TTL_SECONDS }),
  pods: choiceFlag(
    POD_MODES,
    'insecure',
    'answer names of pods from their label, without looking for the pod, or never',
    ['verified'],
  ),
  profiling: boolFlag(false, 'serve a CPU profiler and memory figures on 127.0.0.1:6060'),
  ptr: choiceFlag(PTR_MODES, 'all', 'names that the reverse name of a shared address has'),
  'record-ttl': intFlag(30, 'TTL of records, in seconds', { min: 0, max: MAX_TTL_SECONDS }),
  'reuse-port': boolFlag(
    false,
    'let several processes that have this flag serve one port (SO_REUSEPORT)',
  ),
  'udp-engine': choiceFlag(
    UDP_ENGINES,
    'auto',
    'how datagrams move: many per system call, or one as everywhere; auto takes batch where it works',
  ),
} satisfies FlagSpec;

export type KubednsFlags = FlagValues<typeof KUBEDNS_FLAGS>;

export const PROGRAM: Program<typeof KUBEDNS_FLAGS> = {
  name: 'kubedns',
  version: VERSION,
  summary: 'Serves the records of a Kubernetes cluster over DNS.',
  flags: KUBEDNS_FLAGS,
  // The original's; the other programs print it on stdout.
  helpStream: 'stderr',
};
