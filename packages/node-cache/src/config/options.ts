import {
  boolFlag,
  choiceFlag,
  durationFlag,
  errorText,
  type FlagDefinition,
  type FlagSpec,
  type FlagValues,
  MAX_PORT,
  MAX_TIMER_MS,
  stringFlag,
  UsageError,
  waitFlag,
  wrongValue,
} from '@kube-dns/base';
import {
  isIpAddress,
  queryLogFlag,
  type QueryLogRules,
  StartupError,
  STATUS_FLAG,
} from '@kube-dns/daemon';
import { DNSTAP_FLAG, type DnstapTarget } from '@kube-dns/telemetry';
import { DEFAULT_TCP_AGE_MS, UDP_ENGINES, type UdpEngineChoice } from '@kube-dns/transport';
import { type HttpAddress, parseHttpAddress } from '../corefile/server-block.js';

const SECOND = 1_000;

/** How the rules are made: `auto` asks what kube-proxy uses. */
const SETUPS = ['auto', 'nft', 'iptables', 'none'] as const;
export type SetupChoice = (typeof SETUPS)[number];

/**
 * An interval that may be written in seconds, as its text in the original says. There `60` is refused, `60s`
 * never ends, and `60ns` alone is 60 seconds (cmd/node-cache/main.go, parseAndValidateFlags).
 */
function secondsFlag(initialMs: number, help: string): FlagDefinition<number> {
  const duration = durationFlag(initialMs, help);
  return {
    ...duration,
    parse: (text, previous, isSet) => {
      const [, seconds] = /^(\d+)(?:ns)?$/.exec(text) ?? [];
      const ms =
        seconds === undefined ? duration.parse(text, previous, isSet) : Number(seconds) * SECOND;
      if (ms < SECOND) throw new Error('must be a second at least, such as 60, 60s or 1m');
      return Math.min(ms, MAX_TIMER_MS);
    },
  };
}

/** The flags of kubernetes/dns cmd/node-cache/main.go and of CoreDNS in it, names and defaults unchanged, then our own. */
export const FLAGS = {
  localip: stringFlag(
    '',
    'addresses to listen on, IPv4 and IPv6, separated by commas; the first is the link-local one',
    'ip,…',
  ),
  setupinterface: boolFlag(true, 'give a dummy interface these addresses'),
  interfacename: stringFlag('nodelocaldns', 'name of that interface', 'name'),
  setupiptables: boolFlag(true, 'manage the rules; false is --setup=none'),
  syncinterval: secondsFlag(60 * SECOND, 'time between two checks of interface and rules'),
  skipteardown: boolFlag(false, 'leave interface and rules in place at the end'),
  'metrics-listen-address': stringFlag(
    '0.0.0.0:9353',
    'address that the metrics of the set-up are served on',
    'ip:port',
  ),
  basecorefile: stringFlag('/etc/coredns/Corefile.base', 'template of the Corefile', 'path'),
  corefile: stringFlag('/etc/Corefile', 'file that the Corefile is written to', 'path'),
  conf: stringFlag('', 'the same, and stronger than --corefile', 'path'),
  kubednscm: stringFlag(
    '',
    'directory with the keys of the ConfigMap kube-dns as files; default: /etc/kube-dns where it exists',
    'path',
  ),
  upstreamsvc: stringFlag(
    'kube-dns',
    'service whose address, in the environment, is the DNS of the cluster',
    'name',
  ),
  'health-port': stringFlag('8080', 'port of the Corefile’s health, for the rules', 'port'),
  reloadwithsignal: boolFlag(
    false,
    'accepted: a new Corefile is always applied immediately, without a signal',
  ),
  pidfile: stringFlag('', 'file for the process ID, written once DNS is served', 'path'),
  'dns.port': stringFlag('53', 'port of the rules and of the blocks of stub domains', 'port'),
  p: stringFlag('', 'the same, and stronger than --dns.port', 'port'),
  quiet: boolFlag(false, 'log neither the server blocks nor the version at the start'),
  plugins: boolFlag(false, 'print the plugins of the Corefile that are obeyed, and exit'),
  'prometheus-listen-address': stringFlag(
    ':9253',
    'value of __PROMETHEUS__ENDPOINT__ in the template',
    'ip:port',
  ),
  setup: choiceFlag(
    SETUPS,
    'auto',
    'how rules are made: one nftables table of our own, the original’s iptables rules, or not at all; auto: as kube-proxy does',
  ),
  notrack: boolFlag(true, 'take DNS to these addresses out of connection tracking'),
  guard: stringFlag(
    '',
    'named pipe of a guard in another container, which takes the rules out when this one is killed',
    'path',
  ),
  dnstap: DNSTAP_FLAG,
  'drain-time': waitFlag(
    5 * SECOND,
    'how long to keep answering after SIGTERM; the lameduck of health counts where it is longer',
  ),
  'query-log': queryLogFlag(),
  'reuse-port': boolFlag(
    false,
    'let several processes that have this flag serve one port (SO_REUSEPORT)',
  ),
  'snapshot-file': stringFlag(
    '',
    'file with the cached answers of the cluster, which are known as expired ones after a restart; default: none',
    'path',
  ),
  status: STATUS_FLAG,
  'tcp-max-age': waitFlag(
    DEFAULT_TCP_AGE_MS,
    'oldest that a TCP connection of a client gets, so that clients spread over processes with one port; 0: no limit',
  ),
  'udp-engine': choiceFlag(
    UDP_ENGINES,
    'auto',
    'how datagrams move: batch = many per system call (Linux), dgram = one; auto: batch where it works',
  ),
} satisfies FlagSpec;

