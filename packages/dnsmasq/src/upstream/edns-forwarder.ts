import type { Client, ReplyInspector, ServerGroup } from '@kube-dns/transport';
import type { Query } from '@kube-dns/wire';
import type { ChangedQuery, EdnsOptions } from './edns-options.js';
import type { Forwarding } from './forwarding.js';

/** Forwards queries with changed EDNS options (`--add-…`, `--strip-…`). */
export class EdnsForwarder implements Forwarding {
  readonly #forwarder: Forwarding;
  readonly #options: EdnsOptions;

  constructor(forwarder: Forwarding, options: EdnsOptions) {
    this.#forwarder = forwarder;
    this.#options = options;
  }

  get sentForUdp(): number {
    return this.#forwarder.sentForUdp;
  }

  forward(
    query: Query,
    out: Uint8Array,
    client: Client,
    group: ServerGroup,
    inspector: ReplyInspector,
  ): number {
    const changed = this.#options.apply(query, client.address);
    const changedInspector = this.#inspectorFor(changed, inspector);
    return this.#forwarder.forward(changed.query, out, client, group, changedInspector);
  }

  refresh(query: Query, group: ServerGroup, inspector: ReplyInspector, client: Client): void {
    const changed = this.#options.apply(query, client.address);
    const changedInspector = this.#inspectorFor(changed, inspector);
    this.#forwarder.refresh(changed.query, group, changedInspector, client);
  }

  /** Ignores replies for another subnet than the query's; caches no reply that is for one client only. */
  #inspectorFor({ isForAll, subnet }: ChangedQuery, inspector: ReplyInspector): ReplyInspector {
    return (reply, isCacheable) => {
      if (subnet !== undefined && this.#options.isForeign(reply, subnet)) return null;
      return inspector(reply, isCacheable && isForAll);
    };
  }
}
