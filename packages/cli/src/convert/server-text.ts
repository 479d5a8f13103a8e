import { isIP } from 'node:net';
import {
  type EncryptedServer,
  isDnsSubdomain,
  parseEncryptedServer,
  parseNameServer,
} from '@kube-dns/daemon';

const DNS_PORT = 53;
const ENCRYPTED_PORTS = { tls: 853, https: 443 } as const;

/**
 * A name server in the form of DnsSetup, from any of `IP`, `IP#port`, `IPv4:port`, `[IPv6]:port`, `dns://…`, a name,
 * `tls://…` and `https://…`; undefined for what is none of these.
 */
export function plainServer(text: string): string | undefined {
  const address = text.replace(/^dns:\/\//, '');
  if (address.includes('://')) {
    try {
      return encryptedText(parseEncryptedServer(address)!);
    } catch {
      return undefined; // the caller reports it
    }
  }
  const hash = address.lastIndexOf('#');
  if (hash >= 0) {
    const host = address.slice(0, hash).replace(/^\[(.*)\]$/, '$1');
    const isUsable = isIP(host) !== 0 || isDnsSubdomain(host);
    return isUsable ? withPort(host, address.slice(hash + 1)) : undefined;
  }
  try {
    const { host, port } = parseNameServer(address);
    return withPort(host, String(port ?? DNS_PORT));
  } catch {
    return undefined; // the caller reports it
  }
}

/** An encrypted server in the form of DnsSetup, as the ConfigMap and `--server` take it. */
export function encryptedText({ host, port, encryption }: EncryptedServer): string {
  const { protocol, name, path } = encryption;
  const address = protocol === 'https' && isIP(host) === 6 ? `[${host}]` : host;
  const divider = protocol === 'https' ? ':' : '#';
  const portText = port === ENCRYPTED_PORTS[protocol] ? '' : `${divider}${port}`;
  return `${protocol}://${address}${portText}${name === host ? '' : `%${name}`}${path}`;
}

/** The host of a server in the form of DnsSetup. */
export function serverHost(server: string): string {
  return parseNameServer(server).host;
}

/** As `--server` takes it: with `#` before the port. */
export function dnsmasqServer(server: string): string {
  if (parseEncryptedServer(server) !== undefined) return server;
  const { host, port } = parseNameServer(server);
  return port === null ? host : `${host}#${port}`;
}

/** Whether a server is given by its name, which must be looked up. */
export function isNamedServer(server: string): boolean {
  return isIP(serverHost(server)) === 0;
}

function withPort(host: string, port: string): string | undefined {
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65_535) return undefined;
  if (number === DNS_PORT) return host;
  if (isIP(host) === 0) return undefined; // kube-dns has no counterpart
  return isIP(host) === 6 ? `[${host}]:${number}` : `${host}:${number}`;
}
