import { expect, it } from '@jest/globals';
import type { ApiBody } from './api-body.js';
import { readList } from './list.js';
import { LoopTurn } from './loop-turn.js';
import { DEFAULT_PACE } from './watch-pace.js';

const GIB = 1024 ** 3;

/** A page with these items, of so many bytes as the client counts them. */
interface Page {
  readonly items: string;
  readonly next?: string;
  readonly bytes?: number;
}

/** What becomes of a list of these pages: its version, or the error. */
async function outcomeOf(pageAt: (number: number) => Page, maxObjects = 5): Promise<string> {
  let pages = 0;
  const ignore = () => undefined;
  const reading = readList({
    client: {
      get: () => {
        const { items, next = '', bytes = 1 } = pageAt(++pages);
        const page = `{"metadata":{"resourceVersion":"1","continue":"${next}"},"items":[${items}]}`;
        const chunks = (async function* () {
          yield await Promise.resolve({ bytes: Buffer.from(page), arrivedMs: 0 });
        })();
        const body = { contentBytes: bytes, lastByteMs: 0 };
        return Promise.resolve(Object.assign(chunks, body) as unknown as ApiBody);
      },
    },
    path: '/api/v1/services',
    pace: DEFAULT_PACE,
    signal: new AbortController().signal,
    turn: new LoopTurn(),
    onItem: ignore,
    maxObjects,
    onProgress: ignore,
  });
  const outcome = await reading.then(
    (version) => `version ${version}`,
    (error: unknown) => String(error),
  );
  return `${outcome} after ${pages} pages`;
}

it.each([
  [GIB, 'version 1'],
  [GIB + 1, 'the list has more than 1073741824 bytes'],
])('a list of %d bytes, in two pages: %s', async (listBytes, expected) => {
  const outcome = await outcomeOf((number) =>
    number === 1 ? { items: '{}', next: 'next', bytes: listBytes - 1 } : { items: '{}' },
  );
  expect(outcome).toContain(expected);
});

it.each([
  [5, 1_000],
  [100_000, 1_000],
  [249_999, 2_500],
])('a list of up to %d objects has at most %d pages', async (maxObjects, maxPages) => {
  const listOf = (pages: number) =>
    outcomeOf(
      (number) => ({ items: '{}', next: number < pages ? `page${number}` : '' }),
      maxObjects,
    );
  expect(await listOf(maxPages)).toBe(`version 1 after ${maxPages} pages`);
  expect(await listOf(Infinity)).toContain(
    `the list has more than ${maxPages} pages after ${maxPages} pages`,
  );
});

it('ends at a page without items that names a next one', async () => {
  const outcome = await outcomeOf((number) => ({
    items: number === 1 ? '{}' : '',
    next: `page${number}`,
  }));
  expect(outcome).toContain('a page without items names a next one after 2 pages');
});
