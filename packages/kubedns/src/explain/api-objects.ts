import type { V1EndpointSlice, V1Service } from '@kubernetes/client-node';
import { errorText } from '@kube-dns/base';
import type { ApiReader } from '../watch/api-client.js';
import { ItemReader, listKind, Unread } from '../watch/json-stream.js';

/** A service and its slices as the API server has them at this moment. */
export interface ApiObjects {
  readonly service: V1Service | undefined;
  readonly slices: readonly V1EndpointSlice[];
  /** Whether the API has more slices than are read. */
  readonly hasMoreSlices: boolean;
}

export interface ApiObjectsReaderOptions {
  readonly client: ApiReader;
  readonly limitMs?: number;
}

const LIMIT_MS = 2_000;
const MAX_SLICES = 20;
const MAX_BYTES = 8 * 1024 * 1024;
const SERVICE_LABEL = 'kubernetes.io/service-name';

/** Reads the objects of one service from the API server: for one explanation at a time, and not for long. */
export class ApiObjectsReader {
  readonly #client: ApiReader;
  readonly #limitMs: number;
  #isBusy = false;

  constructor({ client, limitMs = LIMIT_MS }: ApiObjectsReaderOptions) {
    this.#client = client;
    this.#limitMs = limitMs;
  }

  /** Resolves with a text in place of the objects when the API server does not give them. */
  async read(namespace: string, name: string): Promise<ApiObjects | string> {
    if (this.#isBusy) return 'another explanation is reading from the API server';
    this.#isBusy = true;
    const ended = new AbortController();
    const timer = setTimeout(() => {
      ended.abort(new Error(`no answer within ${this.#limitMs} ms`));
    }, this.#limitMs);
    const { signal } = ended;
    try {
      const [services, slices] = await Promise.all([
        this.#list(`/api/v1/namespaces/${namespace}/services`, signal, {
          fieldSelector: `metadata.name=${name}`,
        }),
        this.#list(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, signal, {
          labelSelector: `${SERVICE_LABEL}=${name}`,
        }),
      ]);
      return {
        service: services.items[0] as V1Service | undefined,
        slices: slices.items as V1EndpointSlice[],
        hasMoreSlices: slices.hasMore,
      };
    } catch (error) {
      ended.abort();
      return errorText(error);
    } finally {
      clearTimeout(timer);
      this.#isBusy = false;
    }
  }

  async #list(path: string, signal: AbortSignal, selector: Readonly<Record<string, string>>) {
    const query = new URLSearchParams({ ...selector, limit: String(MAX_SLICES) });
    const body = await this.#client.get({ path, query, signal });
    const reader = new ItemReader(listKind(path));
    const items: unknown[] = [];
    for await (const { bytes } of body) {
      for (const item of reader.push(bytes)) if (!(item instanceof Unread)) items.push(item);
      if (body.contentBytes > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
    }
    return { items, hasMore: reader.finish().continue !== '' };
  }
}
