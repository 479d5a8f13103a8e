import { networkInterfaces } from 'node:os';
import { errorText } from '@kube-dns/base';
import { CookieSecretFile, type Log } from '@kube-dns/daemon';
import {
  type Answerer,
  type AnswerObserver,
  listen,
  type Listener,
  type ListenOptions,
  type ServerAddress,
  ServerCookies,
  type SessionService,
  type UdpEngine,
} from '@kube-dns/transport';
import { EVERY_ADDRESS } from '@kube-dns/wire';
import { sessionsBehindLocalService } from '../answer/local-service.js';
import { EXIT_BAD_FILE } from '../errors.js';
import type { DnsmasqOptions } from '../options/option-table.js';
import { DynamicListeners, listenAddresses, openListeners, type ServedPort } from './listeners.js';

/** The port that clients query; its addresses are determined before it is open. */
export class DnsPort {
  readonly #options: DnsmasqOptions;
  readonly #engine: UdpEngine;
  readonly #log: Log;
  readonly #observer: AnswerObserver;
  readonly #cookies: ServerCookies;
  readonly #cookieSecrets: CookieSecretFile;
  #addresses: readonly string[] = [];
  #served: ServedPort | undefined;

  /** Throws a StartupError for a bad file of cookie secrets. */
  constructor(options: DnsmasqOptions, engine: UdpEngine, log: Log, observer: AnswerObserver) {
    this.#options = options;
    this.#engine = engine;
    this.#log = log;
    this.#observer = observer;
    this.#cookies = new ServerCookies({ requiredAbove: options.cookieRequiredAbove });
    this.#cookieSecrets = new CookieSecretFile({
      path: options.cookieSecretFile,
      exitCode: EXIT_BAD_FILE,
      cookies: this.#cookies,
      log,
    });
  }

  /** SIGHUP: reads the cookie secrets again. */
  reload(): void {
    this.#cookieSecrets.reload();
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
    this.#cookieSecrets.close();
    await this.#served?.close();
  }
}

interface ServePortOptions extends ServedOpcodes {
  readonly options: DnsmasqOptions;
  /** The result of `listenAddresses` at the start. */
  readonly addresses: readonly string[];
  readonly answerer: Answerer;
  /** Those of all addresses. */
  readonly cookies: ServerCookies;
  readonly observer: AnswerObserver;
  readonly engine: UdpEngine;
  readonly log: Log;
}

/** More than dnsmasq's 20: a connection needs no process here. */
const MAX_TCP_CONNECTIONS = 1_000;

/** Missing interfaces were logged at the start. */
const SILENT: Pick<Log, 'warn'> = { warn: () => undefined };

/** Serves on the addresses that the command line asks for; throws a StartupError with dnsmasq's exit code. */
function servePort({
  options,
  addresses,
  answerer,
  notifies,
  sessions,
  cookies,
  observer,
  engine,
  log,
}: ServePortOptions): Promise<ServedPort> {
  const { port, maxTcpConnections, maxTcpAgeMs, maxUdpBytes, binding, reusesPort } = options;
  const listenOptions: Omit<ListenOptions, 'address'> = {
    answerer,
    notifies,
    sessions,
    cookies,
    observer,
    port,
    maxUdpBytes,
    engine,
    reusesPort,
    tcp: { maxConnections: maxTcpConnections ?? MAX_TCP_CONNECTIONS, maxAgeMs: maxTcpAgeMs },
    onFailure: (error) => log.error(`answering: ${errorText(error)}`),
    onOverload: (text) => log.warn(text),
  };
  // The wildcard socket also serves addresses that are added later.
  const isForAll = addresses.length === 0 && !choosesAddresses(options);
  if (binding !== 'dynamic' || isForAll) return openListeners({ ...listenOptions, addresses });
  return DynamicListeners.start({
    addresses: () => listenAddresses(options, networkInterfaces, SILENT),
    port,
    open: (address, samePort) => listen({ ...listenOptions, address, port: samePort }),
    log,
  });
}

/** Whether it serves on some addresses only, currently maybe none. */
function choosesAddresses({ interfaces, exceptInterfaces }: DnsmasqOptions): boolean {
  return interfaces.length > 0 || exceptInterfaces.length > 0;
}

/** What is served beside queries. */
interface ServedOpcodes {
  /** Undefined where NOTIFY is not implemented. */
  readonly notifies: Answerer | undefined;
  /** Undefined where DNS Stateful Operations are not. */
  readonly sessions: SessionService | undefined;
}

/** What the options allow of it; `subscribers` is undefined where there is nothing to announce. */
export function servedOpcodes(
  options: DnsmasqOptions,
  notifies: Answerer,
  subscribers: SessionService | undefined,
): ServedOpcodes {
  const isAnnouncing = options.announcesChanges && subscribers !== undefined;
  return {
    notifies: options.notifyRules.length > 0 ? notifies : undefined,
    sessions: isAnnouncing
      ? sessionsBehindLocalService(subscribers, options, networkInterfaces())
      : undefined,
  };
}