/** The values of the flags, checked, and checked against each other. */
interface NodeCacheOptions {
  /** The addresses to listen on, of both families, as they are written. */
  readonly localAddresses: readonly string[];
  /** The port of the rules and of the blocks of stub domains. */
  readonly port: number;
  readonly healthPort: number;
  readonly setsUpInterface: boolean;
  readonly interfaceName: string;
  readonly setup: SetupChoice;
  readonly skipsTeardown: boolean;
  readonly skipsTracking: boolean;
  readonly syncIntervalMs: number;
  /** The named pipe of a guard in another container; '' for none. */
  readonly guardPipe: string;
  readonly drainMs: number;
  readonly reusesPort: boolean;
  /** How old a TCP connection of a client gets at most; 0 is no limit. */
  readonly maxTcpAgeMs: number;
  readonly udpEngine: UdpEngineChoice;
  /** Unless the ConfigMap has others. */
  readonly queryLog: QueryLogRules;
  readonly dnstap: DnstapTarget | null;
  /** Where the metrics of the set-up are served. */
  readonly metricsAddress: HttpAddress;
  /** '' for none. */
  readonly pidFile: string;
  readonly snapshotFile: string;
  readonly isQuiet: boolean;
  readonly corefile: CorefileOptions;
}

/** What the Corefile is made of. */
export interface CorefileOptions {
  readonly templateFile: string;
  /** Where it is written to. */
  readonly file: string;
  /** The folder of the ConfigMap kube-dns; '' is the default one, if it exists. */
  readonly kubeDnsFolder: string;
  readonly upstreamService: string;
  /** `-localip` and `-dns.port`, for the template. */
  readonly localAddresses: readonly string[];
  readonly port: number;
  readonly prometheusAddress: string;
}

const EXIT_FATAL = 1;

/**
 * Combines the flags. Throws a StartupError with the original's words and exit code for `-localip` and the two
 * ports, and a UsageError for what else cannot be obeyed. Addresses of both families are one process.
 */
export function readOptions(values: FlagValues<typeof FLAGS>): NodeCacheOptions {
  const localAddresses = readLocalAddresses(values.localip);
  const port = readPort(values.p === '' ? values['dns.port'] : values.p, 'port');
  return {
    localAddresses,
    port,
    healthPort: readPort(values['health-port'], 'healthcheck port'),
    setsUpInterface: values.setupinterface,
    interfaceName: readInterfaceName(values.interfacename),
    setup: readSetup(values.setup, values.setupiptables),
    skipsTeardown: values.skipteardown,
    skipsTracking: values.notrack,
    syncIntervalMs: values.syncinterval,
    guardPipe: values.guard,
    drainMs: values['drain-time'],
    reusesPort: values['reuse-port'],
    maxTcpAgeMs: values['tcp-max-age'],
    udpEngine: values['udp-engine'],
    queryLog: values['query-log'],
    dnstap: values.dnstap,
    metricsAddress: readHttpAddress('metrics-listen-address', values['metrics-listen-address']),
    pidFile: values.pidfile,
    snapshotFile: values['snapshot-file'],
    isQuiet: values.quiet,
    corefile: {
      templateFile: values.basecorefile,
      file: values.conf === '' ? values.corefile : values.conf,
      kubeDnsFolder: values.kubednscm,
      upstreamService: values.upstreamsvc,
      localAddresses,
      port,
      prometheusAddress: values['prometheus-listen-address'],
    },
  };
}

function fatal(reason: string): StartupError {
  return new StartupError(`[FATAL] Error parsing flags - ${reason}, Exiting`, EXIT_FATAL);
}

function readLocalAddresses(text: string): readonly string[] {
  const addresses = text.split(',');
  const wrong = addresses.find((address) => !isIpAddress(address));
  if (wrong !== undefined) throw fatal(`invalid localip specified - ${JSON.stringify(wrong)}`);
  const twice = addresses.find((address, at) => addresses.indexOf(address) < at);
  if (twice !== undefined) throw fatal(`localip specified twice - ${JSON.stringify(twice)}`);
  return addresses;
}

function readPort(text: string, what: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= MAX_PORT) return port;
  throw fatal(`invalid ${what} specified - ${JSON.stringify(text)}`);
}

/** The kernel's rule for names of interfaces (net/core/dev.c, dev_valid_name). */
function readInterfaceName(name: string): string {
  if (/^[^\s/:%]{1,15}$/.test(name) && !/^\.\.?$/.test(name)) return name;
  throw wrongValue('interfacename', name, 'must be 1 to 15 characters without blanks, / and :');
}

function readSetup(setup: SetupChoice, setsUpRules: boolean): SetupChoice {
  if (setsUpRules || setup === 'none') return setup;
  if (setup === 'auto') return 'none';
  throw new UsageError(`--setup=${setup} and --setupiptables=false exclude each other`);
}

function readHttpAddress(flag: string, text: string): HttpAddress {
  try {
    return parseHttpAddress(text);
  } catch (error) {
    throw wrongValue(flag, text, errorText(error));
  }
}
