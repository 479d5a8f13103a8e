import { isIP, isIPv6 } from 'node:net';

/** A host as people write it, without brackets, and the port when one is stated. */
export interface HostPort {
  readonly host: string;
  readonly port: number | null;
}

export const MAX_PORT = 65_535;

/**
 * Takes `host`, `host:port`, `IPv6`, `[IPv6]` or `[IPv6]:port` apart; throws with the reason. What a host
 * may be (nothing at all, an address with a zone, a name), and whether port 0 has a meaning, is the
 * caller's rule.
 */
export function parseHostPort(text: string): HostPort {
  if (isIPv6(text)) return { host: text, port: null };
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/s.exec(text);
  if (bracketed !== null) {
    const [, host = '', port] = bracketed;
    if (!isIPv6(host)) throw new Error('not an IPv6 address in brackets');
    return { host, port: parsePort(port) };
  }
  const [host = '', port, ...rest] = text.split(':');
  if (rest.length > 0) throw new Error('too many colons');
  return { host, port: parsePort(port) };
}

/** `host:port`, with brackets around an IPv6 address. */
export function formatHostPort({ host, port }: { host: string; port: number }): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

function parsePort(text: string | undefined): number | null {
  if (text === undefined) return null;
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > MAX_PORT) {
    throw new Error(`port ${JSON.stringify(text)} is not a number up to ${MAX_PORT}`);
  }
  return port;
}
