import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { recordedLog } from '../../test/support/recorded-log.js';
import type { ApiBody, ApiRequest } from './api-client.js';
import { ListWatch } from './list-watch.js';
import type { ApiObject, Projection } from './store.js';
import { Task } from './pace.js';

const PATH = '/api/v1/services';
const GIB = 1024 ** 3;

/** The body of an answer in a time of the test: pieces, then the end, or silence. */
class ScriptedBody {
  receivedBytes = 0;
  contentBytes = 0;
  lastByteMs = performance.now();
  readonly #pieces: string[];
  readonly #signal: AbortSignal | undefined;

  /** It ends after its pieces, or only with the signal. */
  constructor(pieces: readonly string[], signal?: AbortSignal) {
    this.#pieces = [...pieces];
    this.#signal = signal;
  }

  async *[Symbol.asyncIterator]() {
    for (const piece of this.#pieces) {
      const bytes = Buffer.from(piece);
      this.receivedBytes += bytes.length;
      this.contentBytes += bytes.length;
      yield await Promise.resolve({ bytes, arrivedMs: performance.now() });
    }
    if (this.#signal !== undefined) await aborted(this.#signal);
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
}

type Answer = (request: ApiRequest, count: number) => ScriptedBody | Promise<ScriptedBody>;

let log: ReturnType<typeof recordedLog>;
let opened: ListWatch<ApiObject, Projection>[];
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  log = recordedLog(2);
  opened = [];
});
afterEach(async () => {
  await Promise.all(opened.map((watch) => watch.close()));
  jest.useRealTimers();
});

/** Follows services of a server that answers lists and watches so. */
function follow(
  list: Answer,
  watch: Answer = silent,
  { maxObjects = 5, aliveMs = 3_600_000 } = {},
) {
  const requests = { lists: 0, watches: 0 };
  const following = new ListWatch<ApiObject, Projection>({
    client: {
      get: async (request) => {
        const body = request.isWatch
          ? await watch(request, ++requests.watches)
          : await list(request, ++requests.lists);
        return body as unknown as ApiBody;
      },
    },
    path: PATH,
    log,
    random: () => 0,
    // Longer than a test.
    pace: { firstPauseMs: 600_000, aliveMs, silentMs: 3_600_000 },
    limits: { maxObjects, maxBytes: GIB },
    onSynced: () => undefined,
    sink: {
      project: () => ({ version: '', listNumber: 0 }),
      change: () => undefined,
    },
  });
  opened.push(following);
  following.start();
  return { following, requests };
}

const silent: Answer = ({ signal }) => new ScriptedBody([], signal);
const pageText = (items = '', next = '') =>
  `{"metadata":{"resourceVersion":"1","continue":"${next}"},"items":[${items}]}`;
const emptyList: Answer = () => new ScriptedBody([pageText()]);

/** Time passes, in steps, and what is due happens. */
const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
/** All that can happen now, has. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
}

/** The first line that says how a list ended. */
async function outcome(): Promise<string | undefined> {
  let line: string | undefined;
  while ((line = log.lines.find((each) => / objects|next try/.test(each))) === undefined)
    await settled();
  return line;
}

/** A watch that breaks after some silence. */
function breaking(ms: number): ScriptedBody {
  const connection = new AbortController();
  setTimeout(() => connection.abort(new Error('aborted')), ms);
  return new ScriptedBody([], connection.signal);
}

describe('after a watch that broke', () => {
  it.each([
    [14_000, { lists: 1, watches: 2 }],
    [16_000, { lists: 2, watches: 2 }],
  ])('and had been silent for %d ms: %j', async (silentMs, expected) => {
    const { requests } = follow(emptyList, (request, count) =>
      count === 1 ? breaking(silentMs) : silent(request, count),
    );
    await outcome();
    await pass(silentMs);
    await settled();
    expect(requests).toEqual(expected);
  });
});

