import { isIP } from 'node:net';
import { errorText, parseHostPort } from '@kube-dns/base';
import { parseEncryptedServer } from '@kube-dns/daemon';
import type { ForwardTarget } from './server-block.js';

/** What the original writes for the address of a service that it does not find; here it is not known yet. */
export const UNKNOWN_ADDRESS = '<nil>';

const DNS_PORT = 53;
/** The only path that CoreDNS asks over HTTPS (coredns plugin/pkg/doh). */
const DOH_PATH = '/dns-query';

/**
 * A target of `forward` as parseEncryptedServer takes it: CoreDNS has the certificate's name inside the brackets of
 * IPv6, and no path.
 */
export function plainTarget(target: string): string {
  const turned = target.replace(/^(tls:\/\/)\[([^\]%]*)%([^\]]*)\](.*)$/, '$1[$2]$4%$3');
  const isHttps = turned.startsWith('https://') && !turned.slice('https://'.length).includes('/');
  return isHttps ? `${turned}${DOH_PATH}` : turned;
}

/** Reads a target of `forward`; `tlsName` is that of `tls_servername`, or empty. Throws with the reason. */
export function readForwardTarget(text: string, tlsName: string): ForwardTarget {
  if (text.startsWith('/')) return { resolvFile: text };
  const address = text.replace(/^dns:\/\//, '');
  const encrypted = parseEncryptedServer(plainTarget(address));
  if (encrypted === undefined) return { ...readPlain(address), encryption: undefined };
  const { host, port, encryption } = encrypted;
  if (isIP(host) === 0) throw new Error(`${host} is a name: write its IP address`);
  if (tlsName === '') return { address: host, port, encryption };
  if (encryption.name !== host) throw new Error('it has a name, and tls_servername is another');
  return { address: host, port, encryption: { ...encryption, name: tlsName } };
}

function readPlain(text: string): { address: string; port: number } {
  let parsed;
  try {
    parsed = parseHostPort(text);
  } catch (error) {
    throw new Error(`not an IP address or file: ${errorText(error)}`, { cause: error });
  }
  const { host, port } = parsed;
  if (isIP(host) === 0)
    throw new Error('not an IP address or file: write the path of a file from /');
  if (port === 0) throw new Error('port 0 is not possible');
  return { address: host, port: port ?? DNS_PORT };
}
