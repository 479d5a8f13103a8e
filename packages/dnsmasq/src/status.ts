import {
  type ConfigDirectory,
  type ConfigStatus,
  limitedClientRows,
  type LocalPage,
  overloadProblems,
  type Setting,
  type StatusFacts,
  type StatusSource,
} from '@kube-dns/daemon';
import {
  type Publisher,
  type SubscriberCounts,
  subscriberFacts,
  subscriberProblems,
  subscribersPage,
  type SubscriptionRow,
  type Subscriptions,
  subscriptionsPage,
  zoneProblems,
  zoneRows,
} from '@kube-dns/push';
import {
  cacheFacts,
  cacheRows,
  flightFacts,
  type Resolver,
  type ResolverFacts,
  serverProblems,
  serverRows,
  type ServerStatistics,
} from '@kube-dns/resolver';
import { explainPages, queryPages, type Telemetry } from '@kube-dns/telemetry';
import type { Listener, ServerGroup, UpstreamServers } from '@kube-dns/transport';
import { explainAnswer, type DnsmasqExplainerOptions } from './explain/dnsmasq-explainer.js';
import type { AppliedConfig } from './metrics.js';
import type { DnsmasqOptions } from './options/option-table.js';
import type { Router } from './routing/router.js';

interface DnsmasqStatusParts {
  readonly port: { readonly listeners: readonly Pick<Listener, 'overloads'>[] };
  readonly options: DnsmasqOptions;
  readonly resolver: Pick<Resolver, 'describe' | 'cachedByZone' | 'nowMs'>;
  readonly statistics: ServerStatistics;
  readonly router: Pick<Router, 'routes' | 'sources' | 'configured' | 'unresolvedHosts'>;
  readonly upstreams: Pick<UpstreamServers, 'all'>;
  readonly subscriptions: { rows(): readonly SubscriptionRow[] };
  readonly subscribers: SubscriberCounts;
  /** `-configDir`, and what of it is active. */
  readonly configDir: string;
  readonly config: Pick<AppliedConfig, 'version' | 'appliedMs' | 'unknownKeys'>;
  readonly configDirectory: Pick<ConfigDirectory, 'refused'>;
  readonly telemetry: Pick<Telemetry, 'top'>;
}

/** More rules than these are counted. */
const MAX_SOURCES = 3;

/** What dnsmasq shows on its status page; each part is read at a request. */
export function dnsmasqStatus(parts: DnsmasqStatusParts): StatusSource {
  const { options, resolver, router, subscriptions, subscribers } = parts;
  const { statistics, upstreams } = parts;
  const groups = () => router.routes.routes.flatMap(({ group }) => group ?? []);
  return {
    problems: () => [
      ...serverProblems(groups(), resolver.nowMs, statistics),
      ...routeProblems(router),
      ...zoneProblems(subscriptions.rows()),
      ...subscriberProblems(subscribers),
      ...overloadProblems(parts.port.listeners),
      ...(groups().length === 0 ? ['no server is configured'] : []),
    ],
    settings: () => settingsOf(options),
    configuration: () => configurationOf(parts),
    sections: async () => {
      const facts = resolver.describe();
      const zones = await resolver.cachedByZone((name, nameLength) => {
        const { domain } = router.routes.find({ name, nameLength });
        return domain;
      });
      return {
        Servers: serverRows({
          servers: upstreams.all,
          groups: groups(),
          statistics,
          nowMs: resolver.nowMs,
        }),
        Routes: routeRows(router),
        Zones: zoneRows(subscriptions.rows()),
        'Told changes': subscriberFacts(subscribers),
        Cache: { ...cacheFacts(facts.cache), ...countFacts(facts) },
        'Cache by zone': cacheRows(zones),
        'Questions in flight': flightFacts(facts.forwarder),
        'Limited clients': limitedClientRows(parts.port.listeners),
        ...parts.telemetry.top.sections(),
      };
    },
  };
}

function countFacts({ answers, cache }: ResolverFacts): StatusFacts {
  const { unforwarded: hits, forwarded: misses, staleAnswers } = answers;
  const { totalInsertions: insertions, totalEvictions: evictions } = cache;
  return { hits, misses, staleAnswers, insertions, evictions };
}

function routeRows({ routes, sources: byDomain }: DnsmasqStatusParts['router']): StatusFacts[] {
  return routes.routes.map((route) => {
    const sources = byDomain.get(route.domain) ?? [];
    const shown = sources.slice(0, MAX_SOURCES).map(({ rule, place }) => `${rule} (${place})`);
    const more = sources.length - shown.length;
    return {
      domain: route.domain,
      servers: serversText(route.group, route.isLocal),
      from: [...shown, ...(more > 0 ? [`${more} more`] : [])].join(', '),
    };
  });
}

/** Servers whose names have no known address, and domains without any server. */
function routeProblems({ routes, unresolvedHosts }: DnsmasqStatusParts['router']): string[] {
  return routes.routes.flatMap(({ domain, group, isLocal }) => {
    const hosts = unresolvedHosts.get(domain) ?? [];
    // Without a default server a cache may be meant for its domains alone.
    if (hosts.length === 0 && (group !== undefined || isLocal || domain === '.')) return [];
    const about = domain === '.' ? 'names of no other domain' : `names of ${domain}`;
    const what = group === undefined ? 'there is no server' : 'not every server is asked';
    const why = hosts.length === 0 ? '' : `: no address is known for ${hosts.join(', ')}`;
    return [`${what} for ${about}${why}`];
  });
}

function serversText(group: ServerGroup | undefined, isLocal: boolean): string {
  if (isLocal) return 'none: the domain is local';
  return group?.servers.map(({ text }) => text).join(', ') ?? 'none';
}

function settingsOf({ given }: DnsmasqOptions): Setting[] {
  return given.all.map(({ name, value, place }) => ({
    setting: `--${name}`,
    value,
    from: place.replace(/^the /, ''),
  }));
}

function configurationOf({
  configDir,
  config,
  configDirectory,
  router,
}: DnsmasqStatusParts): ConfigStatus {
  const { version, appliedMs, unknownKeys } = config;
  const { warnings } = unknownKeys;
  const { refused } = configDirectory;
  const { stubDomains, upstreamNameservers } = router.configured;
  const from = configDir;
  const stubs = [...stubDomains].map(([domain, servers]) => ({
    setting: `stubDomains ${domain}`,
    value: servers.join(', '),
    from,
  }));
  const value = upstreamNameservers.join(', ');
  const upstreams = value === '' ? [] : [{ setting: 'upstreamNameservers', value, from }];
  const settings = [...upstreams, ...stubs];
  return { source: configDir, version, appliedMs, refused, warnings, settings };
}

interface PagesOptions extends DnsmasqExplainerOptions {
  readonly subscriptions: DnsmasqExplainerOptions['subscriptions'] & Pick<Subscriptions, 'rows'>;
  readonly publisher: Publisher;
  readonly telemetry: Telemetry;
}

/** The pages of the metrics port, by path. */
export interface Pages {
  /** For all that reach the port. */
  readonly all: ReadonlyMap<string, () => string>;
  /** For this machine and this pod alone. */
  readonly local: ReadonlyMap<string, LocalPage>;
}

export function pagesOf(options: PagesOptions): Pages {
  const { subscriptions, publisher, telemetry } = options;
  const explained = explainPages((question) => explainAnswer(options, question));
  return {
    all: new Map([
      ['/subscriptions', () => subscriptionsPage(subscriptions.rows())],
      ['/subscribers', () => subscribersPage(publisher)],
    ]),
    local: new Map([...explained, ...queryPages(telemetry)]),
  };
}
