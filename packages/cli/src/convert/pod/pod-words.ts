import { STOCK_SETUP, type DnsSetup, type SetupDraft } from '../dns-setup.js';
import type { Notes } from '../notes.js';
import { DNSMASQ_DEFAULTS, readDnsmasqArguments } from './dnsmasq-reader.js';
import { readConfigMap } from './config-map-reader.js';
import { readDnsmasqLine } from './dnsmasq-line.js';
import { readKubednsFlags } from './kubedns-reader.js';

/** The command lines of a kube-dns pod, without the programs' names. */
export interface PodWords {
  /** Undefined when unknown. */
  readonly kubedns: readonly string[] | undefined;
  /** Both halves, the nanny's and dnsmasq's. */
  readonly dnsmasq: readonly string[] | undefined;
}

/** The input about a kube-dns pod. */
export interface PodSource {
  readonly words: PodWords;
  readonly configMap: ReadonlyMap<string, string>;
  /** The name of the ConfigMap in messages. */
  readonly where: string;
}

const KUBEDNS_PORT = 10053;

/** The arguments of dnsmasq: those after `--`, or all where the command is dnsmasq itself. */
export function dnsmasqHalf(words: readonly string[]): readonly string[] {
  const separator = words.indexOf('--');
  return separator < 0 ? words : words.slice(separator + 1);
}

/** Reads a pod and its ConfigMap; what is unknown is as in manifests/kube-dns. */
export function readPodSource(source: PodSource, notes: Notes): DnsSetup {
  const draft: SetupDraft = { ...STOCK_SETUP };
  const { kubedns, dnsmasq } = source.words;
  const half = dnsmasq === undefined ? undefined : dnsmasqHalf(dnsmasq);
  let port = KUBEDNS_PORT;
  if (kubedns !== undefined) port = readKubednsFlags(kubedns, draft, notes);
  else draft.domain = domainOf(half ?? []) ?? draft.domain;
  if (half !== undefined) {
    const { upstreams, resolvFile } = draft;
    Object.assign(draft, DNSMASQ_DEFAULTS);
    readDnsmasqArguments(half, port, draft, notes);
    // Servers that only kubedns has get only the queries that kubedns gets.
    if (upstreams.length > 0) draft.resolvFile = resolvFile;
  }
  readConfigMap(source.configMap, source.where, draft, notes);
  return draft;
}

/** The domain that is sent to kubedns; undefined without such an argument. */
function domainOf(words: readonly string[]): string | undefined {
  for (const { name, value } of readDnsmasqLine(words)) {
    const [, domain] =
      /^\/(?!in-addr|ip6?n?6?\.arpa)([^/]+?)\.?\/127\.0\.0\.1#10053$/.exec(value) ?? [];
    if (name === 'server' && domain !== undefined) return domain;
  }
  return undefined;
}
