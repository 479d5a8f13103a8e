import type { V1Node } from '@kubernetes/client-node';
import { errorText } from '@kube-dns/base';
import { isDnsLabel, type Log } from '@kube-dns/daemon';
import { encodeKey, MAX_NAME_BYTES, NameTable, prependLabels } from '@kube-dns/wire';
import type { ApiReader } from '../watch/api-client.js';
import { Task } from '../watch/pace.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import type { ZoneName } from '../zone/zone-names.js';

/** A federation: its name is a label of its names, its domain is the end of their CNAME targets. */
export interface Federation {
  readonly name: string;
  /** Lower case, without a final dot. */
  readonly domain: string;
  /** The same in wire form. */
  readonly domainWire: Uint8Array;
}

/** What federated names are made of. */
export interface FederatedNames {
  /** Whether there are federations. */
  readonly isActive: boolean;
  /** Zone and region of the nodes; undefined until a node with both labels was found. */
  readonly locality: Locality | undefined;
  /** The federation whose name is the label at `start` up to `end`, lower-cased, without its length. */
  find(label: Uint8Array, start: number, end: number): Federation | undefined;
}

export interface FederationsOptions {
  readonly client: ApiReader;
  readonly log: Log;
  /** Pause before nodes are listed again when none had the labels. */
  readonly retryMs?: number;
}

/** Zone and region of a cluster, each a DNS label. */
export interface Locality {
  readonly zone: string;
  readonly region: string;
}

/** The configured federations, and the zone and region of this cluster; lists nodes only with federations. */
export class Federations implements FederatedNames {
  readonly #nodes: NodeLocality;
  #byLabel = new NameTable<Federation>();
  /** By name. */
  domains: ReadonlyMap<string, string> = new Map();

  constructor(options: FederationsOptions) {
    this.#nodes = new NodeLocality(options);
  }

  /** Replaces the federations by `name → domain`, both valid. */
  apply(federations: ReadonlyMap<string, string>): void {
    this.#byLabel = new NameTable();
    this.domains = federations;
    for (const [name, domain] of federations) {
      this.#byLabel.set(Buffer.from(name), { name, domain, domainWire: encodeKey(domain) });
    }
    if (this.isActive) this.#nodes.start();
    else this.#nodes.close();
  }

  get isActive(): boolean {
    return this.#byLabel.size > 0;
  }

  find(label: Uint8Array, start: number, end: number): Federation | undefined {
    return this.#byLabel.get(label, start, end);
  }

  get locality(): Locality | undefined {
    return this.#nodes.locality;
  }

  /** Ends the search for nodes; may be called twice. */
  close(): void {
    this.#nodes.close();
  }
}

/** Labels before the apex of a federated name: service, namespace, federation, `svc`. */
const FEDERATED_LABELS = 4;

/**
 * The CNAME target of a federated name (kubernetes/dns pkg/dns/dns.go, federationRecords): this cluster's
 * service when it has endpoints, else the federation's name for it with the zone and region of this cluster.
 * `undefined` when the name is not federated; `null` while zone and region are unknown.
 */
export function federatedTarget(
  federations: FederatedNames,
  name: ZoneName,
  zone: ClusterZone,
): Uint8Array | null | undefined {
  if (!federations.isActive || name.count !== FEDERATED_LABELS) return undefined;
  const at = name.startOf(1);
  const federation = federations.find(name.bytes, at + 1, at + 1 + name.bytes[at]!);
  if (federation === undefined) return undefined;
  const labels = [name.text(3), name.text(2)];
  if (!labels.every(isDnsLabel)) return undefined;
  const local = prependLabels(labels, zone.services);
  const service = zone.findService(local, 0, local.length);
  if (service?.service?.kind === 'external-name' || service?.hasEndpoints) return local;
  const { locality } = federations;
  if (locality === undefined) return null;
  const more = [...labels, federation.name, 'svc', locality.zone, locality.region];
  // A name of this length cannot exist.
  if (more.join('.').length + 1 + federation.domainWire.length > MAX_NAME_BYTES) return undefined;
  return prependLabels(more, federation.domainWire);
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
class NodeLocality {
  readonly #options: FederationsOptions;
  /** Undefined until a node with both labels was found. */
  locality: Locality | undefined;
  #search: Task | undefined;
  /** The messages logged so far: each try may fail for the same reason. */
  readonly #logged = new Set<string>();

  constructor(options: FederationsOptions) {
    this.#options = options;
  }

  /** Starts the search in the background; does nothing when it is running or has succeeded. */
  start(): void {
    if (this.locality !== undefined || this.#search !== undefined) return;
    this.#search = new Task();
    void this.#run(this.#search);
  }

  /** Ends the search; may be called twice, and `start` begins it again. */
  close(): void {
    this.#search?.abort();
    this.#search = undefined;
  }

  async #run(search: Task): Promise<void> {
    const { log, retryMs = RETRY_MS } = this.#options;
    do {
      try {
        const locality = await this.#find(search.signal);
        if (search.isAborted) return;
        if (locality !== undefined) {
          this.locality = locality;
          this.#search = undefined;
          log.info(`federation: the nodes are in zone ${locality.zone}, region ${locality.region}`);
          return;
        }
        this.#warnOnce('no node is labelled with a zone and a region');
      } catch (error) {
        if (search.isAborted) return;
        this.#warnOnce(`cannot list nodes: ${errorText(error)}`);
      }
    } while (await search.pause(retryMs));
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
    const zone = this.#labelOf(labels, ZONE_LABELS);
    const region = this.#labelOf(labels, REGION_LABELS);
    return zone === undefined || region === undefined ? undefined : { zone, region };
  }

  #labelOf(labels: Record<string, unknown>, names: readonly string[]): string | undefined {
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
