import { StreamError } from '../errors.js';
import type { ApiReader } from './api-client.js';
import { guardBody } from './body-guard.js';
import { ItemReader } from './item-reader.js';
import type { LoopTurn } from './loop-turn.js';
import type { WatchPace } from './watch-pace.js';

/** Fewer bytes than this within `listStallMs` are no progress. */
const MIN_PROGRESS_BYTES = 1_024;
/** Of all pages; 60,000 objects are 190 MB. */
const MAX_LIST_BYTES = 1024 * 1024 * 1024;

export interface ListOptions {
  readonly client: ApiReader;
  readonly path: string;
  readonly pace: WatchPace;
  readonly signal: AbortSignal;
  readonly turn: LoopTurn;
  /** Takes one item, as it was parsed, or Unread. What it throws ends the list. */
  readonly onItem: (item: unknown) => void;
  readonly maxPages: number;
  /** Called for each chunk that arrives. */
  readonly onProgress: () => void;
}

/**
 * Reads a list item by item, in pages where the server supports them, and resolves to its version. It asks
 * for the current state (no `resourceVersion`): with `resourceVersion=0` a server ignores `limit` and may
 * answer from a stale cache, so that a new list could bring deleted objects back.
 */
export async function readList(options: ListOptions): Promise<string> {
  const { maxPages } = options;
  let token = '';
  let bytes = 0;
  for (let page = 0; page < maxPages; page++) {
    const { meta, pageBytes } = await readPage(options, token, MAX_LIST_BYTES - bytes);
    bytes += pageBytes;
    if (meta.continue === '') return meta.resourceVersion;
    if (meta.continue === token)
      throw new StreamError('garbled', 'a page names itself as the next');
    token = meta.continue;
  }
  throw new StreamError('full', `the list has more than ${maxPages} pages`);
}

async function readPage(options: ListOptions, token: string, maxBytes: number) {
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
      for (const item of reader.push(bytes)) {
        // The time of a large one is that of its parsing and of its projection, a turn for each.
        if (turn.isOver) await turn.next();
        onItem(item);
      }
      if (turn.isOver) await turn.next();
      if (body.receivedBytes <= maxBytes) continue;
      throw new StreamError('full', `the list has more than ${MAX_LIST_BYTES} bytes`);
    }
    return { meta: reader.finish(), pageBytes: body.receivedBytes };
  } finally {
    guard.close();
  }
}