describe('a watch that says nothing', () => {
  it('has contact while the server answers each 10 s, and a second later none, before it is given up', async () => {
    let isThere = true;
    const { following } = follow(
      (request, count) => (isThere ? emptyList : silent)(request, count),
      silent,
      { aliveMs: 10_000 },
    );
    await outcome();
    for (let s = 0; s < 35; s++) {
      await pass(1_000);
      await settled();
      expect([following.isConnected, following.noContactMs]).toEqual([true, 0]);
    }
    isThere = false;
    const passOn = async () => {
      await pass(500);
      await settled();
    };
    while (following.noContactMs === 0) await passOn();
    expect(following.isConnected).toBe(true);
    expect(Math.round(following.noContactMs / 1_000)).toBe(11);
    while (following.isConnected) await passOn();
    expect(Math.round(following.noContactMs / 1_000)).toBe(20);
    expect(following.restarts.idle).toBe(1);
  });
});

describe('a list', () => {
  it.each([
    [GIB, / 0 objects/],
    [GIB + 1, /the list has more than 1073741824 bytes/],
  ])('of %d bytes, in two pages: %s', async (listBytes, expected) => {
    follow((_, page) => {
      const text = page === 1 ? pageText('{}', 'next') : pageText();
      const body = new ScriptedBody([text]);
      // As the client counts them.
      body.contentBytes = (page === 1 ? listBytes - 1 : 1) - text.length;
      return body;
    });
    expect(await outcome()).toMatch(expected);
  });

  it.each([
    [5, 1_000],
    [100_000, 1_000],
    [249_999, 2_500],
  ])('of up to %d objects has at most %d pages', async (maxObjects, maxPages) => {
    const listOf = async (pages: number) => {
      log.lines.length = 0;
      const list: Answer = (_, page) =>
        new ScriptedBody([pageText('{}', page < pages ? `page${page}` : '')]);
      const { requests } = follow(list, silent, { maxObjects });
      return [await outcome(), requests.lists];
    };
    expect(await listOf(maxPages)).toEqual([expect.stringMatching(/ 0 objects/), maxPages]);
    expect(await listOf(Infinity)).toEqual([
      expect.stringContaining(`the list has more than ${maxPages} pages`),
      maxPages,
    ]);
  });

  it('ends at a page without items that names a next one', async () => {
    const { requests } = follow(
      (_, page) => new ScriptedBody([pageText(page === 1 ? '{}' : '', `page${page}`)]),
    );
    expect(await outcome()).toContain('a page without items names a next one');
    expect(requests.lists).toBe(2);
  });
});

describe('a list whose body', () => {
  const WINDOW_MS = 20_000;
  let body: ScriptedBody;
  /** So many bytes arrive, and expand to so many, and a window passes. */
  const window = async (receivedBytes: number, contentBytes = receivedBytes) => {
    body.receivedBytes += receivedBytes;
    body.contentBytes += contentBytes;
    await pass(WINDOW_MS);
  };
  beforeEach(async () => {
    follow(({ signal }) => (body = new ScriptedBody([], signal)));
    await pass(0);
  });

  it.each([
    ['is silent', 0, 0, 0],
    ['comes byte by byte', 1_023, 1_023, 1_023],
    ['comes byte by byte and expands to many', 10, 1_000_000, 10],
    ['comes and has no content', 1_000_000, 7, 7],
  ])('%s is given up', async (_what, received, content, bytes) => {
    await window(5_000);
    expect(log.lines).toEqual([]);
    await window(received, content);
    expect(log.lines).toEqual([
      `W ${PATH}: only ${bytes} bytes within 20000 ms; next try in 250 ms`,
    ]);
  });

  it('is slow but continues has no limit', async () => {
    for (let i = 0; i < 1_000; i++) await window(1_024);
    expect(log.lines).toEqual([]);
  });
});

