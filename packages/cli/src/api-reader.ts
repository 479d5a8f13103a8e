import { existsSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { CodedError, errorText, shownUrl, TLS_CLIENT } from '@kube-dns/base';
import { connectionReason, denialAdvice, loadKubeconfig, useApiServer } from '@kube-dns/daemon';
import { KubeConfig } from '@kubernetes/client-node';
import { reasonOf, refusal } from './errors.js';

/** The API server: a kubeconfig, a URL, or both (the URL overrides the server of the file). */
interface ApiSource {
  readonly kubeconfig: string | undefined;
  readonly api: string | undefined;
  /** A context of the kubeconfig; its current one unless given. */
  readonly context?: string | undefined;
}

/** Of `kube-dns up`. */
export const LOCAL_API = 'http://127.0.0.1:18080';

/** The file that kubectl uses; undefined when there is none. */
export function defaultKubeconfig(): string | undefined {
  const named = (process.env.KUBECONFIG ?? '').split(delimiter).find((path) => path !== '');
  if (named !== undefined) return named;
  const path = join(homedir(), '.kube', 'config');
  return existsSync(path) ? path : undefined;
}

const PAGE_ITEMS = 500;
const TIMEOUT_MS = 30_000;
/** A page of the largest objects that an API server stores (1.5 MiB) is far below this. */
const MAX_PAGE_BYTES = 256 * 1024 * 1024;
const DENIED = new Set([401, 403, 404]);

/** The API server does not have the resource, or does not allow us to read it. */
class DeniedError extends CodedError<'denied'> {
  readonly status: number;

  constructor(status: number) {
    super('denied', `HTTP status ${status}`);
    this.status = status;
  }
}

/** An answer of the API server. */
interface ApiAnswer {
  readonly text: string;
  /** Its header `Date`; empty without. */
  readonly date: string;
}

/** Reads objects, and lists of them page by page. It sends nothing but GETs, unless `send` is called. */
export class ApiReader {
  readonly #config: KubeConfig;
  /** Its URL, without a final slash. */
  readonly server: string;

  /** Throws a refusal that names the kubeconfig or the URL and what is wrong with it. */
  constructor(source: ApiSource) {
    this.#config = load(source);
    this.server = (this.#config.getCurrentCluster()?.server ?? '').replace(/\/+$/, '');
  }

  /** Passes each item of a list to `onItem`; throws a refusal when it cannot be read. */
  async list(path: string, onItem: (item: unknown) => void): Promise<void> {
    try {
      await this.#pages(path, onItem);
    } catch (error) {
      throw this.#refused(path, error);
    }
  }

  /** As {@link list}, but false when the server does not have the resource or does not allow us to read it. */
  async listIfAllowed(path: string, onItem: (item: unknown) => void): Promise<boolean> {
    try {
      await this.#pages(path, onItem);
      return true;
    } catch (error) {
      if (error instanceof DeniedError) return false;
      throw this.#refused(path, error);
    }
  }

  /** One object; undefined when it does not exist. Throws a refusal when it cannot be read. */
  async read(path: string): Promise<unknown> {
    try {
      return await this.#fetch(path);
    } catch (error) {
      if (error instanceof DeniedError && error.status === 404) return undefined;
      throw this.#refused(path, error);
    }
  }

  /** As {@link listIfAllowed}: empty, or why the list cannot be read. */
  async listOrReason(path: string, onItem: (item: unknown) => void): Promise<string> {
    try {
      await this.#pages(path, onItem);
      return '';
    } catch (error) {
      if (error instanceof DeniedError) return deniedText(path, error.status);
      throw this.#refused(path, error);
    }
  }

  /** The answer to a GET, as it is; throws a refusal, also after `limitMs`. */
  async get(path: string, limitMs = TIMEOUT_MS): Promise<ApiAnswer> {
    try {
      return await this.#request('GET', path, undefined, limitMs);
    } catch (error) {
      throw this.#refused(path, error);
    }
  }

  /** Sends a request that may change something, with a body as JSON; throws a refusal unless its status is 200, 201 or 202. */
  async send(method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    try {
      return await this.#request(method, path, body);
    } catch (error) {
      throw this.#refused(path, error);
    }
  }

  #refused(path: string, cause: unknown): Error {
    const status = cause instanceof DeniedError ? cause.status : 0;
    const reason = connectionReason(cause, shownUrl(this.server), reasonOf);
    const advice = denialAdvice(status, path, this.#config, 'list');
    return refusal(`cannot read ${path} of ${shownUrl(this.server)}: ${reason}${advice}`, {
      cause,
    });
  }

  async #pages(path: string, onItem: (item: unknown) => void): Promise<void> {
    let token = '';
    do {
      const query = new URLSearchParams({ limit: String(PAGE_ITEMS) });
      if (token !== '') query.set('continue', token);
      const page = await this.#page(`${path}?${query.toString()}`);
      for (const item of page.items) onItem(item);
      if (page.next === token && token !== '') throw new Error('a page names itself as the next');
      token = page.next;
    } while (token !== '');
  }

  async #page(path: string): Promise<{ items: readonly unknown[]; next: string }> {
    const list = (await this.#fetch(path)) as {
      items?: unknown;
      metadata?: { continue?: unknown };
    } | null;
    if (!Array.isArray(list?.items)) throw new Error('the answer is not a list');
    const next = list.metadata?.continue;
    return { items: list.items as unknown[], next: typeof next === 'string' ? next : '' };
  }

  async #fetch(path: string): Promise<unknown> {
    const { text } = await this.#request('GET', path);
    return JSON.parse(text) as unknown;
  }

  async #request(
    method: string,
    path: string,
    body?: unknown,
    limitMs = TIMEOUT_MS,
  ): Promise<ApiAnswer> {
    const url = new URL(this.server + path);
    const options: https.RequestOptions = { ...TLS_CLIENT, headers: {} };
    await this.#config.applyToHTTPSOptions(options);
    // client-node makes an agent for TLS only, which refuses plain HTTP.
    if (url.protocol === 'http:') delete options.agent;
    options.headers = {
      ...(options.headers as http.OutgoingHttpHeaders),
      accept: 'application/json, */*;q=0.5',
      'user-agent': 'kube-dns',
    };
    return fetchText(url, { ...options, method }, body, limitMs);
  }
}

