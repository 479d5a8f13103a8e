import type { Log } from '@kube-dns/daemon';

/** A log whose messages a test can read. */
export interface RecordedLog extends Log {
  readonly messages: string[];
}

export function recordedLog(): RecordedLog {
  const messages: string[] = [];
  const note = (message: string) => void messages.push(message);
  return {
    messages,
    info: note,
    warn: note,
    error: note,
    verbose: (_level, message) => note(message),
    isEnabled: () => true,
  };
}
