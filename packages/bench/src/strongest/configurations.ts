import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '@kube-dns/testkit';
import { ZONE } from '../cluster/cluster-plan.js';

/** The server that a cache asks. */
export interface Upstream {
  readonly port: number;
  /** It is asked over TLS. */
  readonly tls?: { readonly name: string; readonly caFile: string };
}

/** What a server does: it answers from a cache, passes every question on, or answers from a zone. */
export type Task =
  | { readonly kind: 'cache' | 'forward'; readonly upstream: Upstream }
  | { readonly kind: 'zone'; readonly zone: string };
type TaskKind = Task['kind'];

/** How one server is started. */
export interface StartPlan {
  readonly task: Task;
  /** Of 127.0.0.1. */
  readonly port: number;
  /** Its own: files are here, and what it writes. */
  readonly folder: string;
  readonly threads: number;
}

/** The command line of a server without its program, and the text of its files by name. */
interface Configuration {
  readonly args: readonly string[];
  readonly files: Readonly<Record<string, string>>;
}

/** A server of another project that needs a configuration, and none of it is in other commands. */
export interface Peer {
  readonly program: string;
  /** What installs it. */
  readonly package: string;
  /** The flag that makes it print its version. */
  readonly versionFlag: string;
  /** Which settings are not the default ones, and who advises them. */
  readonly advice: string;
  readonly kinds: readonly TaskKind[];
  /** Why it cannot ask over TLS; undefined where it can. */
  readonly noTls?: string;
  readonly configure: (plan: StartPlan) => Configuration;
  /** The command that checks this configuration, without its program; undefined where there is none. */
  readonly check?: { readonly program: string; readonly args: (plan: StartPlan) => string[] };
}

/** No answer of a run is too many for a cache. */
const CACHED_ANSWERS = 100_000;
const LONG_TTL_SECONDS = 86_400;
/** More than the clients over TCP. */
const TCP_CLIENTS = 100;
const CACHE_MIB = 64;
const ZONE_FILE = 'zone';

function linesOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

function upstreamOf({ task }: StartPlan): Upstream {
  if (task.kind === 'zone') throw new TypeError('a zone has no upstream');
  return task.upstream;
}

function zoneOf({ task }: StartPlan): string {
  if (task.kind !== 'zone') throw new TypeError('a cache has no zone');
  return task.zone;
}

function isCache({ task }: StartPlan): boolean {
  return task.kind === 'cache';
}

const UNBOUND_FILE = 'unbound.conf';

function configureUnbound(plan: StartPlan): Configuration {
  const { port, folder, threads } = plan;
  const { port: upstreamPort, tls } = upstreamOf(plan);
  const slabs = ['msg-cache', 'rrset-cache', 'infra-cache', 'key-cache'];
  const text = linesOf([
    'server:',
    `  interface: 127.0.0.1@${port}`,
    `  port: ${port}`,
    '  access-control: 127.0.0.0/8 allow',
    '  do-not-query-localhost: no',
    '  module-config: "iterator"',
    `  num-threads: ${threads}`,
    ...slabs.map((slab) => `  ${slab}-slabs: ${threads}`),
    `  msg-cache-size: ${CACHE_MIB}m`,
    `  rrset-cache-size: ${2 * CACHE_MIB}m`,
    '  outgoing-range: 8192',
    '  num-queries-per-thread: 4096',
    '  so-reuseport: yes',
    '  so-rcvbuf: 4m',
    '  so-sndbuf: 4m',
    `  incoming-num-tcp: ${TCP_CLIENTS}`,
    ...(tls === undefined
      ? []
      : [`  outgoing-num-tcp: ${TCP_CLIENTS}`, `  tls-cert-bundle: "${tls.caFile}"`]),
    '  username: ""',
    '  chroot: ""',
    `  directory: "${folder}"`,
    '  pidfile: ""',
    '  do-daemonize: no',
    '  use-syslog: no',
    '  verbosity: 0',
    'remote-control:',
    '  control-enable: no',
    'forward-zone:',
    '  name: "."',
    `  forward-addr: 127.0.0.1@${upstreamPort}${tls === undefined ? '' : `#${tls.name}`}`,
    ...(tls === undefined ? [] : ['  forward-tls-upstream: yes']),
    ...(isCache(plan) ? [] : ['  forward-no-cache: yes']),
  ]);
  return { args: ['-d', '-c', join(folder, UNBOUND_FILE)], files: { [UNBOUND_FILE]: text } };
}

