import { connect } from 'node:net';
import { frameMessage } from '@kube-dns/transport';
import { encodeQuery } from '@kube-dns/wire';

/** What became of clients that each asked one question over TCP. */
export interface HonestTcpResult {
  readonly asked: number;
  /** Answered within a second. */
  readonly answered: number;
}

/** The methods of honest clients over TCP in their own process. */
export interface HonestTcpMethods {
  /** Connects and asks for these names in turn, so often each second. */
  start(port: number, perSecond: number, names: readonly string[]): void;
  finish(): Promise<HonestTcpResult>;
}

const CLIENT_TIMEOUT_MS = 1_000;
const PREFIX_BYTES = 2;

/** Clients that connect, ask, read the answer and go, as a resolver does after a cut answer. */
export class HonestTcp implements HonestTcpMethods {
  #timer: NodeJS.Timeout | undefined;
  #asked = 0;
  #answered = 0;
  readonly #inFlight = new Set<Promise<void>>();

  start(port: number, perSecond: number, names: readonly string[]): void {
    this.#asked = this.#answered = 0;
    this.#timer = setInterval(() => {
      const name = names[this.#asked++ % names.length]!;
      const asking = this.#ask(port, name).then((isAnswered) => {
        if (isAnswered) this.#answered++;
        this.#inFlight.delete(asking);
      });
      this.#inFlight.add(asking);
    }, 1_000 / perSecond);
  }

  async finish(): Promise<HonestTcpResult> {
    clearInterval(this.#timer);
    await Promise.all(this.#inFlight);
    return { asked: this.#asked, answered: this.#answered };
  }

  #ask(port: number, name: string): Promise<boolean> {
    const query = encodeQuery({ id: 1, name, type: 'A' });
    return new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      let received = 0;
      const done = (isAnswered: boolean) => {
        clearTimeout(timer);
        socket.destroy();
        resolve(isAnswered);
      };
      const timer = setTimeout(() => done(false), CLIENT_TIMEOUT_MS);
      socket.on('connect', () => socket.write(frameMessage(query)));
      socket.on('data', (chunk) => {
        received += chunk.length;
        if (received > PREFIX_BYTES + query.length) done(true);
      });
      socket.on('error', () => done(false));
      socket.on('end', () => done(false));
    });
  }
}
