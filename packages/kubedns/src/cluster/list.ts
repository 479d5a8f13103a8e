import { StreamError } from '../errors.js';
import type { ApiReader } from './api-client.js';
import { guardBody } from './body-guard.js';
import { ItemReader } from './item-reader.js';
import { listKind } from './list-kind.js';
import type { LoopTurn } from './loop-turn.js';
import type { WatchPace } from './watch-pace.js';

/** Fewer bytes than this within `listStallMs` are no progress. */
const MIN_PROGRESS_BYTES = 1_024;
/** Of all pages, decompressed; 60,000 objects are 190 MB. */
const MAX_LIST_BYTES = 1024 * 1024 * 1024;
/** A server that sends less of a page than was asked for has a hundred objects in each, where there are many. */
const MAX_PAGES = 1_000;
const MIN_PAGE_OBJECTS = 100;

export interface ListOptions {
  readonly client: ApiReader;
  readonly path: string;
  readonly pace: WatchPace;
  readonly signal: AbortSignal;
  readonly turn: LoopTurn;
  /** Takes one item, as it was parsed, or Unread. What it throws ends the list. */
  readonly onItem: (item: unknown) => void;
  /** Of the list, which may have more pages for more objects. */
  readonly maxObjects: number;
  /** Called for each chunk that arrives. */
  readonly onProgress: () => void;
}

/**
 * Reads a list item by item, in pages where the server supports them, and resolves to its version. It asks
 * for the current state (no `resourceVersion`): with `resourceVersion=0` a server ignores `limit` and may
 * answer from a stale cache, so that a new list could bring deleted objects back. Rejects with a StreamError:
 * a list of more bytes or pages than any real one is `garbled`, and the objects that are stored stay.
 */
export async function readList(options: ListOptions): Promise<string> {
  const maxPages = Math.max(MAX_PAGES, Math.ceil(options.maxObjects / MIN_PAGE_OBJECTS));
  let token = '';
  let bytes = 0;
  for (let page = 0; page < maxPages; page++) {
    const { meta, items, pageBytes } = await readPage(options, token, MAX_LIST_BYTES - bytes);
    bytes += pageBytes;
    if (meta.continue === '') return meta.resourceVersion;
    if (meta.continue === token)
      throw new StreamError('garbled', 'a page names itself as the next');
    // An API server fills its pages, also where it selects; this could go on for ever.
    if (items === 0) throw new StreamError('garbled', 'a page without items names a next one');
    token = meta.continue;
  }
  throw new StreamError('garbled', `the list has more than ${maxPages} pages`);
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
    const reader = new ItemReader(listKind(path));
    let items = 0;
    for await (const { bytes } of body) {
      onProgress();
      for (const item of reader.push(bytes)) {
        // The time of a large one is that of its parsing and of its projection, a turn for each.
        if (turn.isOver) await turn.next();
        items++;
        onItem(item);
      }
      if (turn.isOver) await turn.next();
      if (body.contentBytes <= maxBytes) continue;
      throw new StreamError('garbled', `the list has more than ${MAX_LIST_BYTES} bytes`);
    }
    return { meta: reader.finish(), items, pageBytes: body.contentBytes };
  } finally {
    guard.close();
  }
}
