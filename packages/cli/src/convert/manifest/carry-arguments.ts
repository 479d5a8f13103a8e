import { dnsmasqHalf } from '../pod/pod-words.js';
import { readDnsmasqLine } from '../pod/dnsmasq-line.js';
import { readGoFlags, type GoFlag } from '../pod/go-flags.js';
import type { Notes } from '../notes.js';

/** What our dnsmasq refuses to start with (packages/dnsmasq README, the rows that say "no"). */
export const REFUSED_OPTIONS =
  /^(?:auth-.*|bootp-.*|bridge-interface|connmark-.*|conntrack|dhcp-.*|dnssec.*|dumpfile|dumpmask|enable-.*|ipset|leasefile-ro|log-debug|log-dhcp|nftset|no-(?:dhcp.*|ping)|pxe-.*|quiet-.*|ra-param|read-ethers|script-.*|shared-network|tag-if|tftp-.*|trust-anchor)$/;
/** Flags of kubedns, of the original and of ours, that are copied unchanged. */
const KUBEDNS_FLAGS =
  /^(?:config-period|coredns-metrics|dns-bind-address|drain-time|endpoint-names|endpoints-source|initial-sync-timeout|kube-master-url|kubecfg-file|negative-ttl|pods|profiling|ptr|record-ttl|udp-engine|v|vmodule)$/;
const NANNY_FLAGS =
  /^(?:coredns-metrics|metrics-addr|syncInterval|kubednsServer|logInterval|restartDnsmasq|v|vmodule)$/;
const SIDECAR_FLAGS = /^(?:dnsmasq-.*|probe|prometheus-.*|v|vmodule)$/;
const LOG_FLAGS = /^(?:log.*|alsologtostderr|stderrthreshold|skip-.*|one-output|add-dir-header)$/;
const LOG = 'the log is on stderr';
const KUBEDNS_PORT = '10053';

/** The targets of flags of kubedns that are not arguments of ours. */
export interface KubednsPlaces {
  /** Keys of the ConfigMap. */
  readonly data: Map<string, string>;
  /** The ConfigMap that the pod mounts. */
  configMap: string;
}

/** The arguments of kubedns: ours, replaced or followed by those of the older one. */
export function carryKubedns(
  base: readonly string[],
  words: readonly string[],
  places: KubednsPlaces,
  notes: Notes,
): string[] {
  const flags = readGoFlags(words);
  const isConfigured = flags.some(({ name }) => name === 'config-dir' || name === 'config-map');
  const args = [...base];
  for (const flag of flags) {
    const { name, value, text } = flag;
    if (KUBEDNS_FLAGS.test(name)) setFlag(args, flag, '--');
    else if (name === 'config-map') places.configMap = value;
    else if (name === 'federations' && !isConfigured) places.data.set('federations', value);
    else if (name === 'nameservers' && !isConfigured) {
      places.data.set(
        'upstreamNameservers',
        JSON.stringify(value.split(',').map((server) => server.trim())),
      );
    } else if (name === 'federations' || name === 'nameservers') {
      notes.change(text, 'the ConfigMap holds, as it did');
    } else if (LOG_FLAGS.test(name)) notes.change(text, LOG);
    else if (name === 'dns-port' && value !== KUBEDNS_PORT) {
      notes.change(text, `it is ${KUBEDNS_PORT}, and dnsmasq asks there`);
    } else if (name === 'healthz-port' && value !== '8081') {
      notes.change(text, 'it is 8081, and the probe asks there');
    } else if (name === 'config-map-namespace' && value !== 'kube-system') {
      notes.lose(text, 'a pod can mount a ConfigMap of its own namespace only');
    } else if (!/^(?:domain|dns-port|healthz-port|config-(?:dir|map-namespace))$/.test(name)) {
      notes.lose(`kubedns: ${text}`, 'ours has no such argument');
    }
  }
  return args;
}

/** The arguments of the container dnsmasq; those after `--` are from the older one. */
export function carryDnsmasq(
  base: readonly string[],
  words: readonly string[],
  kubednsPort: string,
  notes: Notes,
): string[] {
  const half = dnsmasqHalf(words);
  const nanny = base.slice(0, base.indexOf('--'));
  for (const flag of readGoFlags(
    words.slice(0, words.length - half.length).filter(isNoSeparator),
  )) {
    if (NANNY_FLAGS.test(flag.name)) setFlag(nanny, flag, '-');
    else if (LOG_FLAGS.test(flag.name)) notes.change(flag.text, LOG);
    else if (flag.name === 'dnsmasqExec') notes.change(flag.text, 'there is no other program');
    else if (flag.name !== 'configDir')
      notes.lose(`dnsmasq: ${flag.text}`, 'ours has no such argument');
  }
  const old = `127.0.0.1#${kubednsPort}`;
  const options = readDnsmasqLine(half).flatMap(({ name, text, words: own }) => {
    if (name === '' || REFUSED_OPTIONS.test(name)) {
      notes.lose(`dnsmasq: ${text}`, name === '' ? 'not an option' : 'ours refuses it');
      return [];
    }
    return own.map((word) =>
      word.endsWith(old) ? `${word.slice(0, -old.length)}127.0.0.1#${KUBEDNS_PORT}` : word,
    );
  });
  return [...nanny, '--', ...keepingToldNegatives(options)];
}

/**
 * As in our manifest: an older one turns negative caching off because its cache is told no change. Here kubedns tells
 * them.
 */
function keepingToldNegatives(options: readonly string[]): string[] {
  const isSaid = options.some((word) => word.startsWith('--negcache'));
  const at = options.findIndex((word) => word === '--no-negcache' || word === '-N');
  return isSaid || at < 0 ? [...options] : options.toSpliced(at + 1, 0, '--negcache=push');
}

function isNoSeparator(word: string): boolean {
  return word !== '--';
}

/** The arguments of the sidecar: those of the older one, without the flags of its log. */
export function carrySidecar(
  base: readonly string[],
  words: readonly string[],
  notes: Notes,
): string[] {
  const flags = readGoFlags(words);
  const hasProbes = flags.some(({ name }) => name === 'probe');
  const args = base.filter((word) => !hasProbes || !word.startsWith('--probe='));
  for (const flag of flags) {
    if (flag.name === 'probe') args.push(`--probe=${flag.value}`);
    else if (SIDECAR_FLAGS.test(flag.name)) setFlag(args, flag, '--');
    else if (LOG_FLAGS.test(flag.name)) notes.change(flag.text, LOG);
    else notes.lose(`sidecar: ${flag.text}`, 'ours has no such argument');
  }
  return args;
}

/** Replaces the flag with the same name, or appends it. */
function setFlag(args: string[], { name, value, text }: GoFlag, dashes: string): void {
  const word =
    text.includes('=') || value !== '' ? `${dashes}${name}=${value}` : `${dashes}${name}`;
  const at = args.findIndex((arg) => readGoFlags([arg])[0]?.name === name);
  if (at < 0) args.push(word);
  else args[at] = word;
}
