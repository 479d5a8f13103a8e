import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ApiServer, type Bookmarks, createApiServer } from '@kube-dns/apiserver';
import { until } from '@kube-dns/testkit';
import { ApiClient, loadKubeConfig } from '../../src/watch/api-client.js';
import { ListWatch, type ListWatchOptions } from '../../src/watch/list-watch.js';
import type { ApiObject, Projection } from '../../src/watch/store.js';
import { recordedLog } from './recorded-log.js';
import { serviceObject } from './objects.js';

/** The first pause of tests is half of it, without randomness. */
const FIRST_PAUSE_MS = 10;
/** Only a hang reaches it; servers that are silent on purpose have a short one. */
const HEAD_LIMIT_MS = 60_000;
/** Bookmarks are as frequent as events. */
const BOOKMARK_INTERVAL_MS = 50;

interface StoredObject extends Projection {
  readonly object: ApiObject;
}

interface FollowerOptions extends Partial<ListWatchOptions<ApiObject, StoredObject>> {
  /** Until the head of an answer. */
  readonly headLimitMs?: number;
}

const opened: { close(): unknown }[] = [];
let bookmarks: Bookmarks | undefined;

/** Closes everything that the functions below opened. */
export async function closeAll(): Promise<void> {
  bookmarks = undefined;
  for (const one of opened.splice(0).reverse()) await one.close();
}

/** Adds something that `closeAll` closes. */
export function owned<T extends { close(): unknown }>(one: T): T {
  opened.push(one);
  return one;
}

/** A list/watch loop with a sink that stores its objects. */
export class Follower {
  readonly objects = new Map<string, ApiObject>();
  /** `+key` and `-key`, in their order. */
  readonly events: string[] = [];
  readonly log = recordedLog(3);
  synced = 0;
  /** Called for each object that is new or changed, before it is stored. */
  onProject: (key: string) => void = () => undefined;
  readonly watch: ListWatch<ApiObject, StoredObject>;
  readonly #client: ApiClient;

  constructor(url: string, { headLimitMs = HEAD_LIMIT_MS, ...options }: FollowerOptions = {}) {
    const config = loadKubeConfig({ kubecfgFile: '', masterUrl: url });
    this.#client = new ApiClient(config, 'test', headLimitMs);
    this.watch = new ListWatch({
      client: this.#client,
      path: '/api/v1/services',
      log: this.log,
      // The shortest pauses.
      random: () => 0,
      onSynced: () => this.synced++,
      sink: {
        project: (key, object) => {
          this.onProject(key);
          return { version: '', listNumber: 0, object };
        },
        change: (key, before, after) => {
          if (before?.object !== this.objects.get(key))
            throw new Error(`${key} had another state before`);
          this.events.push(`${after === undefined ? '-' : '+'}${key}`);
          if (after === undefined) this.objects.delete(key);
          else this.objects.set(key, after.object);
        },
      },
      ...options,
      pace: { firstPauseMs: FIRST_PAUSE_MS, ...options.pace },
    });
  }

  start(): this {
    this.watch.start();
    return owned(this);
  }

  async close(): Promise<void> {
    await this.watch.close();
    this.#client.close();
  }

  has(name: string): boolean {
    return this.objects.has(`default/${name}`);
  }

  said(pattern: RegExp): string[] {
    return this.log.lines.filter((line) => pattern.test(line));
  }
}

export const service = (name: string, fields: object = {}) =>
  serviceObject({ name, clusterIPs: ['None'], ...fields });

/** Until `closeAll` the servers of `server` send bookmarks all the time, or as rarely as a real one. */
export function useBookmarks(often: Bookmarks): void {
  bookmarks = often;
}

/** An API server with headless services of these names. */
export async function server(...names: string[]): Promise<ApiServer> {
  const options = bookmarks === undefined ? {} : { bookmarkIntervalMs: BOOKMARK_INTERVAL_MS };
  const started = owned(await createApiServer(options));
  started.setBookmarks(bookmarks ?? 'usual');
  await started.apply(names.map((name) => service(name)));
  return started;
}

/** A follower that has its first list and an open watch. */
export async function following(api: ApiServer, options: FollowerOptions = {}): Promise<Follower> {
  const follower = new Follower(api.url, options).start();
  await until('the watch', () => api.watchCount('services') > 0);
  return follower;
}

/** A server that sends the result of `say` to each request, and then ends the response. */
export async function fakeServer(
  say: (isWatch: boolean, query: URLSearchParams) => readonly string[],
): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const url = await rawServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://x').searchParams;
    const isWatch = query.has('watch');
    asked.push(isWatch ? `watch ${query.get('resourceVersion') ?? ''}` : 'list');
    for (const part of say(isWatch, query)) response.write(part);
    response.end();
  });
  return { url, asked };
}

/** Starts a server with this listener and returns its URL. */
export async function rawServer(listener: RequestListener): Promise<string> {
  const http = createServer(listener);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  owned({
    close: () => {
      http.close();
      http.closeAllConnections();
    },
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

/** A list as JSON: objects of these names, all at version 1. */
export function listText(names: readonly string[] = [], version = '1', next = ''): string {
  return JSON.stringify({
    metadata: { resourceVersion: version, continue: next },
    items: names.map((name) => item(name)),
  });
}

/** A line of a watch. */
export function eventText(type: string, name: string, version: string): string {
  return `${JSON.stringify({ type, object: item(name, version) })}\n`;
}

function item(name: string, resourceVersion = '1') {
  return { metadata: { namespace: 'default', name, resourceVersion } };
}
