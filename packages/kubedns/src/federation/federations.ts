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
  /** Told when it has become known where this cluster is. */
  readonly onLocality?: () => void;
}

/** The configured federations and where this cluster is; without federations it asks for nothing. */
export class Federations {
  readonly #nodes: NodeLocality;
  #configured: ReadonlyMap<string, string> = new Map<string, string>();
  #byLabel = federationTable(this.#configured);

  constructor(options: FederationsOptions) {
    this.#nodes = new NodeLocality(options);
  }

  /** Takes `name → domain`, both valid, in place of what was configured. */
  apply(federations: ReadonlyMap<string, string>): void {
    this.#configured = federations;
    this.#byLabel = federationTable(federations);
    if (this.isActive) this.#nodes.start();
    else this.#nodes.close();
  }

  /** `name → domain`, as they were applied. */
  get configured(): ReadonlyMap<string, string> {
    return this.#configured;
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

/** Federations by their names, from `name → domain`, both valid. */
export function federationTable(federations: ReadonlyMap<string, string>): NameTable<Federation> {
  const byLabel = new NameTable<Federation>();
  for (const [name, domain] of federations) {
    byLabel.set(Buffer.from(name), { name, domain, domainWire: encodeKey(domain) });
  }
  return byLabel;
}
