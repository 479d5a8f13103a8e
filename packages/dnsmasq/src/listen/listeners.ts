import { failStartup } from '@kube-dns/daemon';
import { listen, type Listener, ListenError, type ListenOptions } from '@kube-dns/transport';
import { EVERY_ADDRESS } from '@kube-dns/wire';

/** dnsmasq's exit code when it cannot listen, or an interface is missing (src/dnsmasq.h, EC_BADNET). */
export const EXIT_BAD_NETWORK = 2;

/** One port on all served addresses. */
export interface ServedPort {
  readonly port: number;
  /** The open listeners, for their counters. */
  readonly listeners: readonly Listener[];
  /** As of a `Listener`, all of them. */
  leave(): Promise<void>;
  close(): Promise<void>;
}

export interface ListenersOptions extends Omit<ListenOptions, 'address'> {
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
