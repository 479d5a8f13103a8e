import type { MetricPage } from '@kube-dns/testkit';
import type { Container } from '../fixtures/pod.js';

interface Counter {
  readonly text: string;
  readonly metric: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** What each container counts of an attack, and how a table names it. */
const COUNTERS: Readonly<Record<Container['name'], readonly Counter[]>> = {
  dnsmasq: [
    { text: 'overflows', metric: 'dnsmasq_upstream_overflows_total' },
    { text: 'failures', metric: 'dnsmasq_upstream_failures_total' },
    { text: 'joined', metric: 'dnsmasq_upstream_joined_total' },
    { text: 'evictions', metric: 'dnsmasq_cache_evictions_total' },
    { text: 'refused messages', metric: 'dnsmasq_refused_messages_total' },
    ...['accepted', 'limited', 'refused'].map((result) => ({
      text: `NOTIFY ${result}`,
      metric: 'dnsmasq_notifies_total',
      labels: { result },
    })),
    { text: 'truncated', metric: 'dnsmasq_truncated_answers_total' },
    { text: 'not sent', metric: 'dnsmasq_send_errors_total' },
    { text: 'defects', metric: 'dnsmasq_answer_failures_total' },
    { text: 'unexpected errors', metric: 'dnsmasq_unexpected_errors_total' },
  ],
  kubedns: [
    { text: 'refused messages', metric: 'kubedns_refused_messages_total' },
    { text: 'truncated', metric: 'kubedns_truncated_answers_total' },
    { text: 'not sent', metric: 'kubedns_send_errors_total' },
    { text: 'defects', metric: 'kubedns_answer_failures_total' },
    { text: 'unexpected errors', metric: 'kubedns_unexpected_errors_total' },
  ],
};

const TCP_EVENTS = ['refused', 'idle_closed'] as const;
/** No attack may cause one. */
const DEFECTS = ['defects', 'unexpected errors'];

/** What a container counted between two readings. */
export class CounterChange {
  readonly #changes: readonly (readonly [string, number])[];

  constructor(name: Container['name'], before: MetricPage, after: MetricPage) {
    const tcp = TCP_EVENTS.map((event) => ({
      text: `TCP ${event.replace('_', ' ')}`,
      metric: `${name}_tcp_connections_total`,
      labels: { event },
    }));
    this.#changes = [...COUNTERS[name], ...tcp].map(({ text, metric, labels }: Counter) => {
      return [text, after.sum(metric, labels) - before.sum(metric, labels)];
    });
  }

  /** Unexpected errors; NaN when the container has no such counter. */
  get defects(): number {
    const counts = this.#changes.filter(([text]) => DEFECTS.includes(text));
    return counts.reduce((sum, [, count]) => sum + count, 0);
  }

  /** How much the counter of that name has grown. */
  count(name: string): number {
    return this.#changes.find(([text]) => text === name)?.[1] ?? Number.NaN;
  }

  /** What changed, for a table. */
  toString(): string {
    const changed = this.#changes.filter(([, count]) => count !== 0);
    return changed.map(([text, count]) => `${text} ${count.toLocaleString('en-US')}`).join(', ');
  }
}
