import { counter, gauge, type LabelledValue, type MetricFamily } from '@kube-dns/daemon';
import type { ServedZone } from '../answer/zone-answerer.js';
import type { ListenPoint } from '../listen/listen-points.js';
import { zoneLabel } from './dns-families.js';

type Labels = Readonly<Record<string, string>>;

const LABELS = ['server', 'zones', 'view'];

/** The metrics of coredns plugin/cache: each address counts apart, while all share one cache per block. */
export function cacheFamilies(points: () => readonly ListenPoint[]): MetricFamily[] {
  const each = (read: (zone: ServedZone, labels: Labels) => readonly LabelledValue[]) => () =>
    points().flatMap(({ label: server, zones }) =>
      zones
        .filter(({ block }) => block.cache !== undefined)
        .flatMap((zone) => read(zone, { server, zones: zoneLabel(zone.zone), view: '' })),
    );
  const one = (read: (zone: ServedZone) => number) =>
    each((zone, labels) => [{ labels, value: read(zone) }]);
  const byType = (read: (zone: ServedZone) => Readonly<Record<'success' | 'denial', number>>) =>
    each((zone, labels) =>
      Object.entries(read(zone)).map(([type, value]) => ({ labels: { ...labels, type }, value })),
    );
  const hits = ({ counters }: ServedZone) => counters.cacheHits.success + counters.cacheHits.denial;
  return [
    gauge(
      {
        name: 'coredns_cache_entries',
        help: 'Answers in the cache, with records and without.',
        labelNames: [...LABELS, 'type'],
      },
      byType(({ block }) => {
        const { entryCount, denialCount } = block.cache!;
        return { success: entryCount - denialCount, denial: denialCount };
      }),
    ),
    counter(
      {
        name: 'coredns_cache_requests_total',
        help: 'Queries that the cache was asked for.',
        labelNames: LABELS,
      },
      one((zone) => hits(zone) + zone.counters.cacheMisses),
    ),
    counter(
      {
        name: 'coredns_cache_hits_total',
        help: 'Answers from the cache, with records and without.',
        labelNames: [...LABELS, 'type'],
      },
      byType(({ counters }) => counters.cacheHits),
    ),
    counter(
      {
        name: 'coredns_cache_misses_total',
        help: 'Queries that the cache had no answer to.',
        labelNames: LABELS,
      },
      one(({ counters }) => counters.cacheMisses),
    ),
    counter(
      {
        name: 'coredns_cache_evictions_total',
        help: 'Answers removed for lack of space before they expired.',
        labelNames: LABELS,
      },
      one(({ block }) => block.cache!.evictions),
    ),
    counter(
      {
        name: 'coredns_cache_served_stale_total',
        help: 'Expired answers that clients got.',
        labelNames: LABELS,
      },
      one(({ block }) => block.counters.staleAnswers),
    ),
    counter(
      {
        name: 'coredns_cache_prefetch_total',
        help: 'Answers that were asked for before they expired.',
        labelNames: LABELS,
      },
      one(({ block }) => Object.values(block.forwarder.prefetches).reduce((sum, n) => sum + n, 0)),
    ),
    gauge(
      {
        name: 'nodecache_cache_bytes',
        help: 'Memory of the cache.',
        labelNames: LABELS,
      },
      one(({ block }) => block.cache!.takenBytes),
    ),
  ];
}
