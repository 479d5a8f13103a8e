import type {
  AddedOptions,
  Client,
  ForwarderCounters,
  ReplyInspector,
  ServerGroup,
  StaleAnswer,
} from '@kube-dns/transport';
import type { Query } from '@kube-dns/wire';

/** Sends queries to upstream servers: the `QueryForwarder`, or one that changes or logs what it sends. */
export interface Forwarding {
  /** Queries over UDP that made this send something upstream. */
  readonly counters: Pick<ForwarderCounters, 'sentForUdp'>;
  /** Why the last query was refused: an Extended DNS Error, negative for none. */
  readonly refusals: { readonly last: { readonly code: number } | undefined };
  /** Returns what an Answerer returns. */
  forward(
    query: Query,
    out: Uint8Array,
    client: Client,
    group: ServerGroup,
    inspector: ReplyInspector,
    options: AddedOptions,
    stale?: StaleAnswer,
  ): number;
  /** Sends a query that no client waits for; `client` sent the query that showed the need. False when it is not sent. */
  refresh(
    query: Query,
    group: ServerGroup,
    inspector: ReplyInspector,
    client: Client,
    options: AddedOptions,
    isPrefetch?: boolean,
  ): boolean;
}
