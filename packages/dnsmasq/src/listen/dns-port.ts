import { networkInterfaces } from 'node:os';
import { CookieSecretFile, type Log } from '@kube-dns/daemon';
import {
  type Answerer,
  type AnswerObserver,
  type Listener,
  type ServerAddress,
  ServerCookies,
  type UdpEngine,
} from '@kube-dns/transport';
import { EVERY_ADDRESS } from '@kube-dns/wire';
import { EXIT_BAD_FILE } from '../errors.js';
import type { DnsmasqOptions } from '../options/option-table.js';
import { listenAddresses } from './listen-addresses.js';
import type { ServedPort } from './listeners.js';
import type { ServedOpcodes } from './served-opcodes.js';
import { servePort } from './served-port.js';

/** The port that clients query; its addresses are determined before it is open. */
export class DnsPort {
  readonly #options: DnsmasqOptions;
  readonly #engine: UdpEngine;
  readonly #log: Log;
  readonly #observer: AnswerObserver;
  readonly #cookies: ServerCookies;
  readonly #cookieSecrets: CookieSecretFile | undefined;
  #addresses: readonly string[] = [];
  #served: ServedPort | undefined;

  /** Throws a StartupError for a bad file of cookie secrets. */
  constructor(options: DnsmasqOptions, engine: UdpEngine, log: Log, observer: AnswerObserver) {
    this.#options = options;
    this.#engine = engine;
    this.#log = log;
    this.#observer = observer;
    const { cookieSecretFile: path, cookieRequiredAbove: requiredAbove } = options;
    this.#cookies = new ServerCookies({ requiredAbove });
    if (path === '') return;
    this.#cookieSecrets = new CookieSecretFile({
      path,
      exitCode: EXIT_BAD_FILE,
      log,
      onChange: (secrets) => this.#cookies.use(secrets),
    });
  }

  /** SIGHUP: reads the cookie secrets again. */
  reload(): void {
    this.#cookieSecrets?.reload();
  }

  /** Finds the addresses to serve on, before `open`; throws a StartupError for a missing interface. */
  findAddresses(): void {
    this.#addresses = listenAddresses(this.#options, networkInterfaces, this.#log);
  }

  /** Listens; throws a StartupError with dnsmasq's exit codes. */
  async open(answerer: Answerer, others: ServedOpcodes): Promise<void> {
    this.#served = await servePort({
      options: this.#options,
      addresses: this.#addresses,
      answerer,
      ...others,
      cookies: this.#cookies,
      observer: this.#observer,
      engine: this.#engine,
      log: this.#log,
    });
    this.#log.info(`serving on port ${this.#served.port}`);
  }

  /** The open listeners. */
  get listeners(): readonly Listener[] {
    return this.#served?.listeners ?? [];
  }

  /** Where this server listens, or will listen: it must not forward to itself. */
  get ownAddresses(): readonly ServerAddress[] {
    const { listenAddresses } = this.#options;
    const port = this.#served?.port ?? this.#options.port;
    if (port === 0) return [];
    const addresses = listenAddresses.length === 0 ? [EVERY_ADDRESS] : listenAddresses;
    return addresses.map((address) => ({ address, port }));
  }

  /** As of a `Listener`. */
  async leave(): Promise<void> {
    await this.#served?.leave();
  }

  /** May be called twice. */
  async close(): Promise<void> {
    this.#cookieSecrets?.close();
    await this.#served?.close();
  }
}
