import type { Clock } from '@kube-dns/base';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The source of signals: the process, or an event emitter. */
export interface SignalSource {
  on(signal: (typeof SIGNALS)[number], listener: () => void): unknown;
}

/**
 * One Ctrl-C can arrive twice: from the terminal, and forwarded by npm. A signal this soon after another
 * is the same key press.
 */
const SAME_PRESS_MS = 250;

/** What happens on the first signal and on each later one. */
export interface StopActions {
  readonly onFirst: () => void;
  readonly onAgain: () => void;
}

/**
 * Listens for the signals that stop the pod until the process ends: without a listener one more Ctrl-C
 * would end it by signal and lose its status.
 */
export function onStopSignals(
  source: SignalSource,
  clock: Clock,
  { onFirst, onAgain }: StopActions,
): void {
  let firstAt: number | undefined;
  const listener = () => {
    if (firstAt === undefined) {
      firstAt = clock.now();
      onFirst();
    } else if (clock.now() - firstAt >= SAME_PRESS_MS) {
      onAgain();
    }
  };
  for (const signal of SIGNALS) source.on(signal, listener);
}
