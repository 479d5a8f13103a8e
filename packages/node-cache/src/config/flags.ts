import {
  boolFlag,
  choiceFlag,
  durationFlag,
  type FlagDefinition,
  type FlagSpec,
  MAX_TIMER_MS,
  stringFlag,
  waitFlag,
} from '@kube-dns/base';
import { queryLogFlag, STATUS_FLAG } from '@kube-dns/daemon';
import { DNSTAP_FLAG } from '@kube-dns/telemetry';
import { UDP_ENGINES } from '@kube-dns/transport';

const SECOND = 1_000;

/** How the rules are made: `auto` asks what kube-proxy uses. */
export const SETUPS = ['auto', 'nft', 'iptables', 'none'] as const;
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
  status: STATUS_FLAG,
  'udp-engine': choiceFlag(
    UDP_ENGINES,
    'auto',
    'how datagrams move: batch = many per system call (Linux), dgram = one; auto: batch where it works',
  ),
} satisfies FlagSpec;
