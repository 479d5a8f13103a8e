import { addFigures } from '@kube-dns/daemon';
import { type Listener, ListenerCounters } from '@kube-dns/transport';
import type { ListenerFigures } from './worker-messages.js';

export interface WorkerListenersOptions {
  readonly open: (address: string) => Promise<Listener>;
  /** An address may be gone again when it is opened (`--bind-dynamic`). */
  readonly mayMiss: boolean;
  /** Told of an address that cannot be served for now. */
  readonly onMissed: (error: unknown) => void;
  /** Told before a socket is closed and after one is opened: descriptors that outlive the thread. */
  readonly onDescriptors: (descriptors: readonly number[]) => void;
}

/** A worker's sockets, one for each address that the leader serves. */
export class WorkerListeners {
  readonly #options: WorkerListenersOptions;
  readonly #open = new Map<string, Listener>();
  #addresses: readonly string[] = [];
  /** What sockets that are closed have counted. */
  #past: ListenerFigures = new ListenerCounters();
  #work: Promise<void> | undefined;

  constructor(options: WorkerListenersOptions) {
    this.#options = options;
  }

  /** What all sockets have counted together. */
  get figures(): ListenerFigures {
    return [...this.#open.values()].reduce(
      (total, { counters }) => addFigures<ListenerFigures>(total, counters),
      this.#past,
    );
  }

  /** These are to be served from now on; once `serve` was called, the sockets follow. */
  setAddresses(addresses: readonly string[]): void {
    this.#addresses = addresses;
    if (this.#work === undefined) return;
    this.#work = this.#work.then(() => this.#follow()).catch(this.#options.onMissed);
  }

  /** Opens the sockets; rejects when one cannot be had, unless it may be missed. */
  serve(): Promise<void> {
    const opened = this.#follow();
    this.#work = opened.catch(() => undefined);
    return opened;
  }

  async close(): Promise<void> {
    this.setAddresses([]);
    await this.#work;
  }

  async #follow(): Promise<void> {
    const { open, mayMiss, onMissed } = this.#options;
    const wanted = new Set(this.#addresses);
    for (const [address, listener] of [...this.#open]) {
      if (wanted.has(address)) continue;
      this.#past = addFigures<ListenerFigures>(this.#past, listener.counters);
      this.#open.delete(address);
      this.#tellDescriptors();
      await listener.close();
    }
    for (const address of wanted) {
      if (this.#open.has(address)) continue;
      try {
        this.#open.set(address, await open(address));
        this.#tellDescriptors();
      } catch (error) {
        if (!mayMiss) throw error;
        onMissed(error);
      }
    }
  }

  #tellDescriptors(): void {
    const descriptors = [...this.#open.values()].map(({ descriptor }) => descriptor);
    this.#options.onDescriptors(descriptors.filter((one) => one !== undefined));
  }
}
