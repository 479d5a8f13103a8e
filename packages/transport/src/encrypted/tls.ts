import { X509Certificate } from 'node:crypto';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import type { SecureContext, TLSSocket } from 'node:tls';
import { TLS_CLIENT } from '@kube-dns/base';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import type { ExchangeErrorCode } from '../errors.js';
import { failure } from '../forward/failure.js';
import type { Unreachable, UpstreamTarget } from '../forward/server-sockets.js';
import { addressText, type ServerAddress } from '../server-address.js';

/** Loaded with the first encrypted server: with node:http2 it takes 12 MiB (RSS). */
const nodeTls = () => process.getBuiltinModule('node:tls');
/** What arrives is decrypted into this memory, one TLS record at a time. */
const RECORD = Buffer.allocUnsafeSlow(16_384);
let bySystem: SecureContext | undefined;

/** Whose certificates are accepted. Reading the system's takes some 100 ms: that is done once, and only where a server is encrypted. */
export class TlsTrust {
  readonly #own: SecureContext | undefined;

  /** The authorities as PEM text; those of the system without it. Throws for a text without a certificate. */
  constructor(authorities?: string) {
    if (authorities === undefined) return;
    new X509Certificate(authorities);
    this.#own = nodeTls().createSecureContext({ ...TLS_CLIENT, ca: authorities });
  }

  /** Reads the certificates at the first call, which should be before clients wait for a handshake. */
  load(): SecureContext {
    return this.#own ?? (bySystem ??= systemContext());
  }
}

function systemContext(): SecureContext {
  const { createSecureContext, getCACertificates } = nodeTls();
  const ca = getCACertificates('system');
  // A system without certificates: those that Node brings.
  return createSecureContext({ ...TLS_CLIENT, ...(ca.length > 0 && { ca }) });
}

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
    secureContext: trust.load(),
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

/** The codes of Node and OpenSSL that are long, or say the same, in the words of the texts of plain servers. */
const SHORT: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'CERT_ALTNAME_INVALID',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'SELF_SIGNED_CERT',
  SELF_SIGNED_CERT_IN_CHAIN: 'SELF_SIGNED_CERT',
  UNABLE_TO_GET_ISSUER_CERT: 'UNKNOWN_CA',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'UNKNOWN_CA',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'UNKNOWN_CA',
  ERR_SSL_WRONG_VERSION_NUMBER: 'NO_TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'NO_TLS',
  ECONNREFUSED: 'port closed',
  ECONNRESET: 'connection closed',
  CLOSED: 'connection closed',
  ETIMEDOUT: 'timeout',
  SILENT: 'timeout',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  // As OpenSSL 3.0, and later ones, say it.
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: 'NO_COMMON_CIPHER',
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE': 'NO_COMMON_CIPHER',
};
/** How the codes of a certificate that must not be used begin. */
const OF_CERTIFICATE =
  /^(CERT_|CRL_|INVALID_|SELF_SIGNED_|UNKNOWN_CA|UNABLE_TO_|PATH_LENGTH_|ERROR_IN_CERT_|HOSTNAME_)/;
const CODES: Readonly<Record<string, ExchangeErrorCode>> = {
  ECONNREFUSED: 'refused',
  ETIMEDOUT: 'timeout',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  EMFILE: 'unreachable',
  ERR_INVALID_ARG_VALUE: 'unreachable',
  ERR_INVALID_IP_ADDRESS: 'unreachable',
};
/** What to do, for the log. */
const ADVICE: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired: renew it, or set the clock of this machine',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet: set the clock of this machine',
  CERT_ALTNAME_INVALID:
    'its certificate has another name: correct the name of the server here, or its certificate',
  SELF_SIGNED_CERT: 'its certificate is not signed by a trusted authority: see --tls-ca',
  UNKNOWN_CA:
    'its certificate is not signed by a trusted authority, with three certificates between them at most: see --tls-ca',
  NO_TLS: 'it does not speak TLS on this port: correct the port',
  NO_COMMON_CIPHER:
    'it has neither TLS 1.3 nor TLS 1.2 with ECDHE and AES-GCM or ChaCha20: enable one of them there',
  FLOOD: 'it sends much that is no reply: it is broken, or hostile, and is not asked for 30 s',
  SLOW_HANDSHAKE:
    'its handshake took more than 50 ms of CPU: it is broken, or hostile, and is not asked for 30 s',
};
/** RFC 8914 texts are cut at this length. */
const MAX_TEXT = 40;

/** Why a connection to a server could not be opened, or has ended, by the code of the error. */
export function tlsFailure(server: ServerAddress, error: string, wasOpen: boolean): Unreachable {
  const cause = SHORT[error] ?? error.replace(/^ERR_(SSL_|TLS_)?(TLSV1_|SSLV3_)?/, '');
  const isCertificate = !wasOpen && OF_CERTIFICATE.test(cause);
  const atOpening = isCertificate ? 'certificate' : (CODES[error] ?? 'handshake');
  const text = failureText(server, cause);
  return {
    code: wasOpen ? 'closed' : atOpening,
    failure: failure(EXTENDED_ERROR.NETWORK_ERROR, text, true),
    text: ADVICE[cause] === undefined ? cause : `${ADVICE[cause]} (${cause})`,
  };
}

/** Cause and server, as much of the server as there is space for: no half of a port. */
function failureText(server: ServerAddress, cause: string): string {
  const full = `${cause} ${addressText(server)}`;
  return full.length <= MAX_TEXT ? full : `${cause} ${server.address}`;
}
