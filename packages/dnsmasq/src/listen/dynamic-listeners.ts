import { errorText } from '@kube-dns/base';
import { failStartup, type Log } from '@kube-dns/daemon';
import { type Listener, ListenError } from '@kube-dns/transport';
import { EXIT_BAD_NETWORK, type ServedPort } from './listeners.js';

export interface DynamicListenersOptions {
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
