import { type ServerAddress, type ServerGroup, serverKey } from '@kube-dns/transport';
import { decodeName, ROOT_NAME, TYPE } from '@kube-dns/wire';
import type {
  RuleDomains,
  ServerRule,
  ServerSource,
  WildcardDomain,
} from '../options/server-value.js';
import { DomainIndex, isUnqualified } from './domain-index.js';

interface RouteSources {
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
interface RoutedQuestion {
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

/** Where the questions of one domain go. */
export interface Route {
  /** Presentation text; `.` for the default, empty for names of one label. */
  readonly domain: string;
  readonly servers: readonly ServerAddress[];
  /** The same servers with their state; undefined without any. */
  readonly group: ServerGroup | undefined;
  /** Never forwarded: the answer is NXDOMAIN. */
  readonly isLocal: boolean;
}

/** A server of a domain, and the source of queries to it. */
export interface RoutedServer {
  readonly server: ServerAddress;
  readonly source: ServerSource | undefined;
}

/** The names of one draft: a domain, a wildcard, or all of one label. */
type DraftNames =
  | { readonly kind: 'domain'; readonly domain: Uint8Array }
  | { readonly kind: 'wildcard'; readonly wildcard: WildcardDomain }
  | { readonly kind: 'unqualified' };

/** The merged rules for the same names. */
interface RuleDraft {
  readonly names: DraftNames;
  /** As dnsmasq writes it; `.` is every name, empty those of one label. */
  readonly text: string;
  /** By text and source: a server that is given twice is asked once. */
  readonly servers: Map<string, RoutedServer>;
  isLocal: boolean;
  usesDefault: boolean;
}

/** Merges the rules by the names that they apply to, in order of appearance. */
class RuleDrafts {
  readonly #drafts = new Map<string, RuleDraft>();
  readonly #addressesOf: (host: string) => readonly string[];

  /** `addressesOf` returns the resolved addresses of a server that is given by name. */
  constructor(addressesOf: (host: string) => readonly string[]) {
    this.#addressesOf = addressesOf;
  }

  addServerRule(rule: ServerRule): void {
    const { target } = rule;
    for (const draft of this.#draftsOf(rule)) {
      if (target.kind === 'local') draft.isLocal = true;
      else if (target.kind === 'default') draft.usesDefault = true;
      else if (target.kind === 'server') addServer(draft, target.server, target.source);
      else {
        const { host, ...server } = target.server;
        // A name without addresses (yet) still claims the domain: its questions must not go to other servers.
        for (const address of this.#addressesOf(host)) {
          addServer(draft, { ...server, address }, target.source);
        }
      }
    }
  }

  /** The default servers; made when no rule named any. */
  get root(): RuleDraft {
    return this.#draft({ kind: 'domain', domain: ROOT_NAME }, '.');
  }

  /** All but the root. */
  others(): RuleDraft[] {
    return [...this.#drafts.values()].filter(({ text }) => text !== '.');
  }

  #draftsOf({ domains, wildcards = [], isUnqualified = false }: RuleDomains): RuleDraft[] {
    const isEveryName = domains.length === 0 && wildcards.length === 0 && !isUnqualified;
    const named = isEveryName ? [ROOT_NAME] : domains;
    return [
      ...named.map((domain) => this.#draft({ kind: 'domain', domain }, decodeName(domain))),
      ...wildcards.map((wildcard) => this.#draft({ kind: 'wildcard', wildcard }, textOf(wildcard))),
      ...(isUnqualified ? [this.#draft({ kind: 'unqualified' }, '')] : []),
    ];
  }

  #draft(names: DraftNames, text: string): RuleDraft {
    let draft = this.#drafts.get(text);
    if (draft === undefined) {
      draft = {
        names,
        text,
        servers: new Map(),
        isLocal: false,
        usesDefault: false,
      };
      this.#drafts.set(text, draft);
    }
    return draft;
  }
}

/** The texts of the names that a rule applies to, as drafts have them. */
export function domainTexts({
  domains,
  wildcards = [],
  isUnqualified = false,
}: RuleDomains): string[] {
  if (domains.length === 0 && wildcards.length === 0 && !isUnqualified) return ['.'];
  const named = domains.map((domain) => decodeName(domain));
  return [...named, ...wildcards.map(textOf), ...(isUnqualified ? [''] : [])];
}

/** Appends a server to a draft. */
function addServer(
  draft: RuleDraft,
  server: ServerAddress,
  source: ServerSource | undefined,
): void {
  const { address = '', interface: device = '', port = '' } = source ?? {};
  const key = `${serverKey(server)}@${device}@${address}#${port}`;
  if (!draft.servers.has(key)) draft.servers.set(key, { server, source });
}

function textOf({ labelEnd, parent }: WildcardDomain): string {
  return `*${Buffer.from(labelEnd).toString('latin1')}.${decodeName(parent)}`;
}
