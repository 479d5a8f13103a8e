import type { Client, QueryForwarder, ReplyInspector, ServerGroup } from '@kube-dns/transport';
import type { Query } from '@kube-dns/wire';
import type { EdnsOptions, QueryOptions } from './edns-options.js';
import type { Forwarding } from './forwarding.js';

/** Forwards queries with EDNS options of the configuration (`--add-…`, `--umbrella`). */
export class EdnsForwarder implements Forwarding {
  readonly #forwarder: QueryForwarder;
  readonly #options: EdnsOptions;

  constructor(forwarder: QueryForwarder, options: EdnsOptions) {
    this.#forwarder = forwarder;
    this.#options = options;
  }

  get sentForUdp(): number {
    return this.#forwarder.sentForUdp;
  }

  get refusals(): Forwarding['refusals'] {
    return this.#forwarder.refusals;
  }

  forward(
    query: Query,
    out: Uint8Array,
    client: Client,
    group: ServerGroup,
    inspector: ReplyInspector,
  ): number {
    const options = this.#options.optionsFor(query, client.address);
    const own = this.#inspectorFor(options, inspector);
    return this.#forwarder.forward(query, out, client, group, own, options);
  }

  refresh(query: Query, group: ServerGroup, inspector: ReplyInspector, client: Client): void {
    const options = this.#options.optionsFor(query, client.address);
    const own = this.#inspectorFor(options, inspector);
    this.#forwarder.refresh(query, group, own, client, options);
  }

  /** Ignores replies for another subnet than the query's; caches no reply that is for one client only. */
  #inspectorFor({ isForAll, subnet }: QueryOptions, inspector: ReplyInspector): ReplyInspector {
    return (reply, isCacheable, server, sinceMs) => {
      if (subnet !== undefined && this.#options.isForeign(reply, subnet)) return null;
      return inspector(reply, isCacheable && isForAll, server, sinceMs);
    };
  }
}
