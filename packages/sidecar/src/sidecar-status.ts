import { formatHostPort } from '@kube-dns/base';
import { type StatusFacts, type StatusSource, timeText } from '@kube-dns/daemon';
import type { Probe } from './probe/probe.js';
import type { Server } from './server.js';
import { STATISTICS } from './statistics/statistic.js';
import type { StatisticsPoll } from './statistics/statistics-poll.js';

/** What the status page of the sidecar says: its probes, and what it knows of dnsmasq. */
export function sidecarStatus(
  dnsmasq: Server,
  poll: StatisticsPoll,
  probes: readonly Probe[],
): StatusSource {
  return {
    problems: () => [
      ...probes.flatMap((probe) => probeProblems(probe)),
      ...(poll.isUp || poll.lastError === ''
        ? []
        : [`the statistics of dnsmasq cannot be read: ${poll.lastError}`]),
      ...subscriptionProblems(poll),
    ],
    sections: () => ({
      Probes: probes.map(probeRow),
      'Statistics of dnsmasq': statisticsFacts(dnsmasq, poll),
    }),
  };
}

function probeProblems(probe: Probe): string[] {
  const { isOk, error } = probe.health();
  return isOk || probe.ageMs() === null ? [] : [`the probe ${probe.spec.label} fails: ${error}`];
}

function subscriptionProblems({ subscriptions }: StatisticsPoll): string[] {
  if (subscriptions === undefined || subscriptions.down === 0) return [];
  return [`${subscriptions.down} subscriptions of dnsmasq are down: its TTLs rule there`];
}

function probeRow(probe: Probe): StatusFacts {
  const { spec, errors, latencyMs } = probe;
  const { isOk, latencySeconds, error } = probe.health();
  const ageMs = probe.ageMs();
  return {
    probe: spec.label,
    state: isOk ? 'ok' : ageMs === null ? 'waiting' : 'failing',
    server: formatHostPort(spec.server),
    question: `${spec.name} ${spec.type}`,
    lastResultSeconds: ageMs === null ? null : ageMs / 1_000,
    lastMs: isOk ? latencySeconds * 1_000 : null,
    meanMs: latencyMs.count === 0 ? null : latencyMs.sum / latencyMs.count,
    errors,
    reason: error,
  };
}

function statisticsFacts(dnsmasq: Server, poll: StatisticsPoll): StatusFacts {
  const ageMs = poll.ageMs();
  return {
    server: formatHostPort(dnsmasq),
    isUp: poll.isUp,
    lastReadAt: ageMs === null ? null : timeText(Math.round(Date.now() - ageMs)),
    ...Object.fromEntries(STATISTICS.map((statistic) => [statistic, poll.value(statistic)])),
    errors: poll.errors,
    lastError: poll.lastError,
    subscriptionsLive: poll.subscriptions?.live ?? null,
    subscriptionsDown: poll.subscriptions?.down ?? null,
  };
}
