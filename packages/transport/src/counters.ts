import type { CookieState } from './server-cookies.js';

/** What a listener counts, in plain numbers; a scrape reads them. */
export class ListenerCounters {
  udpQueries = 0;
  tcpQueries = 0;
  answers = 0;
  /** Answers by the rcode in their header; refused messages are counted below. */
  readonly rcodes = new Float64Array(16);
  /** Messages that got no reply: shorter than a header, or responses. */
  dropped = 0;
  formErrors = 0;
  notImplemented = 0;
  badVersions = 0;
  /** Queries with a cookie, by what their server cookie was: see CookieState. */
  readonly cookies: Record<CookieState, number> = { good: 0, old: 0, bad: 0, none: 0 };
  /** Queries that got BADCOOKIE; without a cookie, that got TC in place of an answer. */
  badCookies = 0;
  cookieless = 0;
  /** Answers truncated to the client's size, here or by the answerer (which sets TC). */
  truncated = 0;
  /** Errors thrown by the answerer; the client got SERVFAIL. */
  failures = 0;
  /** Answers that the system did not accept. */
  sendErrors = 0;
  /**
   * Datagrams that the system dropped because they did not find room in the socket, and because their client asks more than its
   * part in an overload, which it counts as one: the parts are estimates. Several that came merged count as one.
   */
  droppedFull = 0;
  droppedLimited = 0;
  /** Datagrams that were received, but had waited for too long. */
  droppedOld = 0;
  /** How often more arrived than could be answered. */
  overloads = 0;
  tcpConnections = 0;
  /** Connections that are open now. */
  tcpOpen = 0;
  /** Connections closed because too many were open, or all together used too much memory. */
  tcpRefused = 0;
  /** Connections closed after too long without traffic. */
  tcpIdleClosed = 0;
  /** Connections that were ended for their age. */
  tcpAgeClosed = 0;
}
