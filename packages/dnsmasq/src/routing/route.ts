import type { ServerAddress } from '@kube-dns/transport';
import { type Query, TYPE } from '@kube-dns/wire';
import type { ServerGroup } from '../upstream/server-group.js';

/** Addresses that `--address` gives to every name of a domain, in wire form, the last given first. */
export interface LiteralAddresses {
  readonly ipv4: readonly Uint8Array[];
  readonly ipv6: readonly Uint8Array[];
}

/** Where the questions of one domain go. */
export interface Route {
  /** Presentation text; `.` for the default, empty for names of one label. */
  readonly domain: string;
  readonly servers: readonly ServerAddress[];
  /** The same servers with their state; undefined without any. */
  readonly group: ServerGroup | undefined;
  /** Never forwarded: the answer is NXDOMAIN. */
  readonly isLocal: boolean;
  /** The answer itself, for a question about addresses. */
  readonly literal?: LiteralAddresses;
}

/** What one domain has: addresses for questions about these, and a way for all others. */
export interface DomainRoutes {
  readonly literal: Route | undefined;
  readonly other: Route | undefined;
}

/** The route of a question in its domain; undefined leaves it to a shorter one (dnsmasq src/domain-match.c). */
export function routeIn({ literal, other }: DomainRoutes, { type }: Query): Route | undefined {
  if (literal?.literal === undefined) return other;
  const { ipv4, ipv6 } = literal.literal;
  const hasIpv4 = ipv4.length > 0 && (type === TYPE.A || type === TYPE.ANY);
  const hasIpv6 = ipv6.length > 0 && (type === TYPE.AAAA || type === TYPE.ANY);
  return hasIpv4 || hasIpv6 ? literal : other;
}
