/** Counts what a forwarder did; each number only grows. */
export class ForwarderCounters {
  /** Questions forwarded, alone or joined to an equal one in flight. */
  forwarded = 0;
  /** Queries over UDP that made us send a query upstream (dnsmasq's `misses`). */
  sentForUdp = 0;
  /** Queries that joined a question in flight; some of them made us send it again. */
  joined = 0;
  /** Queries refused because too many were in flight. */
  overflows = 0;
  /** Questions that no server answered; the client got SERVFAIL. */
  failures = 0;
}