describe('a watch', () => {
  it('reads a long line in turns of the event loop, chunk by chunk', async () => {
    let turns = 0;
    const read = new Task();
    follow(emptyList, ({ signal }) => {
      const body = new ScriptedBody([], signal);
      const pieces = async function* () {
        for (let i = 0; i < 20; i++) {
          yield await Promise.resolve({ bytes: Buffer.alloc(1_000, 0x20), arrivedMs: 0 });
        }
        read.abort();
      };
      return Object.assign(body, {
        // Each piece takes 4 ms.
        [Symbol.asyncIterator]: async function* () {
          for await (const piece of pieces()) {
            jest.advanceTimersByTime(4);
            yield piece;
          }
          await aborted(signal);
        },
      });
    });
    while (!read.isAborted) {
      await new Promise(setImmediate);
      turns++;
    }
    expect(turns).toBeGreaterThanOrEqual(20);
  });

  it.each([
    [0, 'closed'],
    [269, 'closed'],
    [270, 'timeout'],
    [300, 'timeout'],
  ] as const)('that ends after %d of 300 seconds is %s', async (seconds, reason) => {
    const end = new Task();
    const { following } = follow(emptyList, async (_, count) => {
      if (count === 1) await end.pause(seconds * 1_000);
      else await aborted(end.signal);
      return new ScriptedBody([]);
    });
    await pass(0);
    await pass(seconds * 1_000);
    expect(following.restarts).toMatchObject({ closed: 0, timeout: 0, [reason]: 1 });
    end.abort();
  });

  it('is ended half a minute after its time', async () => {
    follow(emptyList);
    await pass(329_999);
    expect(log.lines).toEqual([`I ${PATH}: 0 objects`]);
    await pass(1);
    expect(log.lines[1]).toMatch(/not done within 330000 ms/);
  });
});

describe('the log', () => {
  it('has the same failure once a minute, and another one immediately', async () => {
    const failures = ['no', 'no', 'no', 'never', 'no'];
    follow((_, count) => {
      throw new Error(failures[count - 1] ?? 'no');
    });
    const warnings = () =>
      log.lines.filter((line) => line.startsWith('W')).map((line) => line.split(/[:;] /)[1]);
    // A try each 15 s.
    await pass(60_000);
    expect(warnings()).toEqual(['no', 'never', 'no']);
    await pass(59_999);
    expect(warnings()).toHaveLength(3);
    await pass(1);
    expect(warnings()).toHaveLength(4);
  });

  it('names the first thing that was left out, and later five of the others with their number', async () => {
    const { following } = follow(emptyList);
    await pass(0);
    log.lines.length = 0;
    for (let i = 0; i < 1_000; i++) following.reject(`shop/web-${i}`, 'it is bad');
    expect(following.rejected).toBe(1_000);
    await pass(9_999);
    expect(log.lines).toEqual([`E ${PATH}: shop/web-0: it is bad; left out`]);
    await pass(1);
    const named = [1, 2, 3, 4, 5].map((i) => `shop/web-${i}: it is bad`).join('; ');
    expect(log.lines[1]).toBe(`E ${PATH}: 999 more left out, such as ${named}`);
    following.reject('shop/next', 'it is bad too');
    expect(log.lines[2]).toBe(`E ${PATH}: shop/next: it is bad too; left out`);
  });

  it('has the pending count when it is closed', async () => {
    const { following } = follow(emptyList);
    for (const name of ['a', 'b', 'c']) following.reject(name, 'it is bad');
    await following.close();
    await following.close();
    expect(log.lines.at(-1)).toBe(`E ${PATH}: 2 more left out, such as b: it is bad; c: it is bad`);
  });

  it('names nothing twice, and what was named before again', async () => {
    const { following } = follow(emptyList);
    await pass(0);
    for (const reason of ['it is bad', 'it is bad', 'it is odd', 'it is odd', 'it is bad']) {
      following.reject('shop/web', reason);
    }
    await pass(10_000);
    expect(log.lines.at(-1)).toBe(`E ${PATH}: 4 more left out, such as shop/web: it is odd`);
    for (let i = 0; i < 3; i++) following.reject('shop/web', 'it is odd');
    await pass(10_000);
    expect(log.lines.slice(-2)).toEqual([
      `E ${PATH}: shop/web: it is odd; left out`,
      `E ${PATH}: 2 more left out`,
    ]);
  });
});
