import { expect, it } from '@jest/globals';
import type { ApiBody } from './api-body.js';
import { readList } from './list.js';
import { LoopTurn } from './loop-turn.js';
import { DEFAULT_PACE } from './watch-pace.js';

const GIB = 1024 ** 3;

it.each([
  [GIB, 'version 1'],
  [GIB + 1, 'the list has more than 1073741824 bytes'],
])('a list of %d bytes, in two pages: %s', async (listBytes, expected) => {
  let pages = 0;
  const ignore = () => undefined;
  const reading = readList({
    client: {
      get: () => {
        const token = ++pages === 1 ? 'next' : '';
        const page = `{"metadata":{"resourceVersion":"1","continue":"${token}"},"items":[]}`;
        const chunks = (async function* () {
          yield await Promise.resolve({ bytes: Buffer.from(page), arrivedMs: 0 });
        })();
        const body = { receivedBytes: pages === 1 ? listBytes - 1 : 1, lastByteMs: 0 };
        return Promise.resolve(Object.assign(chunks, body) as unknown as ApiBody);
      },
    },
    path: '/api/v1/services',
    pace: DEFAULT_PACE,
    signal: new AbortController().signal,
    turn: new LoopTurn(),
    onItem: ignore,
    maxPages: 5,
    onProgress: ignore,
  });
  const outcome = await reading.then(
    (version) => `version ${version}`,
    (error: unknown) => String(error),
  );
  expect(outcome).toContain(expected);
});
