import { connect as connectTcp, isIP, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { UpstreamTarget } from '../upstream/upstream-sockets.js';
import { nodeTls } from './node-modules.js';
import type { TlsTrust } from './tls-trust.js';

/** What arrives is decrypted into this memory, one TLS record at a time. */
const RECORD = Buffer.allocUnsafeSlow(16_384);

/** Is called with what has arrived, the first bytes of memory that has other content afterwards. */
export type Arrived = (bytes: Buffer, length: number) => void;

/**
 * Begins a handshake with a server. It fails unless the certificate is valid, of a trusted authority and for the
 * server's name. With `onArrived` the socket has no `data` events, whose memory, new for each TLS record, is half of the
 * cost of a reply. Throws when the source is no address.
 */
export function openTls(
  { server, sourceAddress }: UpstreamTarget,
  trust: TlsTrust,
  ticket: Buffer | undefined,
  onArrived?: Arrived,
): TLSSocket {
  const { address, port, encryption } = server;
  const { name, protocol } = encryption!;
  const { connect, checkServerIdentity } = nodeTls();
  const socket = connect({
    host: address,
    port,
    ...(sourceAddress !== undefined && { localAddress: sourceAddress }),
    // An address is not sent (RFC 6066 section 3).
    ...(isIP(name) === 0 && { servername: name.replace(/\.$/, '') }),
    ...(ticket !== undefined && { session: ticket }),
    ALPNProtocols: [protocol === 'tls' ? 'dot' : 'h2'],
    ...(onArrived !== undefined && { onread: { buffer: RECORD, callback: readerOf(onArrived) } }),
    secureContext: trust.context,
    rejectUnauthorized: true,
    checkServerIdentity: (_host, certificate) => checkServerIdentity(name, certificate),
  });
  socket.setNoDelay(true);
  // The process may end while it is open.
  return socket.unref();
}

/** Begins a connection in plain text; as `openTls` else. */
export function openTcp({ server, sourceAddress }: UpstreamTarget, onArrived: Arrived): Socket {
  const socket = connectTcp({
    host: server.address,
    port: server.port,
    ...(sourceAddress !== undefined && { localAddress: sourceAddress }),
    onread: { buffer: RECORD, callback: readerOf(onArrived) },
  });
  return socket.setNoDelay(true).unref();
}

function readerOf(onArrived: Arrived): (length: number) => boolean {
  return (length) => {
    onArrived(RECORD, length);
    return true;
  };
}

/** When the certificate ends, in seconds since 1970; undefined after a short handshake, which has none. */
export function certificateEnd(socket: TLSSocket): number | undefined {
  const end = socket.isSessionReused() ? undefined : socket.getPeerX509Certificate()?.validTo;
  return end === undefined ? undefined : Date.parse(end) / 1_000;
}

/** The code of an error of a connection. */
export function codeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
