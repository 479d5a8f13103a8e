import { EXTENDED_ERROR } from '@kube-dns/wire';
import type { ExchangeErrorCode } from '../errors.js';
import { addressText, type ServerAddress } from '../server-address.js';
import { failure } from '../upstream/failure.js';
import type { Unreachable } from '../upstream/server-sockets.js';

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
  UNKNOWN_CA: 'its certificate is not signed by a trusted authority: see --tls-ca',
  NO_TLS: 'it does not speak TLS on this port: correct the port',
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
