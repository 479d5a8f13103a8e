import { AnswerWriter, type Query, RCODE } from '@kube-dns/wire';
import { LOCAL_DOMAIN, NO_SERVERS } from '../explanations.js';
import type { Route } from '../routing/route.js';

/** Answers queries whose route has no servers. */
export class Refusals {
  readonly #writer = new AnswerWriter();

  /** NXDOMAIN in a local domain, else REFUSED; returns the length. */
  answer(query: Query, out: Uint8Array, { isLocal }: Pick<Route, 'isLocal'>): number {
    this.#writer.begin(query, out);
    if (isLocal) this.#writer.setRcode(RCODE.NXDOMAIN, LOCAL_DOMAIN);
    else this.#writer.setRcode(RCODE.REFUSED, NO_SERVERS);
    return this.#writer.finish();
  }
}
