import type {
  AddedOptions,
  Client,
  QueryForwarder,
  ReplyInspector,
  ServerGroup,
  StaleAnswer,
} from '@kube-dns/transport';
import type { Query } from '@kube-dns/wire';
import type { EdnsOptions, QueryOptions } from './edns-options.js';
import type { Forwarding } from '@kube-dns/resolver';

/** Forwards queries with EDNS options of the configuration (`--add-…`, `--umbrella`). */
export class EdnsForwarder implements Forwarding {
  readonly #forwarder: QueryForwarder;
  readonly #options: EdnsOptions;

  constructor(forwarder: QueryForwarder, options: EdnsOptions) {
    this.#forwarder = forwarder;
    this.#options = options;
  }

  get counters(): Forwarding['counters'] {
    return this.#forwarder.counters;
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
    added: AddedOptions,
    stale?: StaleAnswer,
  ): number {
    const options = this.#optionsFor(query, client, added);
    const own = this.#inspectorFor(options, inspector);
    return this.#forwarder.forward(query, out, client, group, own, options, stale);
  }

  refresh(
    query: Query,
    group: ServerGroup,
    inspector: ReplyInspector,
    client: Client,
    added: AddedOptions,
    isPrefetch?: boolean,
  ): boolean {
    const options = this.#optionsFor(query, client, added);
    const own = this.#inspectorFor(options, inspector);
    return this.#forwarder.refresh(query, group, own, client, options, isPrefetch);
  }

  #optionsFor(query: Query, { address }: Client, { bytes }: AddedOptions): QueryOptions {
    const options = this.#options.optionsFor(query, address);
    if (bytes.length === 0) return options;
    return { ...options, bytes: Buffer.concat([bytes, options.bytes]) };
  }

  /** Ignores replies for another subnet than the query's; caches no reply that is for one client only. */
  #inspectorFor({ isForAll, subnet }: QueryOptions, inspector: ReplyInspector): ReplyInspector {
    return (reply, isCacheable, outline) => {
      if (subnet !== undefined && this.#options.isForeign(reply, subnet)) return null;
      return inspector(reply, isCacheable && isForAll, outline);
    };
  }
}
