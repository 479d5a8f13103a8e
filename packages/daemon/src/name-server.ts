import { type HostPort, parseHostPort } from '@kube-dns/base';
import type { Encryption } from '@kube-dns/transport';
import { parseEncryptedServer } from './encrypted-server.js';
import { isDnsSubdomain, isIpAddress } from './name-checks.js';

/** A name server as it is written. */
export interface NameServer extends HostPort {
  /** Plain UDP and TCP without it; with it there is a port, too. */
  readonly encryption?: Encryption;
}

/**
 * Parses `IPv4`, `IPv4:port`, `IPv6`, `[IPv6]`, `[IPv6]:port`, a name, `tls://…` or `https://…` (see
 * {@link parseEncryptedServer}); throws with the reason. An empty port (`1.2.3.4:`) counts as none. The caller
 * decides whether a name is allowed.
 */
export function parseNameServer(text: string): NameServer {
  const encrypted = parseEncryptedServer(text);
  if (encrypted !== undefined) return encrypted;
  const hasEmptyPort = text.endsWith(':') && !isIpAddress(text);
  const { host, port } = parseHostPort(hasEmptyPort ? text.slice(0, -1) : text);
  if (isIpAddress(host)) return { host, port };
  if (!isDnsSubdomain(host)) throw new Error('neither an IP address nor a DNS name');
  if (port !== null || hasEmptyPort) throw new Error('a name cannot have a port');
  return { host, port };
}
