import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { ApiClient } from '../../src/cluster/api-client.js';
import { loadKubeConfig } from '../../src/cluster/kube-config.js';
import { type ApiObject, ListWatch, type ListWatchOptions } from '../../src/cluster/list-watch.js';
import { keptLog } from './kept-log.js';
import { serviceObject } from './objects.js';
import { until } from './until.js';

/** Patience for tests: the first pause is half of it, without chance. */
const FIRST_PAUSE_MS = 100;
const HEAD_LIMIT_MS = 300;

const opened: { close(): unknown }[] = [];
/** Closes what the functions below opened. */
export async function closeAll(): Promise<void> {
  for (const one of opened.splice(0).reverse()) await one.close();
}

/** Hands a thing to `closeAll`. */
export function owned<T extends { close(): unknown }>(one: T): T {
  opened.push(one);
  return one;
}

/** A sink that keeps what it is told, and the loop that tells it. */
export class Follower {
  readonly objects = new Map<string, ApiObject>();
  /** `+key` and `-key`, in their order. */
  readonly events: string[] = [];
  readonly log = keptLog(2);
  synced = 0;
  onUpsert: (key: string) => void = () => undefined;
  readonly watch: ListWatch<ApiObject>;
  readonly #client: ApiClient;

  constructor(url: string, options: Partial<ListWatchOptions<ApiObject>> = {}) {
    const config = loadKubeConfig({ kubecfgFile: '', masterUrl: url });
    this.#client = new ApiClient(config, 'test', HEAD_LIMIT_MS);
    this.watch = new ListWatch({
      client: this.#client,
      path: '/api/v1/services',
      log: this.log,
      // The shortest pauses that there are.
      random: () => 0,
      onSynced: () => this.synced++,
      sink: {
        upsert: (key, object) => {
          this.events.push(`+${key}`);
          this.onUpsert(key);
          this.objects.set(key, object);
        },
        remove: (key) => {
          this.events.push(`-${key}`);
          this.objects.delete(key);
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

/** An API server with headless services of these names. */
export async function server(...names: string[]): Promise<ApiServer> {
  const started = owned(await createApiServer());
  await started.apply(names.map((name) => service(name)));
  return started;
}

/** A follower that has its first list and an open watch. */
export async function following(
  api: ApiServer,
  options: Partial<ListWatchOptions<ApiObject>> = {},
): Promise<Follower> {
  const follower = new Follower(api.url, options).start();
  await until('the watch', () => api.watchCount('services') > 0);
  return follower;
}

/** A server that says to each request what it is told, and then ends the answer. */
export async function fakeServer(
  say: (isWatch: boolean, query: URLSearchParams) => readonly string[],
): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const http = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://x').searchParams;
    const isWatch = query.has('watch');
    asked.push(isWatch ? `watch ${query.get('resourceVersion') ?? ''}` : 'list');
    for (const part of say(isWatch, query)) response.write(part);
    response.end();
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  owned({
    close: () => {
      http.close();
      http.closeAllConnections();
    },
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, asked };
}
