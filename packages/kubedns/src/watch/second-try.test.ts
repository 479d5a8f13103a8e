import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ApiError, StreamError } from '../errors.js';
import type { ApiBody, ApiRequest } from './api-client.js';
import { Task } from './pace.js';
import { getWithSecondTry } from './second-try.js';

const PATH = '/api/v1/services';
/** The longest that a real request waits for its head. */
const HEAD_MS = 30_000;

interface Sent {
  readonly atMs: number;
  readonly isProbe: boolean;
  readonly isAlone: boolean;
  readonly signal: AbortSignal;
}

/** When a request gets its head, after so many ms; undefined: never. */
type HeadMs = (sent: Sent, number: number) => number | undefined;

let sent: Sent[];
let startMs: number;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  sent = [];
  startMs = performance.now();
});
afterEach(() => void jest.useRealTimers());

function clientOf(headMs: HeadMs) {
  return {
    get: (request: ApiRequest) =>
      new Promise<ApiBody>((resolve, reject) => {
        const isProbe = request.query.get('limit') === '1';
        const { isAlone = false, signal } = request;
        const one = { atMs: performance.now() - startMs, isProbe, isAlone, signal };
        const ms = headMs(one, sent.filter((each) => each.isProbe === isProbe).length);
        sent.push(one);
        signal.addEventListener('abort', () => reject(signal.reason as Error));
        const idle = new StreamError('idle', 'no answer within 30000 ms');
        setTimeout(reject, HEAD_MS, idle);
        if (ms === undefined) return;
        setTimeout(() => resolve({ number: sent.indexOf(one) } as unknown as ApiBody), ms);
      }),
  };
}

/** Asks a server; what it came to, and when. */
async function ask(headMs: HeadMs, passMs = 60_000, signal = new Task().signal) {
  const query = new URLSearchParams({ limit: '5000' });
  const outcome = { text: '', atMs: -1 };
  const note = (text: string) =>
    Object.assign(outcome, { text, atMs: performance.now() - startMs });
  const get = getWithSecondTry(clientOf(headMs), { path: PATH, query, signal }, () => 0);
  void get.then(
    (body) => note(`head of request ${(body as unknown as { number: number }).number}`),
    (error: unknown) => note((error as Error).message),
  );
  await jest.advanceTimersByTimeAsync(passMs);
  return outcome;
}

const lists = () => sent.filter(({ isProbe }) => !isProbe);
const openLists = () => lists().filter(({ signal }) => !signal.aborted);

describe('a request for a list', () => {
  it('is sent once when its head comes within two seconds', async () => {
    expect(await ask(() => 1_999)).toEqual({ text: 'head of request 0', atMs: 1_999 });
    expect(sent).toHaveLength(1);
  });

  it('is sent again within a second after new connections work, where the first one never will', async () => {
    const worksAtMs = 17_300;
    const outcome = await ask((one) => (one.atMs >= worksAtMs ? 5 : undefined));
    expect(outcome.text).toMatch(/^head of request/);
    expect(outcome.atMs - worksAtMs).toBeLessThanOrEqual(1_100);
    expect(lists()).toHaveLength(2);
    expect(lists()[1]).toMatchObject({ isAlone: true });
    // The first one is ended, and the one with the head is not.
    expect(openLists()).toEqual([lists()[1]]);
  });

  it('meanwhile makes one small request a second, each on a new connection, one at a time', async () => {
    await ask(() => undefined, 20_000);
    const probes = sent.filter(({ isProbe }) => isProbe);
    expect(probes).toHaveLength(19);
    expect(probes.every(({ isAlone }) => isAlone)).toBe(true);
    expect(probes.filter(({ signal }) => !signal.aborted).length).toBeLessThanOrEqual(1);
    expect(lists()).toHaveLength(1);
  });

  it('to a server that is slow with lists is sent three times at most, two at a time, and the first wins', async () => {
    let most = 0;
    const outcome = await ask((one) => {
      most = Math.max(most, openLists().length + 1);
      return one.isProbe ? 1 : 20_000;
    });
    expect(outcome).toEqual({ text: 'head of request 0', atMs: 20_000 });
    expect(lists().map(({ atMs }) => atMs)).toEqual([0, 2_001, 10_002]);
    // The one that is replaced is ended when the next is sent.
    expect(most).toBeLessThanOrEqual(3);
    expect(openLists()).toEqual([lists()[0]]);
  });

  it('is not sent again to a server that has too much to do', async () => {
    const client = {
      get: (request: ApiRequest) =>
        request.query.get('limit') === '1'
          ? Promise.reject(new ApiError(429, 'too many requests', 1_000))
          : clientOf(() => undefined).get(request),
    };
    const query = new URLSearchParams();
    const get = getWithSecondTry(client, { path: PATH, query, signal: new Task().signal }, () => 0);
    const end = expect(get).rejects.toThrow('no answer');
    await jest.advanceTimersByTimeAsync(HEAD_MS);
    await end;
    expect(lists()).toHaveLength(1);
  });

  it('fails when all its tries have, with the error of the first', async () => {
    const outcome = await ask((one) => (one.isProbe ? 1 : undefined), 120_000);
    expect(outcome.text).toBe('no answer within 30000 ms');
    expect(jest.getTimerCount()).toBeLessThanOrEqual(sent.length);
  });

  it('ends with its signal, and all that was sent for it', async () => {
    const task = new Task();
    setTimeout(() => task.abort(new Error('enough')), 2_500);
    const outcome = await ask((one) => (one.isProbe ? 1 : undefined), 20_000, task.signal);
    expect(outcome).toEqual({ text: 'enough', atMs: 2_500 });
    expect(sent.every(({ signal }) => signal.aborted)).toBe(true);
    expect(sent).toHaveLength(3);
  });
});
