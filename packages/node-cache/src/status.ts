import {
  type ConfigStatus,
  limitedClientRows,
  type LocalPage,
  overloadProblems,
  type Setting,
  type StatusFacts,
  type StatusSource,
} from '@kube-dns/daemon';
import { zoneProblems, zoneRows } from '@kube-dns/push';
import { cacheFacts, flightFacts, serverProblems, serverRows } from '@kube-dns/resolver';
import { explainPages, queryPages, type Telemetry } from '@kube-dns/telemetry';
import type { ServedBlock } from './answer/served-block.js';
import type { AppliedCorefile, CorefileSource } from './config/corefile-source.js';
import type { ForwardRules, ForwardTarget, ServerBlock } from './corefile/server-block.js';
import { explainAnswer } from './explainer.js';
import type { ServedZone } from './listen/listen-points.js';
import type { NetworkState } from './network/network-setup.js';
import type { NodeCacheServer } from './server.js';

interface NodeCacheStatusParts {
  readonly server: NodeCacheServer;
  readonly source: Pick<CorefileSource, 'applied' | 'refused' | 'warnings'>;
  /** The file of the Corefile. */
  readonly corefile: string;
  readonly network: { readonly state: NetworkState };
  readonly telemetry: Telemetry;
}

/** What node-cache shows on its status page; each part is read at a request. */
export function nodeCacheStatus(parts: NodeCacheStatusParts): StatusSource {
  const { server, network, telemetry } = parts;
  const { blocks, upstreams, subscriptions } = server;
  const groups = () => blocks.all.flatMap(({ group }) => group ?? []);
  const nowMs = () => performance.now();
  const listeners = () => server.points.all.map(({ listener }) => listener);
  return {
    notReady: () => notReadyReasons(server),
    problems: () => [
      ...serverProblems(groups(), nowMs(), upstreams.statistics),
      ...zoneProblems(subscriptions.rows()),
      ...(server.snapshot?.problems() ?? []),
      ...overloadProblems(listeners()),
    ],
    configuration: () => configurationOf(parts),
    sections: () => ({
      Servers: serverRows({
        servers: upstreams.all(),
        groups: groups(),
        statistics: upstreams.statistics,
        nowMs: nowMs(),
      }),
      'Server blocks': blocks.all.map(blockRow),
      Zones: zoneRows(subscriptions.rows()),
      'Cache by zone': blocks.all.flatMap((block) => cacheRow(block, zonesOf(server, block))),
      'Questions in flight': blocks.all.map((block) => ({
        zones: namesOf(block),
        ...flightFacts(block.resolver.describe().forwarder),
      })),
      Node: nodeFacts(network.state),
      ...(server.snapshot && { Snapshot: server.snapshot.facts() }),
      'Limited clients': limitedClientRows(listeners()),
      ...telemetry.top.sections(),
    }),
  };
}

function notReadyReasons({ isReady, blocks }: NodeCacheStatusParts['server']): string[] {
  if (isReady) return [];
  const waiting = blocks.all.filter((block) => !block.isReady).map(namesOf);
  if (waiting.length === 0) return ['it has not answered its own question yet, or is about to end'];
  return [`no server is known for ${waiting.join(', ')}: the address of the cluster’s DNS`];
}

function namesOf({ block }: { readonly block: ServerBlock }): string {
  return block.zones.map(({ zone, port }) => `${zone}:${port}`).join(', ');
}

function blockRow(served: ServedBlock): StatusFacts {
  const { block, isOfCluster, hosts } = served;
  return {
    zones: namesOf(served),
    line: block.line,
    addresses: block.addresses.join(', '),
    forwardsTo: block.forward === undefined ? null : forwardText(block.forward),
    cache: cacheText(block),
    isOfCluster,
    hosts: hosts === undefined ? null : `${hosts.size} names and addresses of ${block.hosts!.file}`,
  };
}

