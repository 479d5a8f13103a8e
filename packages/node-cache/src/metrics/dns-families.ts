import {
  counter,
  histogram,
  type LabelledHistogram,
  type LabelledValue,
  type MetricFamily,
} from '@kube-dns/daemon';
import { RCODE_NAMES } from '@kube-dns/wire';
import { TYPE_LABELS, type ZoneCounters } from '../answer/zone-counters.js';
import type { ListenPoint } from '../listen/listen-points.js';

const WAYS = [
  { proto: 'udp', isTcp: false },
  { proto: 'tcp', isTcp: true },
] as const;
const FAMILIES = [
  { family: '1', isIpv6: false },
  { family: '2', isIpv6: true },
] as const;

/** The labels and counts of a zone at an address. */
interface Counted {
  readonly labels: { readonly server: string; readonly zone: string; readonly view: string };
  readonly plugin: string;
  readonly counters: ZoneCounters;
}

/** The metrics of coredns plugin/metrics, for each address and zone. */
export function dnsFamilies(points: () => readonly ListenPoint[]): MetricFamily[] {
  const each = () => points().flatMap(countedAt);
  const bySize = (read: (counters: ZoneCounters) => ZoneCounters['requestBytes']) => () =>
    each().flatMap(({ labels, counters }) =>
      WAYS.map(({ proto }): LabelledHistogram => ({
        labels: { ...labels, proto },
        histogram: read(counters)[proto],
      })),
    );
  const zoneLabels = ['server', 'zone', 'view'];
  return [
    counter(
      {
        name: 'coredns_dns_requests_total',
        help: 'Queries, by address, zone, protocol, family (1 is IPv4) and type.',
        labelNames: [...zoneLabels, 'proto', 'family', 'type'],
      },
      () => each().flatMap((counted) => [...requests(counted)]),
    ),
    counter(
      {
        name: 'coredns_dns_do_requests_total',
        help: 'Queries with the bit DO, by address and zone.',
        labelNames: zoneLabels,
      },
      () => each().map(({ labels, counters }) => ({ labels, value: counters.dnssecRequests })),
    ),
    counter(
      {
        name: 'coredns_dns_responses_total',
        help: 'Answers, by address, zone, rcode and plugin.',
        labelNames: [...zoneLabels, 'rcode', 'plugin'],
      },
      () => each().flatMap((counted) => [...responses(counted)]),
    ),
    histogram(
      {
        name: 'coredns_dns_request_duration_seconds',
        help: 'Time from a query to its answer.',
        labelNames: zoneLabels,
      },
      () => each().map(({ labels, counters }) => ({ labels, histogram: counters.seconds })),
    ),
    histogram(
      {
        name: 'coredns_dns_request_size_bytes',
        help: 'Size of queries.',
        labelNames: [...zoneLabels, 'proto'],
      },
      bySize(({ requestBytes }) => requestBytes),
    ),
    histogram(
      {
        name: 'coredns_dns_response_size_bytes',
        help: 'Size of answers.',
        labelNames: [...zoneLabels, 'proto'],
      },
      bySize(({ responseBytes }) => responseBytes),
    ),
  ];
}

/** A zone as CoreDNS writes it: with its last dot. */
export function zoneLabel(zone: string): string {
  return zone === '.' ? zone : `${zone}.`;
}

function countedAt({ label: server, answerer, zones }: ListenPoint): Counted[] {
  const served = zones.map(({ zone, counters, block: { block } }) => ({
    labels: { server, zone: zoneLabel(zone), view: '' },
    plugin: block.cache === undefined ? 'forward' : 'cache',
    counters,
  }));
  // What is in no zone, as CoreDNS labels it.
  const labels = { server, zone: 'dropped', view: '' };
  return [...served, { labels, plugin: '', counters: answerer.unserved }];
}

function* requests({ labels, counters }: Counted): Generator<LabelledValue> {
  for (const { proto, isTcp } of WAYS) {
    for (const { family, isIpv6 } of FAMILIES) {
      const counts = counters.requestsOf(isTcp, isIpv6);
      for (const [place, type] of TYPE_LABELS.entries()) {
        const value = counts[place]!;
        if (value > 0) yield { labels: { ...labels, proto, family, type }, value };
      }
    }
  }
}

function* responses({ labels, plugin, counters }: Counted): Generator<LabelledValue> {
  for (const [rcode, value] of counters.rcodes.entries()) {
    if (value === 0) continue;
    yield { labels: { ...labels, rcode: RCODE_NAMES[rcode] ?? `${rcode}`, plugin }, value };
  }
}
