import type { SubscriptionRow } from './subscription-row.js';

/** The page `/subscriptions`, as JSON: whether each zone is live, why not, and since when. Ages are in seconds. */
export function subscriptionsPage(
  rows: readonly SubscriptionRow[],
  nowMs = performance.now(),
): string {
  const ageSeconds = (ms: number | undefined) =>
    ms === undefined ? undefined : Math.round(nowMs - ms) / 1_000;
  const subscriptions = rows.map((row) => ({
    server: row.server,
    zones: row.zones,
    state: row.state,
    reason: row.reason === '' ? undefined : row.reason,
    forSeconds: ageSeconds(row.sinceMs),
    lastMessageAgeSeconds: ageSeconds(row.heardMs),
    serial: row.serial,
    processes: row.processes,
    keptAnswers: row.keptAnswers,
    droppedAnswers: row.droppedAnswers,
    events: row.events,
    flushes: row.flushes,
  }));
  return `${JSON.stringify({ subscriptions }, null, 2)}\n`;
}
