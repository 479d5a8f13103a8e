import { FrameReader } from '@kube-dns/transport';
import type { SubscriptionRow } from '../subscriber.js';

/** The messages of what is passed to `Session.pushFrames`. */
export function messagesOf(frames: Uint8Array): Buffer[] {
  const reader = new FrameReader();
  reader.push(Buffer.from(frames));
  const messages: Buffer[] = [];
  for (let next = reader.next(); next !== undefined; next = reader.next()) messages.push(next);
  return messages;
}

/** A live subscription to `cluster.local`, but for what is given. */
export function subscriptionRow(given: Partial<SubscriptionRow> = {}): SubscriptionRow {
  return {
    server: '127.0.0.1#10053',
    zones: ['cluster.local'],
    state: 'live',
    reason: '',
    sinceMs: 0,
    lastSeenMs: 0,
    serial: 0,
    processes: 1,
    changedMs: undefined,
    pinnedAnswers: 0,
    zoneAnswers: 0,
    droppedAnswers: 0,
    events: { started: 1, lost: 0, changed: 0 },
    flushes: { 'new-subscription': 1, 'by-server': 0, 'missed-message': 0 },
    ...given,
  };
}
