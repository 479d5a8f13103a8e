import type { Closable } from '../owned.js';
import { addressRecords } from './messages.js';
import { ScriptedNameServer } from './scripted-name-server.js';

const TTL_SECONDS = 60;

/**
 * The upstream server of a pod under test, on loopback, so that no query leaves the machine. Every name has
 * the address 192.0.2.1, but those below `invalid`, which do not exist (RFC 6761 section 6.4).
 */
export class LoopbackUpstream implements Closable {
  readonly #server: ScriptedNameServer;

  private constructor(server: ScriptedNameServer) {
    this.#server = server;
  }

  static async start(): Promise<LoopbackUpstream> {
    const server = await ScriptedNameServer.start(({ question }) =>
      /(^|\.)invalid$/i.test(question.name)
        ? { rcode: 'NXDOMAIN' }
        : { answers: addressRecords(TTL_SECONDS, '192.0.2.1') },
    );
    return new LoopbackUpstream(server);
  }

  get port(): number {
    return this.#server.port;
  }

  /** From now on no query is answered. */
  mute(): void {
    this.#server.script = () => null;
  }

  /** May be called twice. */
  close(): Promise<void> {
    return this.#server.close();
  }
}
