import { isIPv6 } from 'node:net';
import { parseHostPort } from '@kube-dns/base';
import type { Dns64Rules } from '@kube-dns/resolver';
import type { Encryption } from '@kube-dns/transport';
import { BITS_PER_REVERSE_LABEL, encodeName, parseAddress, reverseName } from '@kube-dns/wire';
import type { Pattern } from './pattern.js';
import type { RecordTemplate } from './record-template.js';

/** What one server block of a Corefile asks for, checked and with CoreDNS's defaults. */
export interface ServerBlock {
  /** As `cluster.local:53`. */
  readonly zones: readonly ZoneKey[];
  /** The addresses of `bind`; none is every address. */
  readonly addresses: readonly string[];
  /** The line of its first key, from 1. */
  readonly line: number;
  readonly cache: CacheRules | undefined;
  readonly forward: ForwardRules | undefined;
  readonly hosts: HostsRules | undefined;
  /** Undefined where no AAAA records are made of A records. */
  readonly dns64: Dns64Rules | undefined;
  /** In their order. */
  readonly rewrites: readonly RewriteRule[];
  /** In their order, before `hosts`. */
  readonly templates: readonly TemplateRules[];
  /** Whether failures are logged (`errors`). */
  readonly logsErrors: boolean;
  /** Failures that are counted and logged together (`consolidate`). */
  readonly errorPatterns: readonly ErrorPattern[];
  /** Which answers are logged (`log`): classes of CoreDNS by name; undefined for none. */
  readonly log: LogRules | undefined;
  /** Whether a query that comes back ends the process (`loop`). */
  readonly detectsLoops: boolean;
  /** Where `prometheus` serves; undefined where the block is not counted. */
  readonly metrics: HttpAddress | undefined;
  readonly health: (HttpAddress & { readonly lameduckMs: number }) | undefined;
  readonly ready: HttpAddress | undefined;
  /** The largest UDP answer (`bufsize`); undefined for that of the listener. */
  readonly maxUdpBytes: number | undefined;
  /** Whether the order of address records changes with each answer (`loadbalance`). */
  readonly rotatesRecords: boolean;
  /** Directives that change nothing here: a sentence each, for the log. */
  readonly ignored: readonly string[];
}

export interface ZoneKey {
  /** In lower case, without the last dot; `.` is the root. */
  readonly zone: string;
  readonly port: number;
}

/** An address to listen on; the host is empty for every address. */
export interface HttpAddress {
  readonly host: string;
  readonly port: number;
}

/** Failures whose text matches are one line per period: `consolidate PERIOD PATTERN [LEVEL] [show_first]`. */
export interface ErrorPattern {
  readonly periodMs: number;
  readonly pattern: Pattern;
  readonly level: 'error' | 'warning' | 'info' | 'debug';
  /** Whether the first of a period is logged as it is, too. */
  readonly showsFirst: boolean;
}

/** How many answers of a kind are cached, and the bounds of their TTLs in seconds. */
export interface CacheBounds {
  readonly capacity: number;
  readonly maxTtlSeconds: number;
  readonly minTtlSeconds: number;
}

/** `cache [TTL] [ZONES…] { … }`. */
export interface CacheRules {
  /** The zones whose answers are cached, as of a block; none is those of the block. */
  readonly zones: readonly string[];
  readonly success: CacheBounds;
  readonly denial: CacheBounds;
  /** How long a SERVFAIL of a server is cached, in milliseconds. */
  readonly servfailMs: number;
  /** Zones for which positive and negative answers are not cached (`disable`). */
  readonly disabledSuccess: readonly string[];
  readonly disabledDenial: readonly string[];
  readonly prefetch:
    { readonly hits: number; readonly gapMs: number; readonly percent: number } | undefined;
  /**
   * `serve_stale`; `verifyMs` is how long a server is waited for, undefined for `immediate`; with `verify` alone it is
   * as long as a question takes at most.
   */
  readonly stale:
    { readonly maxAgeSeconds: number; readonly verifyMs: number | undefined } | undefined;
  /** Whether clients get the TTL that the answer came with (`keepttl`). */
  readonly keepsTtl: boolean;
}

