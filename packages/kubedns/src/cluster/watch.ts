import { ApiError, type StreamError } from '../errors.js';
import type { ApiReader } from './api-client.js';
import type { ApiBody } from './api-body.js';
import { Deadline } from './deadline.js';
import { LineReader } from './json-lines.js';
import { Unread } from './json-text.js';
import type { LoopTurn } from './loop-turn.js';
import type { ApiObject } from './object-store.js';
import { SilenceGuard } from './silence-guard.js';
import type { WatchPace } from './watch-pace.js';

/** An object that was added, changed or deleted, or a bookmark. */
export interface WatchEvent<T extends ApiObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

export interface WatchOptions<T extends ApiObject> {
  readonly client: ApiReader;
  readonly path: string;
  readonly pace: WatchPace;
  readonly random: () => number;
  readonly signal: AbortSignal;
  readonly turn: LoopTurn;
  /** The version to continue from. */
  readonly version: string;
  /** The server accepted the watch. */
  readonly onOpen: () => void;
  /** Takes one event. `arrivedMs` is by `performance.now()`. */
  readonly onEvent: (event: WatchEvent<T>, arrivedMs: number) => void;
  /** A line was too large or too complex to be read. */
  readonly onUnread: (line: Unread) => void;
  /** A line was not an event. */
  readonly onRejected: (reason: string) => void;
  /** Called when the watch is silent; rejects when the server does not answer. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>;
}

/**
 * Watches a resource until the server ends the watch, at its timeout (`timeout`) or earlier (`closed`).
 * Rejects with an ApiError when the server refuses, also later, and with a StreamError when the stream breaks.
 */
export async function watchOnce<T extends ApiObject>(
  options: WatchOptions<T>,
): Promise<'timeout' | 'closed'> {
  const { client, path, pace, signal, version } = options;
  // Spread out, so that the clients of a restarted server do not reconnect all at the same time.
  const seconds = Math.round(pace.watchSeconds * (1 + options.random()));
  const startedMs = performance.now();
  const deadline = new Deadline(signal, seconds * 1_000 + pace.overdueMs, 'not done');
  try {
    const body = await client.get({
      path,
      query: queryOf(version, seconds),
      signal: deadline.signal,
      isWatch: true,
    });
    options.onOpen();
    await readEvents(options, body, (error) => deadline.giveUp(error));
  } finally {
    deadline.close();
  }
  return performance.now() - startedMs >= seconds * 900 ? 'timeout' : 'closed';
}

function queryOf(version: string, seconds: number): URLSearchParams {
  return new URLSearchParams({
    watch: 'true',
    allowWatchBookmarks: 'true',
    timeoutSeconds: String(seconds),
    resourceVersion: version,
  });
}

async function readEvents<T extends ApiObject>(
  options: WatchOptions<T>,
  body: ApiBody,
  giveUp: (error: StreamError) => void,
): Promise<void> {
  const { pace, turn, onEvent, onRejected, onUnread } = options;
  const lines = new LineReader();
  const silence = new SilenceGuard({
    pace,
    lastByteMs: () => body.lastByteMs,
    probe: options.probe,
    onDead: giveUp,
  });
  try {
    for await (const { bytes, arrivedMs } of body) {
      for (const line of lines.push(bytes)) {
        if (line instanceof Unread) {
          onUnread(line);
          continue;
        }
        const event = readEvent<T>(line);
        if (event === undefined) {
          onRejected('it is not an event');
          continue;
        }
        onEvent(event, arrivedMs);
        if (turn.isOver) await turn.next();
      }
      // Of a long line, which is measured as it arrives.
      if (turn.isOver) await turn.next();
    }
    if (lines.pendingBytes > 0) onRejected(`cut after ${lines.pendingBytes} bytes`);
  } finally {
    silence.close();
  }
}

/** Undefined for what is not an event. Throws an ApiError for an ERROR event. */
export function readEvent<T extends ApiObject>(line: unknown): WatchEvent<T> | undefined {
  const { type, object } = (line ?? {}) as { type?: unknown; object?: unknown };
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      return { type, object: object as T };
    case 'ERROR':
      throw statusError(object);
    default:
      return undefined;
  }
}

/** The Status object of an ERROR event. */
function statusError(object: unknown): ApiError {
  const status = (object ?? {}) as {
    code?: unknown;
    message?: unknown;
    details?: { retryAfterSeconds?: unknown };
  };
  const code = typeof status.code === 'number' ? status.code : 0;
  const message =
    typeof status.message === 'string' ? status.message : 'the watch ended with an error';
  return new ApiError(code, message, Number(status.details?.retryAfterSeconds) * 1_000 || 0);
}
