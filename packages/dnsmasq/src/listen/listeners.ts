import { failStartup } from '@kube-dns/daemon';
import { listen, type Listener, ListenError, type ListenOptions } from '@kube-dns/transport';

/** dnsmasq's exit code when it cannot listen, or an interface is missing (src/dnsmasq.h, EC_BADNET). */
export const EXIT_BAD_NETWORK = 2;
/** Every address of both families. */
const EVERYWHERE = '::';
const EVERYWHERE_IPV4 = '0.0.0.0';
/** The error codes of a system without IPv6. */
const NO_IPV6: ReadonlySet<string | undefined> = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL']);

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
  const open = new Map<string, Listener>();
  const wanted = options.addresses.length === 0 ? [EVERYWHERE] : options.addresses;
  const each = async (act: (listener: Listener) => Promise<void>) => {
    await Promise.all([...open.values()].map(act));
  };
  const close = () => each((listener) => listener.close());
  try {
    for (const address of wanted) {
      const port = [...open.values()][0]?.port ?? options.port;
      open.set(...(await listenOn(address, { ...options, port })));
    }
  } catch (error) {
    await close();
    failStartup(error, ListenError, EXIT_BAD_NETWORK);
  }
  const listeners = [...open.values()];
  const leave = () => each((listener) => listener.leave());
  return { port: listeners[0]!.port, listeners, leave, close };
}

/** Also returns the actual address, with the port that was chosen. */
async function listenOn(
  address: string,
  options: ListenersOptions,
): Promise<[address: string, listener: Listener]> {
  try {
    return [address, await listen({ ...options, address })];
  } catch (error) {
    if (address !== EVERYWHERE || !isWithoutIpv6(error)) throw error;
    return [EVERYWHERE_IPV4, await listen({ ...options, address: EVERYWHERE_IPV4 })];
  }
}

function isWithoutIpv6(error: unknown): boolean {
  const { cause } = error as { cause?: NodeJS.ErrnoException };
  return error instanceof ListenError && NO_IPV6.has(cause?.code);
}
