import { isIP, isIPv6 } from 'node:net';

/** Whom to ask: an IP literal or a host name, and a port. */
export interface Server {
  readonly host: string;
  readonly port: number;
}

export const DNS_PORT = 53;
const MAX_PORT = 65_535;

/**
 * Reads `host`, `host:port`, `IPv6`, `[IPv6]` or `[IPv6]:port`; without a port it is 53, without a
 * host this machine, as Go dials `:53`. Throws with the reason.
 */
export function parseServer(text: string): Server {
  if (isIPv6(text)) return { host: text, port: DNS_PORT };
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/s.exec(text);
  if (bracketed !== null) {
    const host = bracketed[1]!;
    if (!isIPv6(host)) throw new Error(`${JSON.stringify(host)} is not an IPv6 address`);
    return { host, port: parsePort(bracketed[2]) };
  }
  const [host = '', port, ...rest] = text.split(':');
  if (rest.length > 0) throw new Error('too many colons');
  if (/[^\w.-]/.test(host)) throw new Error(`${JSON.stringify(host)} is not a host`);
  return { host: host === '' ? '127.0.0.1' : host, port: parsePort(port) };
}

/** `host:port`, with brackets around an IPv6 address. */
export function formatServer({ host, port }: Server): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

function parsePort(text: string | undefined): number {
  if (text === undefined) return DNS_PORT;
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > MAX_PORT) {
    throw new Error(`port ${JSON.stringify(text)} is not a number from 1 to ${MAX_PORT}`);
  }
  return port;
}
