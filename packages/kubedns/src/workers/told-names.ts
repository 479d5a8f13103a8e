import type { ServerAddress } from '@kube-dns/transport';
import { encodeKey, NameTable } from '@kube-dns/wire';
import { findServers } from '../config/upstreams.js';
import { type Federation, federationTable } from '../federation/federations.js';
import type { Locality } from '../federation/node-locality.js';
import type { Facts } from './worker-messages.js';

interface StubDomain {
  readonly servers: readonly ServerAddress[];
}

/** Where names outside the cluster and names of federations lead, as the leader told it last. */
export class ToldNames {
  #defaults: readonly ServerAddress[] = [];
  #stubs = new NameTable<StubDomain>();
  #federations = new NameTable<Federation>();
  #locality: Locality | undefined;

  take({ servers, federations, locality }: Facts): void {
    const stubs = new NameTable<StubDomain>();
    for (const [domain, some] of servers.stubs) stubs.set(encodeKey(domain), { servers: some });
    this.#defaults = servers.defaults;
    this.#stubs = stubs;
    this.#federations = federationTable(federations);
    this.#locality = locality;
  }

  /** As `Upstreams.serversFor`. */
  serversFor(name: Uint8Array, length: number): readonly ServerAddress[] {
    return findServers(this.#defaults, this.#stubs, name, length);
  }

  /** As `Federations` has them. */
  get isActive(): boolean {
    return this.#federations.size > 0;
  }

  find(label: Uint8Array, start: number, end: number): Federation | undefined {
    return this.#federations.get(label, start, end);
  }

  get locality(): Locality | undefined {
    return this.#locality;
  }
}
