import { isIP } from 'node:net';
import {
  isWithin,
  plainDomain,
  RESOLV_CONF,
  REVERSE_ZONES,
  type SetupDraft,
} from '../dns-setup.js';
import type { Remarks } from '../remarks.js';
import { plainServer } from '../server-text.js';
import { readDnsmasqLine, type DnsmasqOption } from './dnsmasq-line.js';

/** What dnsmasq's half of the command line is read into. */
interface Reading {
  readonly draft: SetupDraft;
  readonly remarks: Remarks;
  /** The server that is kubedns, as DnsSetup has servers. */
  readonly kubedns: string;
  asksKubednsFirst: boolean;
  readsResolvFile: boolean;
}

/** How a process runs is not part of a setup, and what runs in the pod has its log on stderr anyway. */
const OF_THE_PROCESS = new Set(
  'keep-in-foreground log-facility log-async no-daemon pid-file user group no-hosts no-poll'.split(
    ' ',
  ),
);
const NO_COUNTERPART = 'a Corefile of the standard plugins cannot say it';
const NUMBER = /^\d{1,9}$/;

/**
 * Reads dnsmasq's half of the command line into a draft that has the defaults of dnsmasq. What only one
 * side knows is named in the remarks. `kubednsPort` is where kubedns listens on loopback.
 */
export function readDnsmasqArguments(
  words: readonly string[],
  kubednsPort: number,
  draft: SetupDraft,
  remarks: Remarks,
): void {
  const kubedns = plainServer(`127.0.0.1#${kubednsPort}`) ?? '';
  const reading: Reading = {
    ...{ draft, remarks, kubedns },
    asksKubednsFirst: false,
    readsResolvFile: true,
  };
  const ceilings = new Map<string, number>();
  for (const option of readDnsmasqLine(words)) {
    if (option.name === 'max-ttl' || option.name === 'max-cache-ttl') {
      readNumber(option, reading, (value) => void ceilings.set(option.name, value));
    } else readOption(option, reading);
  }
  // kubedns passes on what is not the cluster's, to the servers of the pod's resolv.conf.
  if (!reading.readsResolvFile && !reading.asksKubednsFirst) draft.resolvFile = '';
  readCeilings(ceilings, reading);
}

function readOption(option: DnsmasqOption, reading: Reading): void {
  const { draft, remarks } = reading;
  const { name, value, text } = option;
  switch (name) {
    case 'server':
    case 'local':
      readServer(option, reading);
      return;
    case 'address':
      readAddress(option, reading);
      return;
    case 'host-record':
      readHostRecord(option, reading);
      return;
    case 'addn-hosts':
      if (draft.hostsFile === '') draft.hostsFile = value;
      else remarks.lose(text, 'a Corefile has one hosts file for each zone');
      return;
    case 'resolv-file':
      draft.resolvFile = value;
      return;
    case 'no-resolv':
      reading.readsResolvFile = false;
      return;
    case 'cache-size':
      readNumber(option, reading, (number) => (draft.cacheSize = number));
      return;
    case 'no-negcache':
      draft.keepsDenials = false;
      return;
    case 'min-cache-ttl':
      readNumber(option, reading, (number) => (draft.minTtl = number));
      return;
    case 'local-ttl':
      readNumber(option, reading, (number) => (draft.localTtl = number));
      return;
    case 'use-stale-cache':
      readNumber({ ...option, value: value || '86400' }, reading, (number) => {
        draft.staleSeconds = number;
        if (number === 0) remarks.lose(text, 'serve_stale has an end');
      });
      return;
    case 'dns-forward-max':
      readNumber(option, reading, (number) => (draft.forwardMax = number));
      return;
    case 'edns-packet-max':
      readNumber(option, reading, (number) => (draft.maxUdpBytes = number));
      return;
    case 'port':
      readNumber(option, reading, (number) => (draft.port = number));
      return;
    case 'dns-loop-detect':
      draft.detectsLoops = true;
      return;
    case 'no-round-robin':
      draft.turnsRecords = false;
      return;
    case 'strict-order':
      draft.asksInOrder = true;
      return;
    case 'log-queries':
      draft.logsQueries = true;
      return;
    case 'filter-A':
    case 'filter-AAAA':
      draft.filteredTypes = [...draft.filteredTypes, name === 'filter-A' ? 'A' : 'AAAA'];
      return;
    default:
      if (!OF_THE_PROCESS.has(name)) remarks.lose(text, NO_COUNTERPART);
  }
}

function readNumber(option: DnsmasqOption, { remarks }: Reading, take: (n: number) => void): void {
  if (NUMBER.test(option.value)) take(Number(option.value));
  else remarks.lose(option.text, 'not a number');
}

