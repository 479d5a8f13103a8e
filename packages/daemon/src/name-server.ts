import { isIP, isIPv6 } from 'node:net';

/** A name server as configurations write it: an IP or a name, and a port when one is stated. */
export interface NameServerText {
  readonly host: string;
  readonly port: number | null;
}

const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const MAX_NAME = 253;
const MAX_PORT = 65_535;

/** Whether the text is an RFC 1123 label in lower case, as Kubernetes checks it. */
export function isDnsLabel(text: string): boolean {
  return LABEL.test(text);
}

/** Whether the text is an RFC 1123 subdomain in lower case, without a final dot. */
export function isDnsSubdomain(text: string): boolean {
  return text.length <= MAX_NAME && text.split('.').every(isDnsLabel);
}

/** Whether the text is an IPv4 or IPv6 address without a zone. */
export function isIpAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%');
}

/**
 * Takes `IPv4`, `IPv4:port`, `IPv6`, `[IPv6]`, `[IPv6]:port` or a name apart; throws with the reason.
 * An empty port (`1.2.3.4:`) counts as none. Whether a name is allowed is the caller's rule.
 */
export function parseNameServer(text: string): NameServerText {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/s.exec(text);
  if (bracketed !== null) {
    const host = bracketed[1]!;
    if (!isIPv6(host) || !isIpAddress(host)) throw new Error('not an IPv6 address in brackets');
    return { host, port: parsePort(bracketed[2] ?? '') };
  }
  if (isIpAddress(text)) return { host: text, port: null };
  const [host = '', port, ...rest] = text.split(':');
  const isAddress = isIpAddress(host);
  if (rest.length > 0 || !(isAddress || isDnsSubdomain(host))) {
    throw new Error('neither an IP address nor a DNS name');
  }
  if (isAddress) return { host, port: parsePort(port ?? '') };
  if (port !== undefined) throw new Error('a name cannot have a port');
  return { host, port: null };
}

function parsePort(text: string): number | null {
  if (text === '') return null;
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > MAX_PORT) {
    throw new Error(`port ${JSON.stringify(text)} is not a number up to ${MAX_PORT}`);
  }
  return port;
}
