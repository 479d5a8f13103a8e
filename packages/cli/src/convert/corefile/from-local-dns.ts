import {
  directive,
  readKey,
  type Directive,
  type WrittenBlock,
} from '@kube-dns/node-cache/corefile';
import { InputError } from '../../manifests/objects.js';
import type { Notes } from '../dns-setup.js';

/** Where LocalDNS of AKS listens: for pods with `dnsPolicy: Default` and the kubelet, and for those with `ClusterFirst`. */
const SIDES = [
  { key: 'vnetDNSOverrides', address: '169.254.10.10' },
  { key: 'kubeDNSOverrides', address: '169.254.10.11' },
] as const;
/** What node-cache puts in the place of these words of its template. */
const SERVERS: Readonly<Record<string, string>> = {
  vnetdns: '__PILLAR__UPSTREAM__SERVERS__',
  clustercoredns: '__PILLAR__CLUSTER__DNS__',
};
const PROTOCOLS: Readonly<Record<string, string>> = {
  preferudp: 'prefer_udp',
  forcetcp: 'force_tcp',
};
const POLICIES: Readonly<Record<string, string>> = {
  sequential: 'sequential',
  roundrobin: 'round_robin',
  random: 'random',
};
const STALE: Readonly<Record<string, string>> = {
  verify: 'verify',
  immediate: 'immediate',
  disable: '',
};
const LOGS: Readonly<Record<string, string>> = { log: 'log', error: 'errors' };
/** The capacity that LocalDNS gives each half of a cache. */
const CAPACITY = '9984';
const DEFAULTS = { maxConcurrent: 1_000, cacheSeconds: 3_600, staleSeconds: 3_600 };

/**
 * The template of node-cache's Corefile for the configuration of LocalDNS of AKS (`localdnsconfig.json`): a server block for each
 * zone of each side. What has no counterpart is named in the notes; throws an InputError for what is no such configuration.
 */
export function fromLocalDns(text: string, file: string, notes: Notes): WrittenBlock[] {
  const profile = readProfile(text, file);
  const known = ['mode', 'state', ...SIDES.map(({ key }) => key)].map((key) => key.toLowerCase());
  for (const [key, value] of Object.entries(profile)) {
    const name = key.toLowerCase();
    if (!known.includes(name)) notes.lose(key, 'node-cache has no counterpart');
    if (name === 'mode' && !/^required$/i.test(String(value))) {
      notes.change(`mode: ${String(value)}`, 'node-cache runs where its DaemonSet does');
    }
  }
  const blocks = SIDES.flatMap(({ key, address }) =>
    [...fieldsOf(profile, key, file)].map(([zone, override]) =>
      blockOf(new Override(override, `${file}: ${key}: ${zone}`, notes), zone, address),
    ),
  );
  if (blocks.length === 0) throw new InputError(`${file}: there is no zone in it`);
  const [first, ...rest] = blocks;
  // One block has what the probes of the DaemonSet ask.
  const probed = [directive('health', [`${SIDES[0].address}:8080`]), ...first!.directives];
  return [{ keys: first!.keys, directives: probed, line: 0 }, ...rest];
}

function readProfile(text: string, file: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new InputError(`${file}: it is not JSON`, { cause });
  }
  // The file of `az aks nodepool --localdns-config`, or what is in it.
  const outer = isObject(parsed) ? (valueOf(parsed, 'localDNSProfile') ?? parsed) : parsed;
  if (!isObject(outer) || SIDES.every(({ key }) => valueOf(outer, key) === undefined)) {
    const keys = SIDES.map(({ key }) => key).join(' and ');
    throw new InputError(`${file}: it is no configuration of LocalDNS: it has not ${keys}`);
  }
  return outer;
}

/** Keys are written in both cases: `vnetDNSOverrides` and `vnetDnsOverrides`. */
function valueOf(fields: Record<string, unknown>, key: string): unknown {
  const found = Object.keys(fields).find((each) => each.toLowerCase() === key.toLowerCase());
  return found === undefined ? undefined : fields[found];
}

