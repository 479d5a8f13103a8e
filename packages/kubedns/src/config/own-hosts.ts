import type { Log } from '@kube-dns/daemon';
import type { ZoneHost } from '../answer/zone-hosts.js';

/**
 * The name servers that are given by names of the cluster. They are resolved from the zone, immediately and
 * again when a service changes that they depend on: there is no question and no timer.
 */
export class OwnHosts {
  readonly #resolve: (host: string) => ZoneHost;
  readonly #log: Log;
  #hosts = new Map<string, ZoneHost>();

  constructor(resolve: (host: string) => ZoneHost, log: Log) {
    this.#resolve = resolve;
    this.#log = log;
  }

  /** Follows exactly these names. */
  follow(names: Iterable<string>): void {
    const before = this.#hosts;
    this.#hosts = new Map();
    for (const name of names) this.#set(name, before.get(name));
  }

  /** What a name leads to; undefined for one that is not followed. */
  get(name: string): ZoneHost | undefined {
    return this.#hosts.get(name);
  }

  /** The names outside of the zone that some of them lead to. */
  get targets(): readonly string[] {
    return [...this.#hosts.values()].flatMap(({ target }) => target ?? []);
  }

  /** A service, `namespace/name`, has changed. Returns whether one of the names leads elsewhere now. */
  serviceChanged(key: string): boolean {
    let isChanged = false;
    for (const [name, host] of this.#hosts) {
      if (host.services.includes(key) && this.#set(name, host)) isChanged = true;
    }
    return isChanged;
  }

  #set(name: string, before: ZoneHost | undefined): boolean {
    const host = this.#resolve(name);
    this.#hosts.set(name, host);
    const text = textOf(host);
    if (before !== undefined && textOf(before) === text) return false;
    this.#log.info(`the server ${name} is ${text}`);
    return true;
  }
}

function textOf({ addresses, target }: ZoneHost): string {
  if (target !== undefined) return `an alias of ${target}`;
  return addresses.length === 0 ? 'not in the cluster' : `at ${addresses.join(', ')}`;
}