function readCeilings(ceilings: ReadonlyMap<string, number>, { draft, remarks }: Reading): void {
  const given = [...ceilings.values()].filter((seconds) => seconds > 0);
  if (given.length === 0) return;
  draft.maxTtl = Math.min(...given);
  if (given.length < 2 || given[0] !== given[1]) {
    const text = [...ceilings].map(([name, seconds]) => `--${name}=${seconds}`).join(' ');
    remarks.change(text, 'one ceiling holds for the cache and for what clients see');
  }
}

/** The domains of `/a/b/rest`, and the rest; none for a value without slashes. */
function splitDomains(value: string): { domains: string[]; rest: string } {
  const end = value.lastIndexOf('/');
  if (!value.startsWith('/') || end < 1) return { domains: [], rest: value };
  return { domains: value.slice(1, end).split('/'), rest: value.slice(end + 1) };
}

/** Without the domains that a Corefile has no zone for; those are named. */
function usableDomains(domains: readonly string[], text: string, remarks: Remarks): string[] {
  return domains
    .filter((domain) => {
      if (domain !== '' && !domain.startsWith('*')) return true;
      const kind = domain === '' ? 'names without a dot are' : `${domain} is`;
      remarks.lose(text, `${kind} no zone of a Corefile`);
      return false;
    })
    .map(plainDomain);
}

function readServer({ value, text }: DnsmasqOption, reading: Reading): void {
  const { draft, remarks, kubedns } = reading;
  const split = splitDomains(value);
  const isForAll = split.domains.length === 0;
  const domains = isForAll ? ['.'] : usableDomains(split.domains, text, remarks);
  if (domains.length === 0) return;
  const [target = '', source] = split.rest.split('@', 2);
  if (source !== undefined) remarks.lose(text, `queries cannot leave from ${source}`);
  if (target === '') draft.emptyDomains = [...draft.emptyDomains, ...domains];
  else if (target === '#') draft.upstreamDomains = [...draft.upstreamDomains, ...domains];
  else {
    const server = plainServer(target);
    if (server === undefined) remarks.lose(text, `${target} is no server that both sides know`);
    else if (server === kubedns) domains.forEach((each) => askKubedns(each, text, reading));
    else domains.forEach((each) => askServer(each, server, reading));
  }
}

function askServer(domain: string, server: string, { draft }: Reading): void {
  if (domain === '.') draft.upstreams = [...draft.upstreams, server];
  else {
    const servers = [...(draft.stubDomains.get(domain) ?? []), server];
    draft.stubDomains = new Map([...draft.stubDomains, [domain, servers]]);
  }
}

function askKubedns(domain: string, text: string, reading: Reading): void {
  const { draft, remarks } = reading;
  if (domain === '.') {
    reading.asksKubednsFirst = true;
    draft.reverseZones = REVERSE_ZONES;
  } else if (REVERSE_ZONES.includes(domain)) {
    draft.reverseZones = REVERSE_ZONES.filter(
      (zone) => zone === domain || draft.reverseZones.includes(zone),
    );
  } else if (!isWithin(domain, draft.domain)) {
    remarks.change(text, `kubedns passes ${domain} on to its servers, as CoreDNS does by itself`);
  }
}

function readAddress({ value, text }: DnsmasqOption, { draft, remarks }: Reading): void {
  const split = splitDomains(value);
  const domains = usableDomains(split.domains, text, remarks);
  if (split.rest === '') {
    draft.emptyDomains = [...draft.emptyDomains, ...domains];
    return;
  }
  const addresses = split.rest === '#' ? ['0.0.0.0', '::'] : [split.rest];
  if (split.domains.length === 0 || addresses.some((address) => isIP(address) === 0)) {
    remarks.lose(text, 'not a domain with an address');
    return;
  }
  for (const domain of domains) {
    const all = [...(draft.addresses.get(domain) ?? []), ...addresses];
    draft.addresses = new Map([...draft.addresses, [domain, all]]);
  }
}

function readHostRecord({ value, text }: DnsmasqOption, { draft, remarks }: Reading): void {
  const fields = value.split(',').map((field) => field.trim());
  const addresses = fields.filter((field) => isIP(field) !== 0);
  const names = fields.filter((field) => isIP(field) === 0 && !NUMBER.test(field)).map(plainDomain);
  if (addresses.length === 0 || names.length === 0) {
    remarks.lose(text, 'not a name with an address');
    return;
  }
  const ttl = fields.find((field) => NUMBER.test(field));
  if (ttl !== undefined && Number(ttl) !== draft.localTtl) {
    remarks.change(text, `its TTL is that of all hosts, not ${ttl}`);
  }
  draft.hosts = [...draft.hosts, ...addresses.map((address) => ({ address, names }))];
}

/** The draft's values before any argument of dnsmasq was read: what it does without arguments. */
export const DNSMASQ_DEFAULTS: Partial<SetupDraft> = {
  cacheSize: 150,
  keepsDenials: true,
  reverseZones: [],
  detectsLoops: false,
  resolvFile: RESOLV_CONF,
};