function forwardText({ targets, protocol, except, maxAgeMs }: ForwardRules): string {
  const words = [targets.length === 0 ? 'no server yet' : targets.map(targetText).join(', ')];
  if (protocol === 'tcp') words.push('force_tcp');
  if (protocol === 'udp') words.push('prefer_udp');
  if (maxAgeMs > 0) words.push(`max_age ${maxAgeMs / 1_000} s`);
  if (except.length > 0) words.push(`except ${except.join(', ')}`);
  return words.join(' ');
}

function targetText(target: ForwardTarget): string {
  if ('resolvFile' in target) return target.resolvFile;
  const { address, port, encryption } = target;
  return `${encryption === undefined ? '' : `${encryption.protocol}://`}${address}#${port}`;
}

function cacheText({ cache }: ServerBlock): string {
  if (cache === undefined) return 'off';
  const { success, denial, stale, prefetch } = cache;
  const words = [`success ${success.capacity} ${success.maxTtlSeconds} s`];
  words.push(`denial ${denial.capacity} ${denial.maxTtlSeconds} s`);
  if (stale !== undefined) words.push(`serve_stale ${stale.maxAgeSeconds} s`);
  if (prefetch !== undefined) words.push(`prefetch ${prefetch.hits}`);
  return words.join(', ');
}

/** The zones of a block at all addresses. */
function zonesOf({ points }: NodeCacheStatusParts['server'], block: ServedBlock): ServedZone[] {
  return points.all.flatMap(({ zones }) => zones.filter((zone) => zone.block === block));
}

/** None without the plugin `cache`. */
function cacheRow(served: ServedBlock, zones: readonly ServedZone[]): StatusFacts[] {
  if (served.block.cache === undefined) return [];
  const { cache, answers } = served.resolver.describe();
  const sum = (read: (zone: ServedZone['counters']) => number) =>
    zones.reduce((total, zone) => total + read(zone.counters), 0);
  const { evictions } = cache;
  return [
    {
      zones: namesOf(served),
      ...cacheFacts(cache),
      hits: sum(({ cacheHits }) => cacheHits.success + cacheHits.denial),
      misses: sum(({ cacheMisses }) => cacheMisses),
      staleAnswers: answers.staleAnswers,
      evictions,
    },
  ];
}

function nodeFacts({ tool, reason, hasInterface, hasRules }: NetworkState): StatusFacts {
  return { rulesBy: tool ?? 'none', because: reason, hasInterface, hasRules };
}

function configurationOf({ source, corefile }: NodeCacheStatusParts): ConfigStatus | undefined {
  const { applied, refused, warnings } = source;
  if (applied === undefined) return undefined;
  const { version, atMs } = applied;
  const settings = blockSettings(applied, corefile);
  return { source: corefile, version, appliedMs: atMs, refused, warnings, settings };
}

/** Each server block as it is written, on one line. */
function blockSettings({ text, blocks }: AppliedCorefile, corefile: string): Setting[] {
  const lines = text.split('\n');
  const starts = [...blocks.map(({ line }) => line).sort((one, other) => one - other), Infinity];
  return blocks.map((block) => {
    const end = starts.find((line) => line > block.line) ?? Infinity;
    const words = lines
      .slice(block.line, Math.min(end - 1, lines.length))
      .map((line) => line.trim())
      .filter((line) => line !== '' && line !== '}' && !line.startsWith('#'));
    return {
      setting: `block ${namesOf({ block })}`,
      value: words.join('; '),
      from: `line ${block.line} of ${corefile}`,
    };
  });
}

interface PagesParts extends NodeCacheStatusParts {
  readonly statusPages: (source: StatusSource) => ReadonlyMap<string, LocalPage>;
}

/** The pages for this machine alone, by path. */
export function localPagesOf(parts: PagesParts): ReadonlyMap<string, LocalPage> {
  const { server, corefile, statusPages, telemetry } = parts;
  const { points, subscriptions } = server;
  const explained = { points, subscriptions, corefile };
  const pages = explainPages((asked) => explainAnswer(explained, asked));
  return new Map([...pages, ...queryPages(telemetry), ...statusPages(nodeCacheStatus(parts))]);
}
