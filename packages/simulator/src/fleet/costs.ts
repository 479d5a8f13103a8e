/**
 * What each piece of work costs a process, in microseconds of its CPU, at 1,000 events a second: by
 * `npm run bench -- fan-out` but for those of connections, which are assumed. README has the figures.
 */
export const COSTS = {
  /** kubedns: an event of the API server, until its names are known as changed. */
  event: 180,
  /** A message to a subscriber. */
  send: 8,
  /** dnsmasq and node-cache: to receive a message, and each of its bytes: a name, which is dropped, has some 30. */
  receive: { message: 100, byte: 0.35 },
  /** The same of one of many subscribers in one process that do nothing with it. */
  crowd: { message: 9, byte: 0 },
  /** To accept a connection. */
  accept: 150,
  /** dnsmasq: to receive a message of a subscriber, and to answer. */
  request: 40,
  /** dnsmasq: a question. */
  question: 7,
};

export type Costs = Readonly<typeof COSTS>;
