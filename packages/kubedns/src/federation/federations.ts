import type { Log } from '@kube-dns/daemon';
import { encodeKey, NameTable } from '@kube-dns/wire';
import type { ApiReader } from '../watch/api-client.js';
import { type Locality, NodeLocality } from './node-locality.js';

/** A federation: its name is a label of its names, its domain is the end of their CNAME targets. */
export interface Federation {
  readonly name: string;
  /** Lower case, without a final dot. */
  readonly domain: string;
  /** The same in wire form. */
  readonly domainWire: Uint8Array;
}

export interface FederationsOptions {
  readonly client: ApiReader;
  readonly log: Log;
  /** Pause before nodes are listed again when none had the labels. */
  readonly retryMs?: number;
}

/** The configured federations, and the zone and region of this cluster; lists nodes only with federations. */
export class Federations {
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

  /** The federation whose name is the label at `start` up to `end`, lower-cased, without its length. */
  find(label: Uint8Array, start: number, end: number): Federation | undefined {
    return this.#byLabel.get(label, start, end);
  }

  /** Zone and region of the nodes; undefined until a node with both labels was found. */
  get locality(): Locality | undefined {
    return this.#nodes.locality;
  }

  /** Ends the search for nodes; may be called twice. */
  close(): void {
    this.#nodes.close();
  }
}
