import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

import { QueryError } from './errors.js';

/** Finds one address of a host name. */
export type Lookup = (host: string) => Promise<string>;

/** IPv4 first: `localhost` is often ::1 before 127.0.0.1, and a server may listen on 127.0.0.1 alone. */
const systemLookup: Lookup = async (host) => (await lookup(host, { order: 'ipv4first' })).address;

/**
 * Resolves host names, again at each call. A look-up cannot be canceled, and while one is slow every
 * probe would start another, so each name has at most one look-up in progress.
 */
export class HostResolver {
  readonly #lookup: Lookup;
  readonly #pending = new Map<string, Promise<string>>();

  constructor(lookup: Lookup = systemLookup) {
    this.#lookup = lookup;
  }

  /** The address of `host`; rejects with a QueryError. An IP literal is its own address. */
  async resolve(host: string): Promise<string> {
    if (isIP(host) !== 0) return host;
    let pending = this.#pending.get(host);
    if (pending === undefined) {
      pending = this.#lookup(host).finally(() => this.#pending.delete(host));
      this.#pending.set(host, pending);
    }
    try {
      return await pending;
    } catch (cause) {
      throw new QueryError(`cannot resolve ${host}`, { cause });
    }
  }
}
