import { afterEach, beforeEach } from '@jest/globals';
import { createApiServer, type ApiServer, type ApiServerOptions } from '../src/index.js';
import type { WatchEvent } from '../src/http/watch.js';

/** What a test opened; `closeAll` closes it in reverse order. */
const opened: (() => unknown)[] = [];

export function onClose(close: () => unknown): void {
  opened.push(close);
}

export async function closeAll(): Promise<void> {
  for (let close = opened.pop(); close; close = opened.pop()) await close();
}

export async function startServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const server = await createApiServer(options);
  onClose(() => server.close());
  return server;
}

/** The server of the test that runs, in a file that begins with `startServerForEach`. */
export let server: ApiServer;

export function startServerForEach(): void {
  beforeEach(async () => {
    server = await startServer();
  });
  afterEach(closeAll);
}

/** An answer with its complete body, parsed where it is JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: TestJson;
}

/** JSON in tests: any path may be read, and a missing field is undefined. */
export interface TestJson {
  readonly [key: string]: TestJson;
  readonly [index: number]: TestJson;
}

/** A string in JSON, typed as one. */
export function textOf(json: TestJson | undefined): string {
  return json as unknown as string;
}

export async function send(
  server: ApiServer,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const isRaw = typeof body === 'string';
  const response = await fetch(server.url + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: isRaw ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  return {
    status: response.status,
    headers: response.headers,
    body: (isJson && text !== '' ? JSON.parse(text) : text) as TestJson,
  };
}

export function get(server: ApiServer, path: string, accept?: string): Promise<Answer> {
  return send(server, 'GET', path, undefined, accept ? { accept } : {});
}

const DEADLINE_MS = 60_000;

export async function withDeadline<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`too late: ${what}`)), DEADLINE_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** An open watch; events are read one at a time. */
export class TestWatch {
  readonly status: number;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = '';

  private constructor(response: Response) {
    this.status = response.status;
    this.#reader = response.body!.getReader();
  }

  static async open(server: ApiServer, path: string, accept?: string): Promise<TestWatch> {
    const abort = new AbortController();
    onClose(() => abort.abort());
    const response = await withDeadline(
      fetch(server.url + path, { signal: abort.signal, ...(accept && { headers: { accept } }) }),
      `head of ${path}`,
    );
    return new TestWatch(response);
  }

  /** The next event; undefined when the watch has ended. Rejects when it broke. */
  async next(): Promise<(WatchEvent & { object: TestJson }) | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n');
      if (end >= 0) {
        const line = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 1);
        return JSON.parse(line) as WatchEvent & { object: TestJson };
      }
      const { done, value } = await withDeadline(this.#reader.read(), 'next event');
      if (done) return undefined;
      this.#text += this.#decoder.decode(value, { stream: true });
    }
  }

  /** The next events as `TYPE name`. */
  async names(count: number): Promise<string[]> {
    const names: string[] = [];
    while (names.length < count) {
      const event = await this.next();
      if (!event) break;
      names.push(`${event.type} ${textOf(event.object.metadata?.name)}`);
    }
    return names;
  }
}

/** A service with one port, and with the given fields. */
export function service(name: string, spec: object = {}, metadata: object = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, ...metadata },
    spec: { ports: [{ port: 80 }], ...spec },
  };
}

export function configMap(name: string, data: Record<string, string> = {}, metadata: object = {}) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, data };
}

export function namespace(name: string) {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

export const SERVICES = '/api/v1/namespaces/default/services';
export const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
