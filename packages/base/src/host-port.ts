import { isIP, isIPv6 } from 'node:net';

/** A host without brackets, and the port where one is given. */
export interface HostPort {
  readonly host: string;
  readonly port: number | null;
}

export const MAX_PORT = 65_535;

/**
 * Parses `host`, `host:port`, `IPv6`, `[IPv6]` or `[IPv6]:port`; throws with the reason. The caller
 * decides whether an empty host, an address with a zone, a name or port 0 is allowed.
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
  if (rest.length > 0) throw new Error(colonsText(text));
  return { host, port: parsePort(port) };
}

/** `host:port`, with brackets around an IPv6 address. */
export function formatHostPort({ host, port }: { host: string; port: number }): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

function colonsText(text: string): string {
  const [, host = '', port = ''] = /^(.*):(.*)$/s.exec(text) ?? [];
  return isIPv6(host) ? `write [${host}]:${port}` : 'too many colons';
}

function parsePort(text: string | undefined): number | null {
  if (text === undefined) return null;
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > MAX_PORT) throw wrongPort(text);
  return port;
}

/** Without a secret: `USER:PASSWORD@HOST` has one in the place of a port, and so may what follows a `?`. */
export function wrongPort(text: string): Error {
  const shown = text.replace(/^.*@/s, '***@').replace(/\?.+$/s, '?***');
  return new Error(`port ${JSON.stringify(shown)} is not a number up to ${MAX_PORT}`);
}
