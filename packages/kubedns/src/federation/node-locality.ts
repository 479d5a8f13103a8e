import type { V1Node } from '@kubernetes/client-node';
import { errorText, isDnsLabel, type Log } from '@kube-dns/daemon';
import type { ApiReader } from '../watch/api-client.js';

/** Zone and region of a cluster, each a DNS label. */
export interface Locality {
  readonly zone: string;
  readonly region: string;
}

export interface NodeLocalityOptions {
  readonly client: ApiReader;
  readonly log: Log;
  readonly retryMs?: number;
}

interface NodePage {
  readonly metadata?: { readonly continue?: string };
  readonly items?: readonly V1Node[] | null;
}

/** The labels of a node with its zone and its region; the first existing one counts. */
const ZONE_LABELS = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'];
const REGION_LABELS = ['topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region'];
/** Permissions and labels of nodes seldom change by themselves. */
const RETRY_MS = 60_000;
/** A node is tens of kilobytes, most of it names of images; the first one usually has the labels. */
const PAGE_SIZE = 20;
const MAX_PAGE_BYTES = 16 * 1024 * 1024;
const PAGE_LIMIT_MS = 30_000;
const MAX_LOGGED = 20;

/**
 * Finds zone and region of the cluster: those of the first node that has both labels. They are retained
 * for ever (kubernetes/dns pkg/dns/dns.go, getClusterZoneAndRegion); until then the search is repeated in
 * the background.
 */
export class NodeLocality {
  readonly #options: NodeLocalityOptions;
  #locality: Locality | undefined;
  #running: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The messages logged so far: each try may fail for the same reason. */
  readonly #logged = new Set<string>();

  constructor(options: NodeLocalityOptions) {
    this.#options = options;
  }

  get locality(): Locality | undefined {
    return this.#locality;
  }

  /** Starts the search in the background; does nothing when it is running or has succeeded. */
  start(): void {
    if (this.#locality !== undefined || this.#running !== undefined) return;
    this.#running = new AbortController();
    void this.#search(this.#running.signal);
  }

  /** Ends the search; may be called twice, and `start` begins it again. */
  close(): void {
    this.#running?.abort();
    this.#running = undefined;
    clearTimeout(this.#timer);
  }

  async #search(signal: AbortSignal): Promise<void> {
    const { log, retryMs = RETRY_MS } = this.#options;
    try {
      const locality = await this.#find(signal);
      if (signal.aborted) return;
      if (locality !== undefined) {
        this.#locality = locality;
        this.#running = undefined;
        log.info(`federation: the nodes are in zone ${locality.zone}, region ${locality.region}`);
        return;
      }
      this.#warnOnce('no node is labelled with a zone and a region');
    } catch (error) {
      if (signal.aborted) return;
      this.#warnOnce(`cannot list nodes: ${errorText(error)}`);
    }
    this.#timer = setTimeout(() => void this.#search(signal), retryMs).unref();
  }

  async #find(signal: AbortSignal): Promise<Locality | undefined> {
    let next = '';
    do {
      const page = await this.#getPage(next, signal);
      for (const node of page.items ?? []) {
        const locality = this.#localityOf(node);
        if (locality !== undefined) return locality;
      }
      next = page.metadata?.continue ?? '';
    } while (next !== '');
    return undefined;
  }

  async #getPage(token: string, signal: AbortSignal): Promise<NodePage> {
    const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
    if (token !== '') query.set('continue', token);
    const limited = AbortSignal.any([signal, AbortSignal.timeout(PAGE_LIMIT_MS)]);
    let bytes = 0;
    const request = { path: '/api/v1/nodes', query, signal: limited };
    const chunks: Buffer[] = [];
    for await (const chunk of await this.#options.client.get(request)) {
      chunks.push(chunk.bytes);
      bytes += chunk.bytes.length;
      if (bytes > MAX_PAGE_BYTES) throw new Error(`a page is larger than ${MAX_PAGE_BYTES} bytes`);
    }
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as NodePage;
  }

  #localityOf({ metadata }: V1Node): Locality | undefined {
    const labels = metadata?.labels ?? {};
    const zone = this.#place(labels, ZONE_LABELS);
    const region = this.#place(labels, REGION_LABELS);
    return zone === undefined || region === undefined ? undefined : { zone, region };
  }

  #place(labels: Record<string, unknown>, names: readonly string[]): string | undefined {
    const value = names
      .map((name) => labels[name])
      .find((text) => text !== undefined && text !== '');
    if (value === undefined) return undefined;
    if (typeof value === 'string' && isDnsLabel(value)) return value;
    this.#warnOnce(`${JSON.stringify(value)} of a node is not a DNS label`);
    return undefined;
  }

  #warnOnce(message: string): void {
    if (this.#logged.has(message) || this.#logged.size >= MAX_LOGGED) return;
    this.#logged.add(message);
    this.#options.log.warn(`federation: ${message}`);
  }
}