/** A target of `forward`. */
export type ForwardTarget =
  | {
      readonly address: string;
      readonly port: number;
      readonly encryption: Encryption | undefined;
    }
  | { readonly resolvFile: string };

/** `forward FROM TO… { … }`. */
export interface ForwardRules {
  /** The zone whose names are forwarded, as of a block. */
  readonly from: string;
  readonly except: readonly string[];
  /** None while the address of the cluster's DNS is not known: what is asked then cannot be answered. */
  readonly targets: readonly ForwardTarget[];
  /** `force_tcp` is 'tcp', `prefer_udp` 'udp'; 'client' uses what the client used, as CoreDNS does by default. */
  readonly protocol: 'tcp' | 'udp' | 'client';
  readonly policy: 'random' | 'round_robin' | 'sequential';
  /** How many failures in a row take a server out; 0 never does. */
  readonly maxFails: number;
  /** How long an idle connection is kept, in milliseconds. */
  readonly expireMs: number;
  /** How old a connection gets, idle or not, in milliseconds; 0 is no limit. */
  readonly maxAgeMs: number;
  /** The most questions in flight; 0 is no limit of the Corefile's. */
  readonly maxConcurrent: number;
  readonly healthCheckMs: number;
  /** A file of certificates (PEM); '' is the system's. */
  readonly tlsCaFile: string;
  readonly failsFastWhenAllDown: boolean;
  readonly line: number;
}

/** `hosts [FILE [ZONES…]] { … }`. */
export interface HostsRules {
  /** `/etc/hosts` where none is named, as in CoreDNS. */
  readonly file: string;
  readonly zones: readonly string[];
  /** Lines of a hosts file, as they stand in the block. */
  readonly lines: readonly string[];
  readonly ttlSeconds: number;
  /** How often the file is read again, in milliseconds; 0 is never. */
  readonly reloadMs: number;
  readonly hasReverse: boolean;
  /** The zones whose unknown names go on to the next plugin; '.' is all; undefined: none does. */
  readonly fallthrough: readonly string[] | undefined;
}

/** `log [ZONES…] [FORMAT] { class … }`. */
export interface LogRules {
  readonly zones: readonly string[];
  /** Without names of formats. */
  readonly format: string;
  readonly classes: readonly ('all' | 'success' | 'denial' | 'error')[];
}

/** Which names a rule is for: texts in lower case, with the last dot. */
export type NameMatch =
  | { readonly kind: 'exact' | 'prefix' | 'suffix' | 'substring'; readonly text: string }
  | { readonly kind: 'regex'; readonly pattern: Pattern };

/** What becomes of the names in an answer to a rewritten question: of owners, or of those in the data of records. */
export interface AnswerRule {
  readonly part: 'name' | 'value';
  readonly pattern: Pattern;
  readonly to: string;
}

/** `rewrite [continue|stop] FIELD …`, one rule. */
export type RewriteRule = RewriteTarget & {
  /** As it is written: two rules with one text are the same. */
  readonly text: string;
  readonly line: number;
  /** Whether no rule after it is applied to a question that it matches. */
  readonly isLast: boolean;
};

export type RewriteTarget =
  | {
      readonly field: 'name';
      readonly match: NameMatch;
      readonly to: string;
      /** Whether the names of an answer become what was asked for again. */
      readonly isAuto: boolean;
      readonly answers: readonly AnswerRule[];
    }
  | { readonly field: 'type' | 'class'; readonly from: number; readonly to: number }
  | {
      readonly field: 'ttl';
      readonly match: NameMatch;
      readonly minSeconds: number;
      readonly maxSeconds: number;
    }
  | {
      readonly field: 'rcode';
      readonly match: NameMatch;
      readonly from: number;
      readonly to: number;
    }
  /** The target of a CNAME in an answer is another one, which is asked for. */
  | { readonly field: 'cname'; readonly match: NameMatch; readonly to: string };