function* fieldsOf(
  fields: Record<string, unknown>,
  key: string,
  file: string,
): Generator<readonly [string, Record<string, unknown>]> {
  const value = valueOf(fields, key) ?? {};
  if (!isObject(value)) throw new InputError(`${file}: ${key} is no object`);
  for (const [zone, override] of Object.entries(value)) {
    if (!isObject(override)) throw new InputError(`${file}: ${key}: ${zone} is no object`);
    const read = readKey(zone);
    if (typeof read === 'string') throw new InputError(`${file}: ${key}: ${zone} is ${read}`);
    yield [read.zone, override];
  }
}

function blockOf(override: Override, zone: string, address: string): WrittenBlock {
  const isOfCluster = zone === 'cluster.local' || zone.endsWith('.cluster.local');
  const server = override.word(
    'forwardDestination',
    SERVERS,
    isOfCluster ? 'ClusterCoreDNS' : 'VnetDNS',
  );
  const log = override.word('queryLogging', LOGS, 'Error');
  const protocol = override.word('protocol', PROTOCOLS, 'PreferUDP');
  const policy = override.word('forwardPolicy', POLICIES, 'Sequential');
  const limit = override.number('maxConcurrent', DEFAULTS.maxConcurrent);
  const stale = override.word('serveStale', STALE, 'Immediate');
  const staleSeconds = override.number('serveStaleDurationInSeconds', DEFAULTS.staleSeconds);
  const cacheSeconds = override.number('cacheDurationInSeconds', DEFAULTS.cacheSeconds);
  override.noteOthers();
  const isStale = stale !== '' && staleSeconds > 0;
  const directives: Directive[] = [
    ...(log === 'log' ? [directive('log')] : []),
    directive('errors'),
    directive('bind', [address]),
    directive(
      'forward',
      ['.', server],
      [
        directive(protocol),
        directive('policy', [policy]),
        directive('max_concurrent', [`${limit}`]),
      ],
    ),
    directive(
      'cache',
      [`${cacheSeconds}`],
      [
        directive('success', [CAPACITY]),
        directive('denial', [CAPACITY]),
        ...(isStale ? [directive('serve_stale', [`${staleSeconds}s`, stale])] : []),
      ],
    ),
    directive('loop'),
    directive('reload'),
    directive('prometheus', [':9253']),
  ];
  return { keys: [`${zone}:53`], directives, line: 0 };
}

/** The settings of one zone. */
class Override {
  readonly #fields: Record<string, unknown>;
  readonly #where: string;
  readonly #notes: Notes;
  readonly #read: string[] = [];

  constructor(fields: Record<string, unknown>, where: string, notes: Notes) {
    this.#fields = fields;
    this.#where = where;
    this.#notes = notes;
  }

  /** What a word of LocalDNS is here, in any case. */
  word(key: string, words: Readonly<Record<string, string>>, absent: string): string {
    const value = this.#value(key) ?? absent;
    const word = typeof value === 'string' ? words[value.toLowerCase()] : undefined;
    if (word !== undefined) return word;
    const known = Object.keys(words).join(', ');
    throw new InputError(`${this.#where}: ${key} is ${JSON.stringify(value)}, none of ${known}`);
  }

  number(key: string, absent: number): number {
    const value = this.#value(key) ?? absent;
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
    throw new InputError(`${this.#where}: ${key} is ${JSON.stringify(value)}, not a whole number`);
  }

  noteOthers(): void {
    for (const key of Object.keys(this.#fields)) {
      if (this.#read.includes(key.toLowerCase())) continue;
      this.#notes.lose(`${this.#where}: ${key}`, 'node-cache has no counterpart');
    }
  }

  #value(key: string): unknown {
    this.#read.push(key.toLowerCase());
    return valueOf(this.#fields, key);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
