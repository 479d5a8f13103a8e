import { errorText, systemReason } from '@kube-dns/base';

/** What OpenSSL says, by its version, of an answer that is no TLS. */
const NO_TLS = /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)$/;

/**
 * Why a request to an API server failed, where Node's text does not say it: the server does not speak TLS, or the
 * program that a kubeconfig names for credentials cannot be started. Otherwise `otherwise` says it.
 */
export function connectionReason(error: unknown, otherwise = errorText): string {
  const { code = '', syscall = '', path = '' } = Object(error) as Partial<NodeJS.ErrnoException>;
  if (
    NO_TLS.test(code) ||
    (code === 'EPROTO' && errorText(error).includes('wrong version number'))
  ) {
    return 'the server does not speak TLS: use http://';
  }
  if (!syscall.startsWith('spawn')) return otherwise(error);
  return `cannot run ${path}, which the kubeconfig names for credentials: ${systemReason(error)}`;
}
