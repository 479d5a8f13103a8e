import type { Log } from '@kube-dns/daemon';
import { encodeKey, NameTable } from '@kube-dns/wire';
import type { ApiReader } from '../cluster/api-client.js';
import { type Locality, NodeLocality } from './node-locality.js';

/** A federation: its name is a label of the names that belong to it, its domain where they lead. */
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
  /** How long to wait before nodes are looked at again when none said where it is. */
  readonly retryMs?: number;
}

/** The configured federations and where this cluster is; without federations it asks for nothing. */
export class Federations {
  readonly #nodes: NodeLocality;
  #byLabel = new NameTable<Federation>();

  constructor(options: FederationsOptions) {
    this.#nodes = new NodeLocality(options);
  }

  /** Takes `name → domain`, both valid, in place of what was configured. */
  apply(federations: ReadonlyMap<string, string>): void {
    this.#byLabel = new NameTable();
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

  /** Where the nodes are; undefined until one has said it. */
  get locality(): Locality | undefined {
    return this.#nodes.locality;
  }

  /** Ends what is under way; may be called twice. */
  close(): void {
    this.#nodes.close();
  }
}