function configureRecursor(plan: StartPlan): Configuration {
  const { port, folder, threads } = plan;
  const text = linesOf([
    `local-address=127.0.0.1`,
    `local-port=${port}`,
    'allow-from=127.0.0.0/8',
    // Else it asks no server of this machine.
    'dont-query=',
    `forward-zones-recurse=.=127.0.0.1:${upstreamOf(plan).port}`,
    'dnssec=off',
    `threads=${threads}`,
    'pdns-distributes-queries=no',
    'reuseport=yes',
    'max-mthreads=4096',
    ...(isCache(plan)
      ? [
          `max-cache-entries=${CACHED_ANSWERS}`,
          `max-packetcache-entries=${CACHED_ANSWERS}`,
          `packetcache-ttl=${LONG_TTL_SECONDS}`,
        ]
      : // Else a TTL of 0 is one of a second.
        ['disable-packetcache=yes', 'minimum-ttl-override=0']),
    `max-tcp-clients=${TCP_CLIENTS}`,
    'max-tcp-per-client=0',
    'max-tcp-queries-per-connection=0',
    'security-poll-suffix=',
    'statistics-interval=0',
    'quiet=yes',
    'loglevel=3',
    'disable-syslog=yes',
    'daemon=no',
    'write-pid=no',
    `socket-dir=${folder}`,
  ]);
  return { args: [`--config-dir=${folder}`], files: { 'recursor.conf': text } };
}

const KRESD_FILE = 'kresd.conf';

function configureKresd(plan: StartPlan): Configuration {
  const { port, folder } = plan;
  const { port: upstreamPort, tls } = upstreamOf(plan);
  const address = `127.0.0.1@${upstreamPort}`;
  const forward =
    tls === undefined
      ? `policy.STUB('${address}')`
      : `policy.TLS_FORWARD({{'${address}', hostname='${tls.name}', ca_file='${tls.caFile}'}})`;
  const text = linesOf([
    `net.listen('127.0.0.1', ${port}, { kind = 'dns' })`,
    'net.ipv6 = false',
    `net.tcp_pipeline(${TCP_CLIENTS})`,
    `cache.size = ${CACHE_MIB} * MB`,
    "trust_anchors.remove('.')",
    "modules.unload('ta_update')",
    "modules.unload('ta_signal_query')",
    "modules.unload('ta_sentinel')",
    "modules.unload('priming')",
    "modules.unload('detect_time_skew')",
    ...(isCache(plan) ? [] : ["policy.add(policy.all(policy.FLAGS({'NO_CACHE'})))"]),
    `policy.add(policy.all(${forward}))`,
  ]);
  return { args: ['-n', '-c', join(folder, KRESD_FILE), folder], files: { [KRESD_FILE]: text } };
}

const DNSDIST_FILE = 'dnsdist.conf';

function configureDnsdist(plan: StartPlan): Configuration {
  const { port, folder, threads } = plan;
  const { port: upstreamPort, tls } = upstreamOf(plan);
  const listener = (word: string) => `${word}('127.0.0.1:${port}', { reusePort=true })`;
  const over =
    tls === undefined
      ? ''
      : `, tls='openssl', subjectName='${tls.name}', caStore='${tls.caFile}', validateCertificates=true, maxInFlight=${TCP_CLIENTS}`;
  const text = linesOf([
    listener('setLocal'),
    ...Array.from({ length: threads - 1 }, () => listener('addLocal')),
    "setACL('127.0.0.0/8')",
    // Its health check would ask for a name of the world.
    `newServer({ address='127.0.0.1:${upstreamPort}'${over}, healthCheckMode='up' })`,
    'setMaxUDPOutstanding(65535)',
    `setMaxTCPClientThreads(${threads})`,
    `setMaxTCPConnectionsPerClient(0)`,
    "setSecurityPollSuffix('')",
    ...(isCache(plan)
      ? [
          `cache = newPacketCache(${CACHED_ANSWERS}, { maxTTL=${LONG_TTL_SECONDS}, numberOfShards=${threads} })`,
          "getPool(''):setCache(cache)",
        ]
      : []),
  ]);
  const args = ['--supervised', '--disable-syslog', '-C', join(folder, DNSDIST_FILE)];
  return { args, files: { [DNSDIST_FILE]: text } };
}

const NSD_FILE = 'nsd.conf';

function configureNsd(plan: StartPlan): Configuration {
  const { port, folder, threads } = plan;
  const text = linesOf([
    'server:',
    `  ip-address: 127.0.0.1@${port}`,
    `  port: ${port}`,
    `  server-count: ${threads}`,
    '  reuseport: yes',
    `  tcp-count: ${TCP_CLIENTS}`,
    // Else it answers one network 200 times a second.
    '  rrl-ratelimit: 0',
    '  rrl-whitelist-ratelimit: 0',
    '  username: ""',
    `  zonesdir: "${folder}"`,
    '  database: ""',
    `  zonelistfile: "${join(folder, 'zone.list')}"`,
    `  xfrdfile: "${join(folder, 'xfrd.state')}"`,
    `  xfrdir: "${folder}"`,
    '  pidfile: ""',
    '  verbosity: 0',
    'remote-control:',
    '  control-enable: no',
    'zone:',
    `  name: "${ZONE}"`,
    `  zonefile: "${ZONE_FILE}"`,
  ]);
  const files = { [NSD_FILE]: text, [ZONE_FILE]: zoneOf(plan) };
  return { args: ['-d', '-c', join(folder, NSD_FILE)], files };
}

