/** Source: kube-apiserver --service-node-port-range. */
const FIRST = 30_000;
const LAST = 32_767;

/** Allocates node ports, each to one service at a time. */
export class NodePortAllocator {
  readonly #used = new Set<number>();

  /** Why a port cannot be allocated, or undefined when it can. */
  refuse(port: number): string | undefined {
    if (port < FIRST || port > LAST) {
      return `provided port is not in the valid range. The range of valid ports is ${FIRST}-${LAST}`;
    }
    return this.#used.has(port) ? 'provided port is already allocated' : undefined;
  }

  /** The first free port that is not in `except`, or undefined when none is left. */
  propose(except: ReadonlySet<number>): number | undefined {
    for (let port = FIRST; port <= LAST; port++) {
      if (!this.#used.has(port) && !except.has(port)) return port;
    }
    return undefined;
  }

  /** Allocates a port. */
  take(port: number): void {
    this.#used.add(port);
  }

  /** Releases a port. */
  release(port: number): void {
    this.#used.delete(port);
  }
}
