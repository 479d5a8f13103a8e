import type { NetworkInterfaceInfo } from 'node:os';
import { errorText } from '@kube-dns/base';
import { failStartup, type Log, StartupError } from '@kube-dns/daemon';
import { listen, type Listener, ListenError, type ListenOptions } from '@kube-dns/transport';
import { EVERY_ADDRESS } from '@kube-dns/wire';
import type { DnsmasqOptions } from '../options/option-table.js';

/** dnsmasq's exit code when it cannot listen, or an interface is missing (src/dnsmasq.h, EC_BADNET). */
const EXIT_BAD_NETWORK = 2;

/** One port on all served addresses. */
export interface ServedPort {
  readonly port: number;
  /** The open listeners, for their counters. */
  readonly listeners: readonly Listener[];
  /** As of a `Listener`, all of them. */
  leave(): Promise<void>;
  close(): Promise<void>;
}

interface ListenersOptions extends Omit<ListenOptions, 'address'> {
  /** None means every address. */
  readonly addresses: readonly string[];
}

/**
 * Serves on one port of several addresses; port 0 takes a free one, the same for all. Throws a
 * StartupError with dnsmasq's exit code, and nothing stays open then.
 */
export async function openListeners(options: ListenersOptions): Promise<ServedPort> {
  const listeners: Listener[] = [];
  const wanted = options.addresses.length === 0 ? [EVERY_ADDRESS] : options.addresses;
  const each = async (act: (listener: Listener) => Promise<void>) => {
    await Promise.all(listeners.map(act));
  };
  const close = () => each((listener) => listener.close());
  try {
    for (const address of wanted) {
      const port = listeners[0]?.port ?? options.port;
      listeners.push(await listen({ ...options, address, port }));
    }
  } catch (error) {
    await close();
    failStartup(error, ListenError, EXIT_BAD_NETWORK);
  }
  const leave = () => each((listener) => listener.leave());
  return { port: listeners[0]!.port, listeners, leave, close };
}

export type Interfaces = NodeJS.Dict<NetworkInterfaceInfo[]>;

type AddressOptions = Pick<
  DnsmasqOptions,
  'binding' | 'exceptInterfaces' | 'interfaces' | 'listenAddresses'
>;

/**
 * The addresses to serve on: those of `--listen-address`, of the interfaces of `--interface` with
 * loopback, or of all interfaces but those of `--except-interface`. None means every address, also those
 * added later. With `--bind-interfaces` throws a StartupError for a missing interface.
 */
export function listenAddresses(
  options: AddressOptions,
  readInterfaces: () => Interfaces,
  log: Pick<Log, 'warn'>,
): readonly string[] {
  const { binding, exceptInterfaces, interfaces: wanted } = options;
  if (wanted.length === 0 && exceptInterfaces.length === 0) return options.listenAddresses;
  const interfaces = readInterfaces();
  const names = Object.keys(interfaces);
  for (const pattern of wanted) {
    if (names.some((name) => isNamed(name, pattern))) continue;
    if (binding === 'interfaces') {
      throw new StartupError(`unknown interface ${pattern}`, EXIT_BAD_NETWORK);
    }
    log.warn(`interface ${pattern} does not currently exist`);
  }
  const served = names.filter((name) => {
    if (exceptInterfaces.some((pattern) => isNamed(name, pattern))) return false;
    const isLoopback = interfaces[name]!.every(({ internal }) => internal);
    if (wanted.length > 0) return isLoopback || wanted.some((pattern) => isNamed(name, pattern));
    return options.listenAddresses.length === 0;
  });
  const addresses = served.flatMap((name) => interfaces[name]!.map((one) => addressOn(name, one)));
  return [...new Set([...options.listenAddresses, ...addresses])];
}

/** A link-local address is useless without its interface. */
function addressOn(name: string, { address, family }: NetworkInterfaceInfo): string {
  return family === 'IPv6' && /^fe[89ab]/i.test(address) ? `${address}%${name}` : address;
}

