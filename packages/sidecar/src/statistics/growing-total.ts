/**
 * A total that never falls, from readings of a counter that starts again at 0 when its process
 * restarts. A reading below the one before it is only the new starting point.
 * After kubernetes/dns pkg/sidecar/metrics.go, dnsmasq's counters.
 */
export class GrowingTotal {
  #previous = 0;
  #total = 0;

  get total(): number {
    return this.#total;
  }

  /** Adds one reading. */
  read(value: number): void {
    if (value > this.#previous) this.#total += value - this.#previous;
    this.#previous = Math.max(value, 0);
  }
}
