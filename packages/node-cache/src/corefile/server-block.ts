import type { Encryption } from '@kube-dns/transport';

/** What one server block of a Corefile asks for, checked and with CoreDNS's defaults. */
export interface ServerBlock {
  /** Its zones and their ports, as `cluster.local:53`; `zone` is lower-cased, without the last dot; the root is '.'. */
  readonly zones: readonly BlockZone[];
  /** The addresses of `bind`; none is every address. */
  readonly addresses: readonly string[];
  /** The line of its first key, from 1. */
  readonly line: number;
  readonly cache: CacheRules | undefined;
  readonly forward: ForwardRules | undefined;
  readonly hosts: HostsRules | undefined;
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
}

export interface BlockZone {
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
  /** Takes time in proportion to the text, or to its square. */
  readonly pattern: RegExp;
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
  readonly format: string;
  readonly classes: readonly ('all' | 'success' | 'denial' | 'error')[];
}
