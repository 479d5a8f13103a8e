import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { ApiBody } from './api-body.js';
import { LoopTurn } from './loop-turn.js';
import { watchOnce, type WatchOptions } from './watch.js';
import type { ApiObject } from './object-store.js';
import { DEFAULT_PACE } from './watch-pace.js';

const ignore = () => undefined;

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

/** Watches with this body of the answer. */
function watch(
  body: AsyncIterable<{ bytes: Buffer; arrivedMs: number }>,
  options: Partial<WatchOptions<ApiObject>> = {},
) {
  const answer = Object.assign(body, { receivedBytes: 0, lastByteMs: 0 }) as unknown as ApiBody;
  return watchOnce({
    client: { get: () => Promise.resolve(answer) },
    path: '/api/v1/services',
    pace: DEFAULT_PACE,
    random: () => 0,
    signal: new AbortController().signal,
    turn: new LoopTurn(),
    version: '1',
    onOpen: ignore,
    onEvent: ignore,
    onUnread: ignore,
    onRejected: ignore,
    probe: () => Promise.resolve(),
    ...options,
  });
}

it('reads a long line in turns of the event loop, chunk by chunk', async () => {
  const chunks = Array.from({ length: 20 }, () => ({
    bytes: Buffer.alloc(1_000, 0x20),
    arrivedMs: 0,
  }));
  const turn = new OverTurn();
  const body = (async function* () {
    yield* await Promise.resolve(chunks);
  })();
  await watch(body, { turn });
  expect(turn.count).toBe(20);
});

describe('the end of a watch', () => {
  afterEach(() => void jest.useRealTimers());

  it.each([
    [0, 'closed'],
    [269, 'closed'],
    [270, 'timeout'],
    [300, 'timeout'],
  ])('after %d of 300 seconds is %s', async (seconds, expected) => {
    jest.useFakeTimers();
    // eslint-disable-next-line require-yield -- it only ends
    const body = (async function* () {
      await Promise.resolve();
      jest.advanceTimersByTime(seconds * 1_000);
    })();
    expect(await watch(body)).toBe(expected);
  });

  it('is ours half a minute after its time', async () => {
    jest.useFakeTimers();
    let ended: AbortSignal | undefined;
    const client = {
      get: ({ signal }: { signal: AbortSignal }) => {
        ended = signal;
        return new Promise<ApiBody>((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        });
      },
    };
    const watching = watch({ [Symbol.asyncIterator]: ignore as never }, { client });
    jest.advanceTimersByTime(329_999);
    expect(ended!.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    await expect(watching).rejects.toThrow('not done within 330000 ms');
  });
});