const KNOT_FILE = 'knot.conf';

function configureKnot(plan: StartPlan): Configuration {
  const { port, folder, threads } = plan;
  const text = linesOf([
    'server:',
    `  rundir: "${folder}"`,
    `  listen: 127.0.0.1@${port}`,
    `  udp-workers: ${threads}`,
    `  tcp-workers: ${threads}`,
    '  background-workers: 1',
    `  tcp-max-clients: ${TCP_CLIENTS}`,
    'database:',
    `  storage: "${folder}"`,
    'log:',
    '  - target: stderr',
    '    any: error',
    'template:',
    '  - id: default',
    `    storage: "${folder}"`,
    '    zonefile-sync: -1',
    '    journal-content: none',
    'zone:',
    `  - domain: ${ZONE}`,
    `    file: "${ZONE_FILE}"`,
  ]);
  return {
    args: ['-c', join(folder, KNOT_FILE)],
    files: { [KNOT_FILE]: text, [ZONE_FILE]: zoneOf(plan) },
  };
}

/** The word of each on the command line. */
export type PeerWord = 'unbound' | 'pdns-recursor' | 'knot-resolver' | 'dnsdist' | 'nsd' | 'knot';

/** The servers of other projects that have a configuration here. */
export const PEERS: Readonly<Record<PeerWord, Peer>> = {
  unbound: {
    program: 'unbound',
    package: 'unbound',
    versionFlag: '-V',
    advice:
      'one thread and one slab for each core, a cache of RRsets twice that of messages, many outgoing ports, large socket buffers, no validation (NLnet Labs, "Howto Optimise")',
    kinds: ['cache', 'forward'],
    configure: configureUnbound,
    check: { program: 'unbound-checkconf', args: ({ folder }) => [join(folder, UNBOUND_FILE)] },
  },
  'pdns-recursor': {
    program: 'pdns_recursor',
    package: 'pdns-recursor',
    versionFlag: '--version',
    advice:
      'one worker thread for each core, a socket for each (reuseport) in place of a distributor, the packet cache, no validation (its page "Performance Guide")',
    kinds: ['cache', 'forward'],
    noTls: 'it speaks TLS with servers at port 853 alone',
    configure: configureRecursor,
  },
  'knot-resolver': {
    program: 'kresd',
    package: 'knot-resolver',
    versionFlag: '-V',
    advice:
      'one process for each core, the cache in memory of its own folder, no validation (its page "Performance and resiliency")',
    kinds: ['cache', 'forward'],
    configure: configureKresd,
  },
  dnsdist: {
    program: 'dnsdist',
    package: 'dnsdist',
    versionFlag: '--version',
    advice:
      'one listening socket and one TCP thread for each core, a packet cache, many questions outstanding (its page "Performance Tuning")',
    kinds: ['cache', 'forward'],
    configure: configureDnsdist,
    check: {
      program: 'dnsdist',
      args: ({ folder }) => ['--check-config', '-C', join(folder, DNSDIST_FILE)],
    },
  },
  nsd: {
    program: 'nsd',
    package: 'nsd',
    versionFlag: '-v',
    advice: 'one server process for each core, no limit of the rate of answers (nsd.conf(5))',
    kinds: ['zone'],
    configure: configureNsd,
    check: { program: 'nsd-checkconf', args: ({ folder }) => [join(folder, NSD_FILE)] },
  },
  knot: {
    program: 'knotd',
    package: 'knot',
    versionFlag: '-V',
    advice: 'one UDP and one TCP worker for each core, no journal (knot.conf(5))',
    kinds: ['zone'],
    configure: configureKnot,
    check: {
      program: 'knotc',
      args: ({ folder }) => ['-c', join(folder, KNOT_FILE), 'conf-check'],
    },
  },
};

/** Where a distribution keeps servers, which the PATH of a user may leave out. */
const SYSTEM_FOLDER = '/usr/sbin';

/** The path of a program of this machine; undefined where it is not installed. */
export function installedProgram(name: string): string | undefined {
  const path = join(SYSTEM_FOLDER, name);
  return findProgram(name) ?? (existsSync(path) ? path : undefined);
}

/** What a page shows of a configuration: it is the same for all ports and folders. */
const SHOWN: Omit<StartPlan, 'task'> = { port: 53, folder: '/run/bench', threads: 1 };
const SHOWN_TASKS: Readonly<Record<TaskKind, Task>> = {
  cache: { kind: 'cache', upstream: { port: 5_353 } },
  forward: { kind: 'forward', upstream: { port: 5_353 } },
  zone: { kind: 'zone', zone: '' },
};

/** The configuration of a peer as it is printed: with port 53, without the records of a zone. */
export function shownConfiguration(word: PeerWord): string {
  const { kinds, configure } = PEERS[word];
  const { files } = configure({ ...SHOWN, task: SHOWN_TASKS[kinds[0]!] });
  return Object.entries(files)
    .filter(([name]) => name !== ZONE_FILE)
    .map(([, text]) => text)
    .join('');
}
