import type { ServerAddress } from '@kube-dns/transport';
import type { Query } from '@kube-dns/wire';
import type { AddressRule, ServerRule } from '../options/server-value.js';
import type { ServerGroup } from '../upstream/server-group.js';
import { DomainIndex } from './domain-index.js';
import { type DomainRoutes, type Route, routeIn } from './route.js';
import { addServer, type RoutedServer, type RuleDraft, RuleDrafts } from './rule-drafts.js';

export interface RouteSources {
  readonly rules: readonly ServerRule[];
  readonly addressRules?: readonly AddressRule[];
  /** Servers of no domain, asked after those of the rules. */
  readonly resolvServers: readonly ServerAddress[];
  /** Sorts out default servers that must not be asked: those that lead back here. */
  readonly isUsable?: (server: ServerAddress) => boolean;
  /** The addresses known of a server that is given by name. */
  readonly addressesOf?: (host: string) => readonly string[];
  /** The group of a domain's servers, at least one. */
  readonly groupOf?: (domain: string, servers: readonly RoutedServer[]) => ServerGroup;
}

/**
 * Finds the route of a question: that of the longest domain or wildcard that its name ends in, else the
 * default servers. Built whole from its sources and never changed; a reload makes a new one.
 */
export class Routes {
  /** Every default server, also one that must not be asked. */
  readonly defaultServers: readonly RoutedServer[];
  /** The default first, then in the order of the rules. */
  readonly routes: readonly Route[];
  /** Texts of the domains that have `/domain/#`. */
  readonly defaultDomains: readonly string[];
  readonly #index = new DomainIndex();
  readonly #default: DomainRoutes;
  readonly #unqualified: DomainRoutes | undefined;
  readonly #groupOf: RouteSources['groupOf'];

  constructor(sources: RouteSources) {
    const { resolvServers, isUsable = () => true, addressesOf = () => [] } = sources;
    this.#groupOf = sources.groupOf;
    const drafts = new RuleDrafts(addressesOf);
    for (const rule of sources.rules) drafts.addServerRule(rule);
    for (const rule of sources.addressRules ?? []) drafts.addAddressRule(rule);
    const { root } = drafts;
    for (const server of resolvServers) addServer(root, server, undefined);
    this.defaultServers = [...root.servers.values()];
    const usable = this.defaultServers.filter(({ server }) => isUsable(server));
    const rootRoute = this.#route(root, usable);
    this.#default = { literal: literalRoute(root), other: rootRoute };
    const routes = [rootRoute];
    for (const draft of drafts.others()) {
      const own = this.#ownRoute(draft);
      if (own !== undefined) routes.push(own);
      const found = { literal: literalRoute(draft), other: draft.usesDefault ? rootRoute : own };
      if (draft.names.kind === 'domain') this.#index.addDomain(draft.names.domain, found);
      else if (draft.names.kind === 'wildcard') {
        this.#index.addWildcard(draft.names.wildcard, found);
      } else this.#unqualified = found;
    }
    this.routes = routes;
    this.defaultDomains = drafts
      .others()
      .filter(({ usesDefault }) => usesDefault)
      .map(({ text }) => text);
  }

  /** Never undefined: without any rule it is the default route, which may have no servers. */
  find(query: Query): Route {
    const found = this.#index.find(query);
    if (found !== undefined) return found;
    if (this.#unqualified !== undefined && isUnqualified(query)) {
      const unqualified = routeIn(this.#unqualified, query);
      if (unqualified !== undefined) return unqualified;
    }
    return routeIn(this.#default, query) ?? this.#default.other!;
  }

  /** What is left to do for a domain that does not use the default servers; `#` beats its own ones. */
  #ownRoute(draft: RuleDraft): Route | undefined {
    const { ipv4, ipv6, servers, isLocal, usesDefault } = draft;
    const isLiteralOnly = servers.size === 0 && !isLocal && ipv4.length + ipv6.length > 0;
    if (usesDefault || isLiteralOnly) return undefined;
    return this.#route(draft, [...servers.values()]);
  }

  /** Servers beat "local only" in one domain, as in dnsmasq (src/domain-match.c). */
  #route(draft: RuleDraft, servers: readonly RoutedServer[]): Route {
    return {
      domain: draft.text,
      servers: servers.map(({ server }) => server),
      group: servers.length === 0 ? undefined : this.#groupOf?.(draft.text, servers),
      isLocal: draft.isLocal && draft.servers.size === 0,
    };
  }
}

function literalRoute({ text, ipv4, ipv6 }: RuleDraft): Route | undefined {
  if (ipv4.length + ipv6.length === 0) return undefined;
  const literal = { ipv4, ipv6 };
  return { domain: text, servers: [], group: undefined, isLocal: false, literal };
}

/** One label; the root has none. */
function isUnqualified({ name, nameLength }: Query): boolean {
  return nameLength > 1 && name[0]! + 2 === nameLength;
}
