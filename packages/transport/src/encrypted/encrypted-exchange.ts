import { ExchangeError, type ExchangeErrorCode } from '../errors.js';
import type { Exchange, ExchangeDone } from '../exchange.js';
import type { ReplyHandler, SentQuery, Unreachable } from '../forward/server-sockets.js';
import type { UpstreamServer } from '../forward/upstream-servers.js';

/** Asks an encrypted server once, as `exchange` asks a plain one. */
export function exchangeEncrypted(
  server: UpstreamServer,
  query: Buffer,
  timeoutMs: number,
  done: ExchangeDone,
): Exchange {
  const outcome = new Outcome(server, timeoutMs, done);
  outcome.start(query);
  return outcome;
}

class Outcome implements ReplyHandler, Exchange {
  readonly #server: UpstreamServer;
  readonly #done: ExchangeDone;
  readonly #timer: NodeJS.Timeout;
  #sent: SentQuery | undefined;
  #isOver = false;

  constructor(server: UpstreamServer, timeoutMs: number, done: ExchangeDone) {
    this.#server = server;
    this.#done = done;
    this.#timer = setTimeout(() => this.#fail('timeout', 'no reply in time'), timeoutMs);
  }

  start(query: Buffer): void {
    this.#sent = this.#server.sockets.send(query, this);
    if (this.#sent === undefined) {
      setImmediate(() => this.#fail('unreachable', 'too many queries wait'));
    }
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#sent?.socket.forget(this.#sent);
    this.#isOver = true;
  }

  onReply(_sent: SentQuery, reply: Buffer): void {
    if (this.#isOver) return;
    this.cancel();
    this.#done(null, reply);
  }

  onUnreachable(_sent: SentQuery, why?: Unreachable): void {
    this.#fail(why?.code ?? 'unreachable', why?.text ?? 'unreachable');
  }

  #fail(code: ExchangeErrorCode, reason: string): void {
    if (this.#isOver) return;
    this.cancel();
    this.#done(new ExchangeError(code, `${this.#server.text}: ${reason}`), null);
  }
}
