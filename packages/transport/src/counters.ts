/** What a listener counts, in plain numbers; a scrape reads them. */
export class ListenerCounters {
  udpQueries = 0;
  tcpQueries = 0;
  answers = 0;
  /** Answers by the rcode in their header; refusals of what is no query are counted below. */
  readonly rcodes = new Float64Array(16);
  /** Messages that got no reply: shorter than a header, or responses. */
  dropped = 0;
  formErrors = 0;
  notImplemented = 0;
  badVersions = 0;
  /** Answers that were cut to the client's size, here or by the answerer (which sets TC). */
  truncated = 0;
  /** Errors thrown by the answerer; the client got SERVFAIL. */
  failures = 0;
  /** Answers that the system did not take. */
  sendErrors = 0;
  tcpConnections = 0;
  /** Connections that are open now. */
  tcpOpen = 0;
  /** Connections closed because too many were open, or all together held too much. */
  tcpRefused = 0;
  /** Connections closed because nothing came or went for too long. */
  tcpIdleClosed = 0;
}
