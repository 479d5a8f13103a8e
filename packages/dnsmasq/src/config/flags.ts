import {
  boolFlag,
  durationFlag,
  type FlagDefinition,
  type FlagSpec,
  type FlagValues,
  formatHostPort,
  type HostPort,
  nearest,
  parseHostPort,
  type Program,
  SHARED_FLAGS,
  stringFlag,
} from '@kube-dns/base';
import { queryLogFlag, STATUS_FLAG, VERSION } from '@kube-dns/daemon';
import { DNSTAP_FLAG } from '@kube-dns/telemetry';
import { OPTION_NAMES, optionsText } from '../options/option-table.js';

const SECOND = 1_000;

/** The nanny's flags (kubernetes/dns cmd/dnsmasq-nanny/main.go). */
export const NANNY_FLAGS = {
  configDir: stringFlag(
    '/etc/k8s/dns/dnsmasq-nanny',
    'directory with the kube-dns ConfigMap as files',
  ),
  'coredns-metrics': boolFlag(false, 'serve the metrics also under CoreDNS’s names'),
  dnstap: DNSTAP_FLAG,
  dnsmasqExec: stringFlag('/usr/sbin/dnsmasq', 'accepted and ignored: there is no other program'),
  kubednsServer: stringFlag(
    '127.0.0.1:10053',
    'server that resolves stub domain servers given by a name of the cluster',
  ),
  logInterval: durationFlag(0, 'how often statistics are logged; 0 is never'),
  'metrics-addr': metricsAddressFlag('address that serves /metrics over HTTP; off unless given'),
  'query-log': queryLogFlag(),
  restartDnsmasq: boolFlag(false, 'apply a changed configuration (nothing is restarted)'),
  status: STATUS_FLAG,
  syncInterval: durationFlag(10 * SECOND, 'how often configDir is read again'),
} satisfies FlagSpec;

export type NannyFlags = FlagValues<typeof NANNY_FLAGS>;

/** The nanny's half of the command line; dnsmasq's half is parsed separately, but `--help` lists both. */
export const PROGRAM: Program<typeof NANNY_FLAGS> = {
  name: 'dnsmasq',
  version: VERSION,
  usage: 'dnsmasq [flags] [-- options of dnsmasq]',
  summary: `Forwards DNS queries by domain and caches the answers.\n\n${optionsText()}`,
  flags: NANNY_FLAGS,
};

/** Flags of every Go program of kube-dns: help, version and klog's. */
const SHARED_NAMES =
  /^(?:h|help|v\d*|version|vmodule|logtostderr|alsologtostderr|stderrthreshold|one_output|add_dir_header|log_(?:dir|file|file_max_size|flush_frequency|backtrace_at)|logging_format|skip_(?:headers|log_headers))$/;

const NANNY_NAMES = Object.keys({ ...NANNY_FLAGS, ...SHARED_FLAGS });
const ALL_NAMES = [...NANNY_NAMES, ...OPTION_NAMES];
/** Fewer characters may well be short options of dnsmasq, such as `-kN`. */
const LEAST_CHARACTERS = 5;

/** Words that are compared with the nanny's flags; flags stand in front. */
const MAX_WORDS = 16;

/** The two halves of the command line of the dnsmasq-nanny container. */
interface ArgumentHalves {
  readonly nanny: readonly string[];
  readonly dnsmasq: readonly string[];
}

/**
 * Splits argv at the first `--`: nanny flags before, dnsmasq options after it, including a second `--`
 * (kubernetes/dns cmd/dnsmasq-nanny/main.go). Without `--` a line that starts with one of the nanny's
 * flags, or has a word that is meant as one, is all the nanny's, which refuses what is not. Any other line is
 * dnsmasq's, because the oldest manifests run dnsmasq itself.
 */
export function splitArguments(argv: readonly string[]): ArgumentHalves {
  const separator = argv.indexOf('--');
  if (separator >= 0) {
    return { nanny: argv.slice(0, separator), dnsmasq: argv.slice(separator + 1) };
  }
  const name = /^--?([^=]+)/.exec(argv[0] ?? '')?.[1];
  const isNanny =
    argv.length === 0 ||
    (name !== undefined && isNannyFlag(name)) ||
    argv.slice(0, MAX_WORDS).some(isMeantForNanny);
  return isNanny ? { nanny: argv, dnsmasq: [] } : { nanny: [], dnsmasq: argv };
}

/** Whether a flag's name, without dashes, is one of the nanny's. */
function isNannyFlag(name: string): boolean {
  return Object.hasOwn(NANNY_FLAGS, name) || SHARED_NAMES.test(name.replaceAll('-', '_'));
}

/**
 * Whether a word of a line without `--` is meant as a nanny's flag: it looks like one, or like one that is mistyped, and
 * is no option of dnsmasq. dnsmasq would read `-metric-addr` as `-m etric-addr`.
 */
function isMeantForNanny(word: string): boolean {
  const [, dashes = '', name = ''] = /^(--?)([^=]+)/.exec(word) ?? [];
  if (name.length < LEAST_CHARACTERS) return false;
  if (dashes === '-') return nearest(name, NANNY_NAMES) !== undefined;
  if (OPTION_NAMES.some((option) => option.startsWith(name))) return false;
  return NANNY_NAMES.includes(nearest(name, ALL_NAMES) ?? '');
}

/** The address that metrics are served on; without a host every address. */
interface MetricsAddress extends HostPort {
  readonly port: number;
}

/** A flag of `[HOST]:PORT`; empty serves no metrics. Throws for anything else, with the reason. */
function metricsAddressFlag(help: string): FlagDefinition<MetricsAddress | null> {
  return {
    parse: (text) => (text === '' ? null : parseMetricsAddress(text)),
    initial: null,
    help,
    valueName: '[host]:port',
    formatDefault: (address) => (address === null ? '' : formatHostPort(address)),
  };
}

function parseMetricsAddress(text: string): MetricsAddress {
  const { host, port } = parseHostPort(text);
  if (port === null) throw new Error('the port is missing');
  return { host, port };
}
