import { StreamError } from '../errors.js';
import type { ApiReader } from './api-client.js';
import { guardBody } from './body-guard.js';
import { ItemReader } from './item-reader.js';
import type { LoopTurn } from './loop-turn.js';
import type { WatchPace } from './watch-pace.js';

/** Fewer bytes than this within `listStallMs` are no progress. */
const MIN_PROGRESS_BYTES = 1_024;

export interface ListOptions {
  readonly client: ApiReader;
  readonly path: string;
  readonly pace: WatchPace;
  readonly signal: AbortSignal;
  readonly turn: LoopTurn;
  /** Takes one item, as it was parsed; must not throw. */
  readonly onItem: (item: unknown) => void;
  /** Called for each chunk that arrives. */
  readonly onProgress: () => void;
}

/**
 * Reads a list item by item, in pages where the server supports them, and resolves to its version. It asks
 * for the current state (no `resourceVersion`): with `resourceVersion=0` a server ignores `limit` and may
 * answer from a stale cache, so that a new list could bring deleted objects back.
 */
export async function readList(options: ListOptions): Promise<string> {
  let token = '';
  for (;;) {
    const meta = await readPage(options, token);
    if (meta.continue === '') return meta.resourceVersion;
    if (meta.continue === token)
      throw new StreamError('garbled', 'a page names itself as the next');
    token = meta.continue;
  }
}

async function readPage(options: ListOptions, token: string) {
  const { client, path, pace, signal, turn, onItem, onProgress } = options;
  const query = new URLSearchParams({ limit: String(pace.pageSize) });
  if (token !== '') query.set('continue', token);
  const stalled = new AbortController();
  const ended = AbortSignal.any([signal, stalled.signal]);
  const body = await client.get({ path, query, signal: ended });
  const limits = { windowMs: pace.listStallMs, minBytes: MIN_PROGRESS_BYTES };
  const guard = guardBody(body, limits, (error) => stalled.abort(error));
  try {
    const reader = new ItemReader();
    for await (const { bytes } of body) {
      onProgress();
      for (const item of reader.push(bytes)) onItem(item);
      if (turn.isOver) await turn.next();
    }
    return reader.finish();
  } finally {
    guard.close();
  }
}
