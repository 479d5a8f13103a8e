import * as http from 'node:http';
import * as https from 'node:https';
import { CodedError, errorText, shownUrl, TLS_CLIENT } from '@kube-dns/base';
import { connectionReason, denialAdvice, loadKubeconfig, useApiServer } from '@kube-dns/daemon';
import { KubeConfig } from '@kubernetes/client-node';
import { reasonOf, refusal } from './errors.js';

/** The API server: a kubeconfig, a URL, or both (the URL overrides the server of the file). */
interface ApiSource {
  readonly kubeconfig: string | undefined;
  readonly api: string | undefined;
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

/** Reads objects, and lists of them page by page. It sends nothing but GETs. */
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
    const url = new URL(this.server + path);
    const options: https.RequestOptions = { ...TLS_CLIENT, headers: {} };
    await this.#config.applyToHTTPSOptions(options);
    // client-node makes an agent for TLS only, which refuses plain HTTP.
    if (url.protocol === 'http:') delete options.agent;
    options.headers = {
      ...(options.headers as http.OutgoingHttpHeaders),
      accept: 'application/json',
      'user-agent': 'kube-dns',
    };
    return JSON.parse(await fetchText(url, options)) as unknown;
  }
}

function load({ kubeconfig, api }: ApiSource): KubeConfig {
  const config = new KubeConfig();
  try {
    if (kubeconfig !== undefined) loadKubeconfig(config, kubeconfig);
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

function fetchText(url: URL, options: https.RequestOptions): Promise<string> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) =>
      reject(signal.aborted ? new Error(`no answer within ${TIMEOUT_MS} ms`) : (error as Error));
    const request = (url.protocol === 'http:' ? http : https).get(url, { ...options, signal });
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
        if (status === 200) resolve(Buffer.concat(chunks).toString('utf8'));
        else if (DENIED.has(status)) reject(new DeniedError(status));
        else reject(new Error(`HTTP status ${status}`));
      });
    });
  });
}