function isNamed(name: string, pattern: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

interface DynamicListenersOptions {
  /** The addresses to serve on now. */
  readonly addresses: () => readonly string[];
  /** The port of all of them; 0 takes a free one. */
  readonly port: number;
  readonly open: (address: string, port: number) => Promise<Listener>;
  readonly log: Log;
  /** How often the addresses are checked; a few seconds unless given. */
  readonly periodMs?: number;
}

const PERIOD_MS = 5_000;

/**
 * Serves on the machine's addresses, one socket each, and follows added and removed ones
 * (`--bind-dynamic`). An address that cannot be served is retried.
 */
export class DynamicListeners implements ServedPort {
  readonly #options: DynamicListenersOptions;
  readonly #open = new Map<string, Listener>();
  /** Addresses that could not be served; each is logged once. */
  readonly #failing = new Set<string>();
  #port: number;
  #timer: NodeJS.Timeout | undefined;
  #following: Promise<void> | undefined;
  #isClosed = false;

  private constructor(options: DynamicListenersOptions) {
    this.#options = options;
    this.#port = options.port;
  }

  /** Throws a StartupError for an address that another program serves; nothing stays open then. */
  static async start(options: DynamicListenersOptions): Promise<DynamicListeners> {
    const listeners = new DynamicListeners(options);
    try {
      for (const address of options.addresses()) await listeners.#serve(address);
    } catch (error) {
      await listeners.close();
      failStartup(error, ListenError, EXIT_BAD_NETWORK);
    }
    const period = options.periodMs ?? PERIOD_MS;
    listeners.#timer = setInterval(() => listeners.#follow(), period).unref();
    return listeners;
  }

  get port(): number {
    return this.#port;
  }

  get listeners(): readonly Listener[] {
    return [...this.#open.values()];
  }

  async leave(): Promise<void> {
    await this.#stopFollowing();
    await Promise.all(this.listeners.map((listener) => listener.leave()));
  }

  async close(): Promise<void> {
    await this.#stopFollowing();
    const listeners = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(listeners.map((listener) => listener.close()));
  }

  async #stopFollowing(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#following;
  }

  #follow(): void {
    this.#following ??= this.#update()
      .catch((error: unknown) => this.#options.log.error(`--bind-dynamic: ${errorText(error)}`))
      .finally(() => {
        this.#following = undefined;
      });
  }

  async #update(): Promise<void> {
    const { log } = this.#options;
    const wanted = new Set(this.#options.addresses());
    for (const [address, listener] of [...this.#open]) {
      if (wanted.has(address)) continue;
      this.#open.delete(address);
      await listener.close();
      log.info(`stopped listening on ${address}`);
    }
    for (const address of this.#failing) if (!wanted.has(address)) this.#failing.delete(address);
    for (const address of wanted) {
      if (this.#isClosed) return;
      if (this.#open.has(address)) continue;
      try {
        if (await this.#serve(address)) log.info(`listening on ${address}`);
      } catch (error) {
        this.#sayFailing(address, error);
      }
    }
  }

  /** False for a missing address; rejects with a ListenError for any other reason. */
  async #serve(address: string): Promise<boolean> {
    try {
      const listener = await this.#options.open(address, this.#port);
      this.#port = listener.port;
      this.#failing.delete(address);
      this.#open.set(address, listener);
      return true;
    } catch (error) {
      if (!isMissing(error)) throw error;
      this.#sayFailing(address, error);
      return false;
    }
  }

  #sayFailing(address: string, error: unknown): void {
    if (!this.#failing.has(address)) this.#options.log.warn(errorText(error));
    this.#failing.add(address);
  }
}

function isMissing(error: unknown): boolean {
  const { cause } = error as { cause?: NodeJS.ErrnoException };
  return error instanceof ListenError && cause?.code === 'EADDRNOTAVAIL';
}
