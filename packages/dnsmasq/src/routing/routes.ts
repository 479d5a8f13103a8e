import { type ServerAddress, serverText } from '@kube-dns/transport';
import { decodeName, NameTable, type Query, ROOT_NAME } from '@kube-dns/wire';
import type { ServerRule } from '../options/server-value.js';

/** Where the questions of one domain go. */
export interface Route {
  /** Presentation text; `.` for the default. */
  readonly domain: string;
  readonly servers: readonly ServerAddress[];
  /** Never forwarded: the answer is NXDOMAIN. */
  readonly isLocal: boolean;
}

export interface RouteSources {
  readonly rules: readonly ServerRule[];
  /** Servers of no domain, asked after those of the rules. */
  readonly resolvServers: readonly ServerAddress[];
  /** Sorts out default servers that must not be asked: those that lead back here. */
  readonly isUsable?: (server: ServerAddress) => boolean;
}

interface RouteDraft {
  readonly domain: Uint8Array;
  /** By their text: one that is named twice is asked once. */
  readonly servers: Map<string, ServerAddress>;
  isLocal: boolean;
  usesDefault: boolean;
}

/**
 * Finds the route of a question: the rule of the longest domain that its name ends in, else the
 * default servers. Built whole from its sources and never changed; a reload makes a new one.
 */
export class Routes {
  /** Every default server, also one that must not be asked. */
  readonly defaultServers: readonly ServerAddress[];
  /** The default first, then in the order of the rules. */
  readonly routes: readonly Route[];
  readonly #byDomain = new NameTable<Route>();
  readonly #default: Route;

  constructor({ rules, resolvServers, isUsable = () => true }: RouteSources) {
    const drafts = draftRoutes(rules);
    const root = drafts.get('.') ?? emptyDraft(ROOT_NAME);
    drafts.delete('.');
    addServers(root, resolvServers);
    this.defaultServers = [...root.servers.values()];
    this.#default = finish(root, this.defaultServers.filter(isUsable));
    const routes = [this.#default];
    for (const draft of drafts.values()) {
      const route = this.#finishDomain(draft);
      this.#byDomain.set(draft.domain, route);
      routes.push(route);
    }
    this.routes = routes;
  }

  /** Never undefined: without any rule it is the default route, which may have no servers. */
  find(query: Query): Route {
    const { name, nameLength } = query;
    for (let at = 0; at < nameLength; at += name[at]! + 1) {
      const route = this.#byDomain.get(name, at, nameLength);
      if (route !== undefined) return route;
    }
    return this.#default;
  }

  /** `#` beats the servers of the same domain, as in dnsmasq (src/domain-match.c). */
  #finishDomain(draft: RouteDraft): Route {
    if (draft.usesDefault) return { ...this.#default, domain: decodeName(draft.domain) };
    return finish(draft, [...draft.servers.values()]);
  }
}

function draftRoutes(rules: readonly ServerRule[]): Map<string, RouteDraft> {
  const drafts = new Map<string, RouteDraft>();
  for (const { domains, target } of rules) {
    for (const domain of domains.length === 0 ? [ROOT_NAME] : domains) {
      const key = decodeName(domain);
      const draft = drafts.get(key) ?? emptyDraft(domain);
      drafts.set(key, draft);
      if (target.kind === 'server') addServers(draft, [target.server]);
      else if (target.kind === 'local') draft.isLocal = true;
      else draft.usesDefault = true;
    }
  }
  return drafts;
}

function emptyDraft(domain: Uint8Array): RouteDraft {
  return { domain, servers: new Map(), isLocal: false, usesDefault: false };
}

function addServers(draft: RouteDraft, servers: readonly ServerAddress[]): void {
  for (const server of servers) draft.servers.set(serverText(server), server);
}

/** Servers beat "local only" in one domain, as in dnsmasq (src/domain-match.c). */
function finish(draft: RouteDraft, servers: readonly ServerAddress[]): Route {
  const isLocal = draft.isLocal && draft.servers.size === 0;
  return { domain: decodeName(draft.domain), servers, isLocal };
}
