import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { formatHostPort, systemReason } from '@kube-dns/base';
import { bindAddress } from '@kube-dns/wire';
import { StartupError } from './errors.js';

/** Where a server listens, and what for. */
export interface ListenAddress {
  /**
   * An IP literal (IPv6 with or without brackets) or a host name of this machine; empty, `0.0.0.0` and `::` are every
   * address of both families, or of IPv4 alone where the system has no IPv6.
   */
  readonly host: string;
  readonly port: number;
  /** What it serves, as messages name it: `metrics`. */
  readonly purpose: string;
}

/** The exit code of the Go programs when they cannot serve HTTP (klog's Fatal). */
const EXIT_CANNOT_LISTEN = 255;

/** Listens; returns the port. Rejects with a StartupError that names the purpose, the address and the reason. */
export async function listenTcp(server: Server, address: ListenAddress): Promise<number> {
  const { host, port, purpose } = address;
  try {
    server.listen({ host: bindAddress(host), port });
    await once(server, 'listening'); // rejects on 'error'
  } catch (error) {
    // Without a host, as Go's `:53`: every address.
    const where = formatHostPort({ host: bindAddress(host), port });
    throw new StartupError(
      `${purpose}: cannot listen on ${where}: ${systemReason(error)}`,
      EXIT_CANNOT_LISTEN,
      { cause: error },
    );
  }
  return (server.address() as AddressInfo).port; // listening on TCP, so never a path
}
