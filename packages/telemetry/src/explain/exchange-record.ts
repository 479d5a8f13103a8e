import {
  type ExchangeObserver,
  type FailureReason,
  type ServerAddress,
  serverText,
} from '@kube-dns/transport';
import {
  decodeName,
  expandKey,
  FLAG,
  HEADER_BYTES,
  MAX_NAME_BYTES,
  RCODE_MASK,
  RCODE_NAMES,
  readUint16,
} from '@kube-dns/wire';
import type { ExplainedStep } from './explanation.js';

/** What one server was asked, and what became of it. */
interface Exchange {
  readonly server: string;
  /** Of the first try. */
  readonly sentMs: number;
  /** How often over UDP, and over TCP. */
  udpTimes: number;
  tcpTimes: number;
  /** A reply over UDP was truncated. */
  isCut: boolean;
  /** The last try has not ended. */
  isWaiting: boolean;
  outcome: string;
  /** From the first try until the end of the last one; -1 before one ends. */
  ms: number;
}

const REASONS: Readonly<Record<FailureReason, string>> = {
  timeout: 'it did not reply in time',
  unreachable: 'it cannot be reached: its port is closed, or there is no route to it',
  refused: 'nothing listens there: the port is closed',
  closed: 'it closed the connection',
  certificate: 'its certificate is not valid for its name',
  handshake: 'no TLS handshake came about',
  servfail: 'it replied SERVFAIL',
  refusal: 'it replied REFUSED',
  lame: 'it replied with a referral to other servers and does not ask these itself',
  malformed: 'its reply is malformed',
};

/** Records which servers are asked for some names while these are explained. */
export class ExchangeRecord implements ExchangeObserver {
  readonly #names: Set<string>;
  readonly #exchanges = new Map<string, Exchange>();
  readonly #now: () => number;

  /** The names are lower-cased, in wire form. */
  constructor(names: readonly Uint8Array[], now: () => number = () => performance.now()) {
    this.#names = new Set(names.map((name) => decodeName(name)));
    this.#now = now;
  }

  sent(server: ServerAddress, query: Uint8Array, isOverTcp: boolean): void {
    if (!this.#isAbout(query)) return;
    const text = serverText(server);
    let exchange = this.#exchanges.get(text);
    if (exchange === undefined) {
      const outcome = 'it has not replied';
      exchange = {
        server: text,
        sentMs: this.#now(),
        udpTimes: 0,
        tcpTimes: 0,
        isCut: false,
        isWaiting: true,
        outcome,
        ms: -1,
      };
      this.#exchanges.set(text, exchange);
    }
    exchange.isWaiting = true;
    if (isOverTcp) exchange.tcpTimes++;
    else exchange.udpTimes++;
  }

  replied(
    server: ServerAddress,
    query: Uint8Array,
    reply: Uint8Array,
    isOverTcp: boolean,
    ms: number,
  ): void {
    const known = this.#exchanges.get(serverText(server));
    if (known === undefined || !this.#isAbout(query)) return;
    const flags = readUint16(reply, 2);
    const rcode = flags & RCODE_MASK;
    if (!isOverTcp && (flags & FLAG.TC) !== 0) known.isCut = true;
    known.outcome = `it replied ${RCODE_NAMES[rcode] ?? `RCODE${rcode}`}`;
    known.isWaiting = false;
    known.ms = timesOf(known) === 1 ? ms : this.#now() - known.sentMs;
  }

  failed(server: ServerAddress, query: Uint8Array, reason: FailureReason): void {
    const known = this.#exchanges.get(serverText(server));
    if (known === undefined || !this.#isAbout(query)) return;
    known.outcome = REASONS[reason];
    known.isWaiting = false;
    known.ms = this.#now() - known.sentMs;
  }

  /** A step for each server that was asked, in order. */
  steps(): ExplainedStep[] {
    return [...this.#exchanges.values()].map((exchange) => {
      const { server, sentMs, outcome, isWaiting } = exchange;
      const times = timesOf(exchange);
      const spentMs = isWaiting && exchange.ms >= 0 ? this.#now() - sentMs : exchange.ms;
      const ms = spentMs < 0 ? null : Math.round(spentMs * 10) / 10;
      const inAll = times === 1 ? '' : ' in all';
      const after = ms === null ? '' : ` after ${ms} ms${inAll}`;
      const text = `${server} was asked${howOften(exchange)}: ${outcome}${after}.`;
      const protocol = exchange.tcpTimes > 0 ? 'TCP' : 'UDP';
      return { step: 'server', text, server, times, protocol, outcome, ms };
    });
  }

  #isAbout(query: Uint8Array): boolean {
    const name = new Uint8Array(MAX_NAME_BYTES);
    const length = expandKey(query, HEADER_BYTES, query.length, name);
    return length > 0 && this.#names.has(decodeName(name));
  }
}

function timesOf({ udpTimes, tcpTimes }: Exchange): number {
  return udpTimes + tcpTimes;
}

/** Such as ` over UDP, where its reply was cut (TC), then over TCP`. */
function howOften({ udpTimes, tcpTimes, isCut }: Exchange): string {
  const over = (times: number, protocol: string) =>
    `${times === 1 ? '' : ` ${times} times`} over ${protocol}`;
  if (udpTimes === 0) return over(tcpTimes, 'TCP');
  const cut = isCut ? ', where its reply was cut (TC)' : '';
  const then = tcpTimes === 0 ? '' : `, then${over(tcpTimes, 'TCP')}`;
  return `${over(udpTimes, 'UDP')}${cut}${then}`;
}