/** `template CLASS TYPE [ZONES…] { … }`. */
export interface TemplateRules {
  /** As it is written: two templates with one text are the same. */
  readonly text: string;
  readonly line: number;
  /** None is those of the block. */
  readonly zones: readonly string[];
  readonly class: number;
  readonly type: number;
  /** The first that a name matches counts; none is every name. */
  readonly patterns: readonly Pattern[];
  readonly answers: readonly RecordTemplate[];
  readonly authorities: readonly RecordTemplate[];
  readonly additionals: readonly RecordTemplate[];
  readonly rcode: number;
  /** An Extended DNS Error, as an option; undefined without one. */
  readonly reason: Uint8Array | undefined;
  /** The zones whose names go on when no expression matches; '.' is all; undefined: none does. */
  readonly fallthrough: readonly string[] | undefined;
}

/** Rules while they are read. */
export type Draft<T> = { -readonly [K in keyof T]: T[K] };

const MAX_PORT = 65_535;
const DEFAULT_PORT = 53;

/**
 * Reads the key of a server block: `[dns://]zone[:port]`; the zone may be a network, for its reverse names. Returns
 * the reason as text when it cannot be served.
 */
export function readKey(key: string, defaultPort = DEFAULT_PORT): ZoneKey | string {
  const [, scheme = 'dns', rest = ''] = /^(?:(\w+):\/\/)?(.*)$/s.exec(key) ?? [];
  if (scheme !== 'dns') return `kube-dns does not speak ${scheme}`;
  const [, name = '', portText] = /^(.*?)(?::(\d{1,5}))?$/s.exec(rest) ?? [];
  const port = portText === undefined ? defaultPort : Number(portText);
  if (port > MAX_PORT) return `${port} is not a port`;
  const zone = readZone(name);
  return typeof zone === 'string' ? { zone, port } : zone.reason;
}

/** A zone, or a network for its reverse names, in the form of a ZoneKey; or why it is none. */
export function readZone(text: string): string | { readonly reason: string } {
  if (text.includes('/')) return reverseZone(text);
  if (text === '' || text === '.') return '.';
  const zone = text.toLowerCase().replace(/\.$/, '');
  if (!/^[\w.*-]+$/.test(zone)) return { reason: 'not a zone' };
  try {
    encodeName(zone);
  } catch {
    return { reason: 'not a zone' };
  }
  return zone;
}

/** The reverse zone of a network that ends with a label of it. */
function reverseZone(network: string): string | { readonly reason: string } {
  const [, address = '', bitsText = ''] = /^([^/]*)\/(\d{1,3})$/.exec(network) ?? [];
  const bytes = parseAddress(address);
  const bits = Number(bitsText);
  if (bytes === undefined || bits === 0 || bits > bytes.length * 8) {
    return { reason: 'not a network' };
  }
  const step = BITS_PER_REVERSE_LABEL[bytes.length === 4 ? 'ipv4' : 'ipv6'];
  if (bits % step !== 0) return { reason: 'this network is several zones: write each of them' };
  return reverseName(bytes, bits);
}

/**
 * Parses `host:port` as Go's HTTP servers take it, the host may be missing; throws with the reason. The port is needed,
 * so it is what follows the last colon of an IPv6 address without brackets: a manifest has but `$(POD_IP):9353`.
 */
export function parseHttpAddress(text: string): HttpAddress {
  const [, address = '', digits = ''] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
  const { host, port } = parseHostPort(isIPv6(address) ? `[${address}]:${digits}` : text);
  if (port === null) throw new Error('the port is missing, such as :8080');
  return { host, port };
}
