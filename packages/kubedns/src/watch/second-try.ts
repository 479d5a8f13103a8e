import { ApiError } from '../errors.js';
import type { ApiBody, ApiReader, ApiRequest } from './api-client.js';
import { Task, withLimit } from './pace.js';

/** A list or watch without a head for so long may wait on a connection that leads nowhere. */
const FIRST_MS = 2_000;
/** So much later at the most: the clients of a server that hung do not ask it at the same moment. */
const JITTER = 0.1;
/** So often the server is asked on a new connection whether it answers there. */
const PROBE_MS = 1_000;
/** For each list and watch: a server that is only slow has few more of them. */
const MAX_SECOND_TRIES = 2;
/** The second one follows the first after so long. */
const NEXT_MS = 8_000;

/**
 * As `ApiReader.get`, but a request without a head does not wait for its connection alone: an API server or a balancer that
 * hung may have accepted it and never look at it again. After 2 s new connections are tried with a small request, one at
 * a time. Once one of them is answered the request itself is sent on another, and the first head wins; the other is ended.
 * Two are sent at a time at the most, and three in all.
 */
export async function getWithSecondTry(
  client: ApiReader,
  request: ApiRequest,
  random: () => number,
): Promise<ApiBody> {
  const probes = new Task(request.signal);
  const tries = new Set<Task>();
  let failure: Error | undefined;
  try {
    return await new Promise<ApiBody>((resolve, reject) => {
      const send = (isAlone: boolean): Task => {
        const { path, query, isWatch = false } = request;
        const task = new Task(request.signal);
        tries.add(task);
        client.get({ path, query, isWatch, isAlone, signal: task.signal }).then(
          (body) => {
            tries.delete(task);
            resolve(body);
          },
          (reason: unknown) => {
            const error = reason instanceof Error ? reason : new Error(String(reason));
            const isOurs = task.isAborted && !request.signal.aborted;
            tries.delete(task);
            if (!isOurs) failure ??= error;
            if (isAnswer(error)) reject(error);
            else if (tries.size === 0) reject(failure ?? error);
          },
        );
        return task;
      };
      send(false);
      void sendAgain(client, request, random, probes, () => send(true));
    });
  } finally {
    probes.abort();
    for (const task of tries) task.abort();
  }
}

/** Sends a request again when its time has come and the server answers on a new connection. */
async function sendAgain(
  client: ApiReader,
  { path }: ApiRequest,
  random: () => number,
  probes: Task,
  send: () => Task,
): Promise<void> {
  let last: Task | undefined;
  for (let count = 0; count < MAX_SECOND_TRIES; count++) {
    const pauseMs = count === 0 ? FIRST_MS : NEXT_MS;
    if (!(await probes.pause(pauseMs * (1 + random() * JITTER)))) return;
    for (;;) {
      const pause = probes.pause(PROBE_MS);
      if (await hasAnswer(client, path, probes)) break;
      if (!(await pause)) return;
    }
    if (probes.isAborted) return;
    const before = last;
    last = send();
    before?.abort();
  }
}

/** Whether the server answers a small list, out of its cache, on a new connection. */
async function hasAnswer(client: ApiReader, path: string, outer: Task): Promise<boolean> {
  const probe = new Task(outer.signal);
  // Without the selector a server sends the whole list of its cache.
  const query = new URLSearchParams({
    fieldSelector: 'metadata.name=kubernetes',
    limit: '1',
    resourceVersion: '0',
  });
  try {
    await withLimit(probe.signal, PROBE_MS, 'no answer', ({ signal }) =>
      client.get({ path, query, isAlone: true, signal }),
    );
    return true;
  } catch {
    // It hangs, or has too much to do: then the list would not help it.
    return false;
  } finally {
    probe.abort();
  }
}

function isAnswer(error: unknown): boolean {
  return error instanceof ApiError && error.status > 0;
}
