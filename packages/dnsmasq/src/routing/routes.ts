import type { ServerAddress, ServerGroup } from '@kube-dns/transport';
import { TYPE } from '@kube-dns/wire';
import type { ServerRule } from '../options/server-value.js';
import { DomainIndex, isUnqualified } from './domain-index.js';
import type { Route } from './route.js';
import { addServer, type RoutedServer, type RuleDraft, RuleDrafts } from './rule-drafts.js';

export interface RouteSources {
  readonly rules: readonly ServerRule[];
  /** Servers of no domain, asked after those of the rules. */
  readonly resolvServers: readonly ServerAddress[];
  /** Excludes default servers that must not be asked: those that forward queries back to this server. */
  readonly isUsable?: (server: ServerAddress) => boolean;
  /** The resolved addresses of a server that is given by name. */
  readonly addressesOf?: (host: string) => readonly string[];
  /** The group of a domain's servers, at least one. */
  readonly groupOf?: (domain: string, servers: readonly RoutedServer[]) => ServerGroup;
}

/** The part of a query that decides its route; the name is in wire form and lower-cased. */
export interface RoutedQuestion {
  readonly name: Uint8Array;
  readonly nameLength: number;
}

/**
 * Finds the route of a question: that of the longest domain or wildcard that its name ends with, else the
 * default servers. Immutable; a reload makes a new one.
 */
export class Routes {
  /** Every default server, including those that must not be asked. */
  readonly defaultServers: readonly RoutedServer[];
  /** The default first, then in the order of the rules. */
  readonly routes: readonly Route[];
  /** Texts of the domains that have `/domain/#`. */
  readonly defaultDomains: readonly string[];
  readonly #index = new DomainIndex<Route>();
  readonly #default: Route;
  readonly #unqualified: Route | undefined;
  readonly #groupOf: RouteSources['groupOf'];

  constructor(sources: RouteSources) {
    const { resolvServers, isUsable = () => true, addressesOf = () => [] } = sources;
    this.#groupOf = sources.groupOf;
    const drafts = new RuleDrafts(addressesOf);
    for (const rule of sources.rules) drafts.addServerRule(rule);
    const { root } = drafts;
    for (const server of resolvServers) addServer(root, server, undefined);
    this.defaultServers = [...root.servers.values()];
    const usable = this.defaultServers.filter(({ server }) => isUsable(server));
    this.#default = this.#route(root, usable);
    const routes = [this.#default];
    for (const draft of drafts.others()) {
      const route = this.#routeOf(draft);
      if (route !== this.#default) routes.push(route);
      const { names } = draft;
      if (names.kind === 'domain') this.#index.domain(names.domain, () => route);
      else if (names.kind === 'wildcard') this.#index.wildcard(names.wildcard, () => route);
      else this.#unqualified = route;
    }
    this.routes = routes;
    this.defaultDomains = drafts
      .others()
      .filter(({ usesDefault }) => usesDefault)
      .map(({ text }) => text);
  }

  /** Without a matching rule it is the default route, which may have no servers. */
  find({ name, nameLength }: RoutedQuestion): Route {
    const found = this.#index.find(name, nameLength, isWanted, TYPE.ANY);
    if (found !== undefined) return found;
    const isPlain = this.#unqualified !== undefined && isUnqualified(name, nameLength);
    return isPlain ? this.#unqualified : this.#default;
  }

  /** `#` takes precedence over the domain's own servers. */
  #routeOf(draft: RuleDraft): Route {
    return draft.usesDefault ? this.#default : this.#route(draft, [...draft.servers.values()]);
  }

  /** Servers take precedence over "local only" in one domain, as in dnsmasq (src/domain-match.c). */
  #route(draft: RuleDraft, servers: readonly RoutedServer[]): Route {
    return {
      domain: draft.text,
      servers: servers.map(({ server }) => server),
      group: servers.length === 0 ? undefined : this.#groupOf?.(draft.text, servers),
      isLocal: draft.isLocal && draft.servers.size === 0,
    };
  }
}

/** A domain with a rule has a route for every question. */
function isWanted(): boolean {
  return true;
}