function deniedText(path: string, status: number): string {
  const resource = path.replace(/^.*\//, '');
  if (status === 404) return `the API server has no ${resource}`;
  return `you have no right to list ${resource} (HTTP status ${status})`;
}

function load({ kubeconfig, api, context }: ApiSource): KubeConfig {
  const config = new KubeConfig();
  try {
    if (kubeconfig !== undefined) loadKubeconfig(config, kubeconfig, context);
  } catch (cause) {
    throw refusal(errorText(cause), { cause });
  }
  try {
    if (kubeconfig === undefined) {
      const cluster = { name: 'given', server: api ?? '', skipTLSVerify: false };
      config.loadFromClusterAndUser(cluster, { name: 'nobody' });
    }
    useApiServer(config, api);
  } catch (cause) {
    const what = kubeconfig === undefined ? '--api' : `cannot read the kubeconfig ${kubeconfig}`;
    throw refusal(`${what}: ${reasonOf(cause)}`, { cause });
  }
  return config;
}

const GOOD = new Set([200, 201, 202]);

function fetchText(
  url: URL,
  options: https.RequestOptions,
  body: unknown,
  limitMs: number,
): Promise<ApiAnswer> {
  const signal = AbortSignal.timeout(limitMs);
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) =>
      reject(signal.aborted ? new Error(`no answer within ${limitMs} ms`) : (error as Error));
    const { request: start } = url.protocol === 'http:' ? http : https;
    const sent = body === undefined ? '' : JSON.stringify(body);
    if (sent !== '') {
      options.headers = {
        ...(options.headers as http.OutgoingHttpHeaders),
        'content-type': 'application/json',
      };
    }
    const request = start(url, { ...options, signal });
    request.end(sent);
    request.on('error', fail);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        if ((size += chunk.length) > MAX_PAGE_BYTES) {
          response.destroy(new Error(`a page is larger than ${MAX_PAGE_BYTES} bytes`));
        }
      });
      response.on('error', fail);
      response.on('end', () => {
        const status = response.statusCode ?? 0;
        if (GOOD.has(status)) {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ text, date: response.headers.date ?? '' });
        } else if (DENIED.has(status)) reject(new DeniedError(status));
        else reject(new Error(`HTTP status ${status}`));
      });
    });
  });
}
