import { expect, it } from '@jest/globals';
import type { ApiBody } from './api-body.js';
import { LoopTurn } from './loop-turn.js';
import { watchOnce } from './watch.js';
import { DEFAULT_PACE } from './watch-pace.js';

/** A turn that is always over, and counts. */
class OverTurn extends LoopTurn {
  count = 0;

  override get isOver(): boolean {
    return true;
  }

  override next(): Promise<void> {
    this.count++;
    return super.next();
  }
}

it('reads a long line in turns of the event loop, chunk by chunk', async () => {
  const chunks = Array.from({ length: 20 }, () => ({
    bytes: Buffer.alloc(1_000, 0x20),
    arrivedMs: 0,
  }));
  const body = Object.assign(
    (async function* () {
      yield* await Promise.resolve(chunks);
    })(),
    { receivedBytes: 0, lastByteMs: 0 },
  );
  const turn = new OverTurn();
  const ignore = () => undefined;
  await watchOnce({
    client: { get: () => Promise.resolve(body as unknown as ApiBody) },
    path: '/api/v1/services',
    pace: DEFAULT_PACE,
    random: () => 0,
    signal: new AbortController().signal,
    turn,
    version: '1',
    onOpen: ignore,
    onEvent: ignore,
    onUnread: ignore,
    onRejected: ignore,
    probe: () => Promise.resolve(),
  });
  expect(turn.count).toBe(20);
});
