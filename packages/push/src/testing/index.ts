import { FrameReader } from '@kube-dns/transport';
import { CLUSTER_VERSION_BYTES, setChanged, setKnown, setSeen } from '@kube-dns/wire';
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

/** Of services, endpoints and namespaces. */
type Numbers = number | readonly number[];

/** The version of a cluster whose resources are all at this number, or each at its own; nothing has changed after `changed`. */
export function clusterVersion(
  known: Numbers,
  of: { readonly identity?: number; readonly changed?: Numbers; readonly seen?: Numbers } = {},
): Uint8Array {
  const { identity = 1, changed = known, seen = changed } = of;
  const version = new Uint8Array(CLUSTER_VERSION_BYTES).fill(identity, 0, 8);
  const set = (write: typeof setKnown, numbers: Numbers) => {
    for (let i = 0; i < 3; i++)
      write(version, i, typeof numbers === 'number' ? numbers : numbers[i]!);
  };
  set(setKnown, known);
  set(setSeen, seen);
  set(setChanged, changed);
  return version;
}
