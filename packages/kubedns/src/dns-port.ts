import { errorText } from '@kube-dns/base';
import { CookieSecretFile, failStartup, type Log } from '@kube-dns/daemon';
import {
  type Answerer,
  type AnswerObserver,
  listen,
  type Listener,
  ListenError,
  type ServerAddress,
  ServerCookies,
  type SessionService,
  type UdpEngine,
} from '@kube-dns/transport';
import { bindAddress } from '@kube-dns/wire';
import type { KubednsFlags } from './config/flags.js';

const EXIT_CANNOT_BIND = 1;
const EXIT_FATAL = 255;

/** The port that clients query, with its cookies. What answers there is known when it is opened. */
export class DnsPort {
  readonly #flags: KubednsFlags;
  readonly #engine: UdpEngine;
  readonly #log: Log;
  readonly #observer: AnswerObserver;
  readonly #cookies: ServerCookies;
  readonly #cookieSecrets: CookieSecretFile;
  #listener: Listener | undefined;

  /** Throws a StartupError for a bad file of cookie secrets. */
  constructor(flags: KubednsFlags, engine: UdpEngine, log: Log, observer: AnswerObserver) {
    this.#flags = flags;
    this.#engine = engine;
    this.#log = log;
    this.#observer = observer;
    this.#cookies = new ServerCookies({ requiredAbove: flags['require-cookie'] });
    this.#cookieSecrets = new CookieSecretFile({
      path: flags['cookie-secret-file'],
      exitCode: EXIT_FATAL,
      cookies: this.#cookies,
      log,
    });
  }

  /** Throws a StartupError for an address that cannot be listened on. */
  async open(answerer: Answerer, sessions: SessionService): Promise<void> {
    const {
      domain,
      'dns-port': port,
      'reuse-port': reusesPort,
      'tcp-max-age': maxAgeMs,
    } = this.#flags;
    try {
      this.#listener = await listen({
        answerer,
        address: this.#bindAddress,
        port,
        reusesPort,
        engine: this.#engine,
        tcp: { maxAgeMs },
        sessions,
        cookies: this.#cookies,
        observer: this.#observer,
        onFailure: (error) => this.#log.error(`answering: ${errorText(error)}`),
        onOverload: (text) => this.#log.warn(text),
      });
    } catch (error) {
      failStartup(error, ListenError, EXIT_CANNOT_BIND);
    }
    this.#log.info(`serving ${domain} on port ${this.#listener.port}`);
  }

  get isOpen(): boolean {
    return this.#listener !== undefined;
  }

  /** None until it is open. */
  get listeners(): readonly Listener[] {
    return this.#listener === undefined ? [] : [this.#listener];
  }

  /** Where this server listens; nowhere until it is open. */
  get ownAddresses(): readonly ServerAddress[] {
    return this.listeners.map(({ port }) => ({ address: this.#bindAddress, port }));
  }

  /** SIGHUP: reads the cookie secrets again. */
  reload(): void {
    this.#cookieSecrets.reload();
  }

  /** May be called twice. */
  async close(): Promise<void> {
    this.#cookieSecrets.close();
    await this.#listener?.leave();
    await this.#listener?.close();
  }

  get #bindAddress(): string {
    return bindAddress(this.#flags['dns-bind-address']);
  }
}
