import { isIP } from 'node:net';

import { type HostPort, parseHostPort } from './host-port.js';

const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const MAX_NAME = 253;

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
 * Parses `IPv4`, `IPv4:port`, `IPv6`, `[IPv6]`, `[IPv6]:port` or a name; throws with the reason.
 * An empty port (`1.2.3.4:`) counts as none. The caller decides whether a name is allowed.
 */
export function parseNameServer(text: string): HostPort {
  const hasEmptyPort = text.endsWith(':') && !isIpAddress(text);
  const { host, port } = parseHostPort(hasEmptyPort ? text.slice(0, -1) : text);
  if (isIpAddress(host)) return { host, port };
  if (!isDnsSubdomain(host)) throw new Error('neither an IP address nor a DNS name');
  if (port !== null || hasEmptyPort) throw new Error('a name cannot have a port');
  return { host, port };
}
